package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/write"
)

var (
	// ErrTaken reports that another process holds the lease; it is a *[TakenError].
	ErrTaken = errors.New("another holds the lease")
	// ErrLost reports that the lease is not held any more: another took it, it was released, or it was not renewed in time.
	ErrLost = errors.New("the lease is lost")
)

// TakenError says who holds a lease, and until when, unless it is renewed. It matches [ErrTaken].
type TakenError struct {
	Name, Holder string
	Until        time.Time // from then on it can be taken
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("lease %s: %v, until %s", e.Name, ErrTaken, e.Until.Format(time.RFC3339Nano))
}

// Unwrap returns [ErrTaken].
func (e *TakenError) Unwrap() error { return ErrTaken }

// SkewError reports that the clocks of this process and of the last holder differ by more than the declared skew.
type SkewError struct {
	Name, Holder string
	By, Skew     time.Duration // how far in the future the lease was renewed, at least; how far is accepted
}

func (e *SkewError) Error() string {
	return fmt.Sprintf("lease %s was renewed %v in the future: the clocks of its holders differ by more than %v", e.Name, e.By, e.Skew)
}

// Options say where leases are stored, and for how long they are held. The zero value of each field is its default.
type Options struct {
	Table    string        // logical name, as in entity.Key; default: the table of Config
	Duration time.Duration // when others can take a lease after its last renewal; default 30 seconds
	Skew     time.Duration // by how much the clocks of holders may differ; at most half of Duration; default 2 seconds
	Holder   string        // names this process to others, in errors; default host and process id
}

// Leases takes leases. It is safe for concurrent use.
type Leases struct {
	rules *Rules
	store *entity.Store[stored]
	core  *engine.Core
}

// stored is the item of a lease.
type stored struct {
	_ entity.Key `name:"Leases" pk:"$#{name}" sk:"$"`

	Name string `dynamodbav:"name"`
	Term
}

// New declares the items of leases on db. It does no I/O. Errors: *entity.InputError for options that do not fit; those of entity.New.
func New(db *entity.DB, o Options) (*Leases, error) {
	if d, skew := cmp.Or(o.Duration, duration), cmp.Or(o.Skew, skew); d < 0 || skew < 0 || skew > d/2 {
		return nil, &entity.InputError{Code: write.CodeLease, Type: "lease.Options", Field: "Skew",
			Problem: fmt.Sprintf("Duration is %v and Skew %v: both must be positive, and Skew at most half of Duration", d, skew)}
	}
	name := "Leases"
	if o.Table != "" {
		name += "-" + o.Table
	}
	store, err := entity.New[stored](db, entity.Named(name), write.StoreSetting{Setting: func(w *write.Options) { w.Table, w.Own = o.Table, true }})
	if err != nil {
		return nil, err
	}
	c := engine.Of(store)
	return &Leases{rules: NewRules(c, o), store: store, core: c}, nil
}

// opened returns an error for a handle that New did not return.
func (l *Leases) opened() error {
	if l == nil || l.rules == nil {
		return engine.Unopened(reflect.TypeFor[*Leases]())
	}
	return nil
}

// Acquire takes the lease of a name, a key text of any content, with a new fence. If the answer to its write is lost and the call
// fails, the next Acquire of these Leases takes the lease all the same, instead of waiting for its end. It costs a read and a write.
// Errors: *[TakenError] while another holds it, whoever that is; *[SkewError], a wrong clock, which [Leases.Break] gets past if its
// holder has stopped; *entity.InputError for an empty name; those of requests.
func (l *Leases) Acquire(ctx context.Context, name string) (h *Held, err error) {
	if err := l.opened(); err != nil {
		return nil, err
	}
	err = l.core.Measure(ctx, "Lease.Acquire", name, func(ctx context.Context) (err error) {
		h, err = l.rules.Acquire(ctx, name, record{l, name}, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	h.check = l.check(h)
	return h, nil
}

// Break ends whoever holds the lease, as if it had released it: its renewals and its transactions with [Held.Op] are refused. What it
// does besides goes on until it learns of it. It is for a holder that is known to have stopped, and whose lease does not end because
// its clock was wrong. It costs a read and a write. Errors: those of requests; ErrLost if another took the lease meanwhile.
func (l *Leases) Break(ctx context.Context, name string) error {
	if err := l.opened(); err != nil {
		return err
	}
	return l.core.Measure(ctx, "Lease.Break", name, func(ctx context.Context) error {
		t, err := record{l, name}.Load(ctx)
		if err != nil || t.Token == "" {
			return err
		}
		h := &Held{rules: l.rules, name: name, rec: record{l, name}, token: t.Token, fence: t.Fence, term: t, turn: make(chan struct{}, 1)}
		return h.Release(ctx)
	})
}

// record is the item of a lease.
type record struct {
	*Leases
	name string
}

// Load implements [Record].
func (r record) Load(ctx context.Context) (Term, error) {
	it, err := r.store.Get(ctx, stored{Name: r.name}, entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		err = nil
	}
	return it.Term, err
}

// Store implements [Record].
func (r record) Store(ctx context.Context, t *Term) error {
	_, err := r.store.Put(ctx, stored{Name: r.name, Term: *t}, After(&entity.Fields[stored]().Writes, *t)...)
	return err
}

// check returns the operation that checks that h is held.
func (l *Leases) check(h *Held) entity.Op {
	f := entity.Fields[stored]()
	op := *engine.PlanOf(context.Background(), l.store.Op().CheckExists(stored{Name: h.name}, entity.Eq(&f.Fence, h.fence), entity.Eq(&f.Token, h.token)))
	exists := op.Plan
	op.Plan = func(in write.Input) (write.Step, error) {
		step, err := exists(in)
		step.Outcome = &write.Fixed{Refused: write.Resolution{Err: ErrLost}}
		return step, err
	}
	return engine.NewWrite[stored](engine.NewOperation(l.core, &op, nil))
}

// Op returns an operation for DB.Transact and DB.TransactWithToken, of the DB that the lease was taken with. It checks, as part of the
// transaction, that this acquisition holds the lease: otherwise the transaction is refused, and the failure of the operation is
// [ErrLost]. The lease need not be renewed in time for that, as long as nobody else has taken it. It costs two write units, and no
// request of its own. For a zero value it is nil, which transactions refuse.
func (h *Held) Op() entity.Op {
	if h.opened() != nil {
		return nil
	}
	return h.check
}
