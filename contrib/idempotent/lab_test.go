package idempotent_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/idempotent"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// order is a payload, receipt an answer.
type order struct {
	User   string `json:"user"`
	Amount int    `json:"amount"`
	Note   string `json:"note,omitempty"`
}

type receipt struct {
	ID    int64  `json:"id"`
	Buyer string `json:"buyer"`
}

var errDeclined = errors.New("declined")

// bill is the cost of requests. A write that is refused does not say what it costs: the write units of the stored record.
type bill struct {
	Requests    int
	Write, Read float64
}

// lab is a table with records, and an operation on it that counts its runs.
type lab struct {
	*dbtest.Bench
	answers *entity.Store[idempotent.Answer]
	op      *idempotent.Operation
	runs    atomic.Int64

	mu   sync.Mutex
	cost bill
}

func newLab(t testing.TB, configure ...func(*entity.Config)) *lab {
	t.Helper()
	dbtest.Parallel(t)
	l := &lab{}
	observe := func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.cost.Requests += r.Requests
			l.cost.Write += r.WriteUnits
			l.cost.Read += r.ReadUnits
		})
	}
	l.Bench, l.answers = dbtest.OpenStore[idempotent.Answer](t, append(configure, observe)...)
	l.op = l.open(idempotent.Options{})
	l.spent()
	return l
}

// open returns an operation on the records of the lab, by default of the name charge.
func (l *lab) open(o idempotent.Options) *idempotent.Operation {
	l.T.Helper()
	if o.Name == "" {
		o.Name = "charge"
	}
	op, err := idempotent.New(l.answers, o)
	require.NoError(l.T, err)
	return op
}

// other returns the operation as another process has it, with a wire of its own unless it is nil.
func (l *lab) other(client entity.Client, o idempotent.Options, configure ...func(*entity.Config)) *idempotent.Operation {
	l.T.Helper()
	if client == nil {
		client = l.Raw
	}
	if o.Name == "" {
		o.Name = "charge"
	}
	op, err := idempotent.New(dbtest.Declare[idempotent.Answer](l.T, l.Open(client, configure...)), o)
	require.NoError(l.T, err)
	return op
}

// charge is a function that succeeds, and counts.
func (l *lab) charge(context.Context) (receipt, error) {
	return receipt{ID: l.runs.Add(1), Buyer: "ada"}, nil
}

func (l *lab) decline(context.Context) (receipt, error) {
	l.runs.Add(1)
	return receipt{}, errDeclined
}

// call charges an order of 10 under a key.
func (l *lab) call(op *idempotent.Operation, key string) (receipt, error) {
	return idempotent.Do(l.Ctx, op, key, order{User: "u-1", Amount: 10}, l.charge)
}

// spent returns what requests have cost since the last call.
func (l *lab) spent() bill {
	l.mu.Lock()
	defer l.mu.Unlock()
	cost := l.cost
	l.cost = bill{}
	return cost
}

// during runs do while a call with the key runs its function, and returns what the call gets.
func (l *lab) during(op *idempotent.Operation, key string, do func()) (receipt, error) {
	return idempotent.Do(l.Ctx, op, key, order{User: "u-1", Amount: 10}, func(ctx context.Context) (receipt, error) {
		do()
		return l.charge(ctx)
	})
}

// crash claims a key as a process that then stops.
func (l *lab) crash(key string) {
	l.T.Helper()
	crashed := make(chan struct{})
	stop := make(chan struct{})
	l.T.(interface{ Cleanup(func()) }).Cleanup(func() { close(stop) })
	op := l.other(nil, idempotent.Options{})
	go func() {
		_, _ = idempotent.Do(context.Background(), op, key, order{User: "u-1", Amount: 10}, func(context.Context) (receipt, error) {
			close(crashed)
			<-stop
			return receipt{}, errDeclined
		})
	}()
	<-crashed
}

// records returns the stored records.
func (l *lab) records() []dbtest.Item { return l.Items() }

const minute = time.Minute
