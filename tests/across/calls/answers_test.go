package calls_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// proxy answers the next request of an operation with status 200 and a body, whatever the database did.
type proxy struct {
	next      aws.HTTPClient
	operation string
	body      string
	apply     bool // the database gets the request
	spoils    atomic.Bool
	spoilt    int
}

func (p *proxy) Do(req *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	if operation != p.operation || !p.spoils.CompareAndSwap(true, false) {
		return p.next.Do(req)
	}
	p.spoilt++
	if p.apply {
		resp, err := p.next.Do(req)
		if err != nil {
			return nil, err
		}
		if _, err = io.Copy(io.Discard, resp.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(p.body)), ContentLength: int64(len(p.body))}, nil
}

// Invoice is proven by its write id alone.
type Invoice struct {
	_ entity.Key `name:"Invoice" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	Note  string `dynamodbav:"note"`
	Total int    `dynamodbav:"total"`
}

type office struct {
	db       *entity.DB
	invoices *entity.Store[Invoice]
	receipts *entity.Store[Receipt]
}

// An answer with status 200 that lacks what the request asked for is a lost answer, whatever the operation: no call takes it
// for a success, for an absent item or for an empty result.
func TestAnswers_ThatAreNone(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.Clock.Set(dbtest.Start, 0)
	invoices, receipts := entity.Must(entity.New[Invoice](l.DB)), entity.Must(entity.New[Receipt](l.DB))
	l.CreateTables()
	f := entity.Fields[Invoice]()
	some := func(v Invoice, err error) (string, error) { return fmt.Sprint(v.Note, v.Total), err }
	returning := func(call func(entity.WriteOption) error) (string, error) {
		old := Invoice{Note: "untouched"}
		err := call(entity.Returning(&old))
		return fmt.Sprint(old.Note, old.Total), err
	}
	type verb struct {
		name, operation string
		legal           bool // {} is an answer of the operation
		call            func(ctx context.Context, o office, v Invoice) (string, error)
	}
	verbs := []verb{
		{"Get", "GetItem", true, func(ctx context.Context, o office, v Invoice) (string, error) { return some(o.invoices.Get(ctx, v)) }},
		{"Query", "Query", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			all, err := o.invoices.Query(Invoice{ID: v.ID}).Collect(ctx)
			return fmt.Sprint(len(all)), err
		}},
		{"Count", "Query", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			n, err := o.invoices.Query(Invoice{ID: v.ID}).Count(ctx)
			return fmt.Sprint(n), err
		}},
		{"Scan", "Scan", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			n, err := o.invoices.Scan(entity.Filter(entity.Eq(&f.ID, v.ID))).Count(ctx)
			return fmt.Sprint(n), err
		}},
		{"GetMany", "BatchGetItem", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			all, err := o.invoices.GetMany(ctx, []Invoice{v})
			return fmt.Sprint(len(all) == 1 && all[0] != nil), err
		}},
		{"TransactGet", "TransactGetItems", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			got := v
			err := o.db.TransactGet(ctx, o.invoices.Op().GetInto(&got))
			return fmt.Sprint(got.Note, got.Total), err
		}},
		{"Create", "PutItem", true, func(ctx context.Context, o office, v Invoice) (string, error) {
			v.ID += "-new"
			return some(o.invoices.Create(ctx, v))
		}},
		{"Put", "UpdateItem", true, func(ctx context.Context, o office, v Invoice) (string, error) {
			v.Note = "put"
			return some(o.invoices.Put(ctx, v))
		}},
		{"Put with versions", "UpdateItem", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			got, err := o.receipts.Put(ctx, Receipt{ID: v.ID, Note: "put"})
			return fmt.Sprint(got.Note, got.Version), err
		}},
		{"Update", "UpdateItem", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			return some(o.invoices.Update(ctx, v, entity.Set(&f.Note, "updated")))
		}},
		{"Update, Returning", "UpdateItem", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			return returning(func(old entity.WriteOption) error {
				return dbtest.ErrorOf(o.invoices.Update(ctx, v, entity.Set(&f.Note, "updated"), old))
			})
		}},
		{"Upsert", "UpdateItem", true, func(ctx context.Context, o office, v Invoice) (string, error) {
			v.Note = "upserted"
			got, created, err := o.invoices.Upsert(ctx, v)
			return fmt.Sprint(got.Note, created), err
		}},
		{"Modify", "PutItem", true, func(ctx context.Context, o office, v Invoice) (string, error) {
			return some(o.invoices.Modify(ctx, v, func(v *Invoice) error { v.Total++; return nil }))
		}},
		{"Delete", "DeleteItem", true, func(ctx context.Context, o office, v Invoice) (string, error) {
			return "", o.invoices.Delete(ctx, v)
		}},
		{"Delete, Returning", "DeleteItem", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			return returning(func(old entity.WriteOption) error { return o.invoices.Delete(ctx, v, old) })
		}},
		{"PutMany", "BatchWriteItem", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			v.Note = "put"
			return "", dbtest.ErrorOf(o.invoices.PutMany(ctx, []Invoice{v}, entity.Unconditional()))
		}},
		{"DeleteMany", "BatchWriteItem", false, func(ctx context.Context, o office, v Invoice) (string, error) {
			return "", dbtest.ErrorOf(o.invoices.DeleteMany(ctx, []Invoice{v}, entity.Unconditional()))
		}},
		{"Transact", "TransactWriteItems", true, func(ctx context.Context, o office, v Invoice) (string, error) {
			other := Invoice{ID: v.ID + "-new"}
			return "", o.db.Transact(ctx, o.invoices.Op().Update(v, entity.Set(&f.Note, "together")), o.invoices.Op().Create(other))
		}},
		{"Purge", "Query", false, func(ctx context.Context, o office, v Invoice) (string, error) { return "", o.invoices.Purge(ctx, v) }},
		{"CreateTables", "DescribeTable", false, func(ctx context.Context, o office, _ Invoice) (string, error) { return "", tables.Create(ctx, o.db) }},
	}
	stored := func(v Invoice) string {
		all := make([]string, 2)
		for i, id := range []string{v.ID, v.ID + "-new"} {
			got, err := invoices.Get(t.Context(), Invoice{ID: id}, entity.Consistent())
			if all[i] = fmt.Sprint(got.Note, got.Total); err != nil {
				require.ErrorIs(t, err, entity.ErrNotFound)
				all[i] = "none"
			}
		}
		if got, err := receipts.Get(t.Context(), Receipt{ID: v.ID}, entity.Consistent()); err == nil {
			all = append(all, fmt.Sprint(got.Note, got.Version))
		}
		return strings.Join(all, " ")
	}
	wrong, cases, n := 0, 0, 0
	seed := testsize.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	fresh := func() Invoice {
		n++
		v := Invoice{ID: fmt.Sprintf("i-%d", n), Note: "new", Total: 1}
		l.OK(invoices.Create(t.Context(), v))
		return v
	}
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		for _, verb := range verbs {
			v := fresh()
			before := stored(v)
			want, err := verb.call(t.Context(), office{l.DB, invoices, receipts}, v)
			require.NoError(t, err, verb.name)
			after := stored(v)
			for _, body := range []string{"", "null", "{}", `{"ConsumedCapacity":{"TableName":"t","CapacityUnits":1}}`} {
				if strings.HasPrefix(body, "{") && verb.legal || strings.HasPrefix(body, `{"C`) && strings.HasPrefix(verb.operation, "Batch") {
					continue
				}
				for _, apply := range []bool{true, false} {
					if random.IntN(testsize.Pick(4, 1)) > 0 { // the usual run takes a sample
						continue
					}
					v, p := fresh(), &proxy{next: l.Wire, operation: verb.operation, body: body, apply: apply}
					client := dynamodb.New(l.Raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = p })
					db := l.Open(client, func(c *entity.Config) { c.Codec = codec })
					o := office{db, dbtest.Declare[Invoice](t, db), dbtest.Declare[Receipt](t, db)}
					p.spoils.Store(true)
					got, err := verb.call(t.Context(), o, v)
					cases++
					name := fmt.Sprintf("codec %v, %s answered %q, applied %v: %q %v", codec, verb.name, body, apply, got, err)
					state := stored(v)
					var right bool
					switch {
					case err == nil:
						right = got == want && state == after
					case errors.Is(err, entity.ErrReadBack):
						right = state == after
					default:
						right = entity.IsAmbiguous(err) && (state == before || state == after)
					}
					if !assert.True(t, right, "%s; stored %s", name, state) {
						wrong++
					}
					require.Equal(t, 1, p.spoilt, name)
				}
			}
		}
	}
	t.Logf("%d of %d answers were believed", wrong, cases)
}

// Receipt has versions, which prove who created an item.
type Receipt struct {
	_ entity.Key `name:"Receipt" pk:"$#{id}" sk:"$"`

	ID      string `dynamodbav:"id"`
	Note    string `dynamodbav:"note"`
	Version int    `dynamodbav:"version" entity:"version"`
}

// The answer to the second delivery of a request has the item that the first one left. That is not the item before the write.
func TestAnswers_ToTheSecondDeliveryOfARequest(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.Clock.Set(dbtest.Start, 0)
	invoices, receipts := entity.Must(entity.New[Invoice](l.DB)), entity.Must(entity.New[Receipt](l.DB))
	l.CreateTables()
	ctx, f, g := t.Context(), entity.Fields[Invoice](), entity.Fields[Receipt]()
	oldInvoice, oldReceipt := Invoice{Note: "untouched"}, Receipt{Note: "untouched"}
	upsertInvoice := func(v Invoice) (string, error) {
		got, created, err := invoices.Upsert(ctx, v)
		return fmt.Sprint(got.Note, created), err
	}
	upsertReceipt := func(v Receipt, opts ...entity.UpdateOption) (string, error) {
		got, created, err := receipts.Upsert(ctx, v, opts...)
		return fmt.Sprintf("%s %d %v %s", got.Note, got.Version, created, oldReceipt.Note), err
	}
	for i, c := range []struct {
		name   string
		exists bool
		call   func(id string) (string, error)
		want   string // "" for ErrReadBack
	}{
		{"Update", true, func(id string) (string, error) {
			v, err := invoices.Update(ctx, Invoice{ID: id}, entity.Set(&f.Note, "b"))
			return v.Note, err
		}, "b"},
		{"Update, Returning", true, func(id string) (string, error) {
			return "", dbtest.ErrorOf(invoices.Update(ctx, Invoice{ID: id}, entity.Set(&f.Note, "b"), entity.Returning(&oldInvoice)))
		}, ""},
		{"Update with versions, Returning", true, func(id string) (string, error) {
			return "", dbtest.ErrorOf(receipts.Update(ctx, Receipt{ID: id}, entity.Set(&g.Note, "b"), entity.Returning(&oldReceipt)))
		}, ""},
		{"Put, Returning", true, func(id string) (string, error) {
			return "", dbtest.ErrorOf(invoices.Put(ctx, Invoice{ID: id, Note: "b"}, entity.Returning(&oldInvoice)))
		}, ""},
		{"Put of a new one, Returning", false, func(id string) (string, error) {
			return "", dbtest.ErrorOf(invoices.Put(ctx, Invoice{ID: id, Note: "b"}, entity.Returning(&oldInvoice)))
		}, ""},
		{"Put with versions, Returning", true, func(id string) (string, error) {
			return "", dbtest.ErrorOf(receipts.Put(ctx, Receipt{ID: id, Note: "b"}, entity.Returning(&oldReceipt)))
		}, ""},
		{"Upsert", true, func(id string) (string, error) { return upsertInvoice(Invoice{ID: id, Note: "b"}) }, ""},
		{"Upsert of a new one", false, func(id string) (string, error) { return upsertInvoice(Invoice{ID: id, Note: "b"}) }, ""},
		{"Upsert with versions", true, func(id string) (string, error) { return upsertReceipt(Receipt{ID: id, Note: "b"}) }, "b 3 false untouched"},
		{"Upsert of a new one with versions", false, func(id string) (string, error) { return upsertReceipt(Receipt{ID: id, Note: "b"}) }, "b 2 true untouched"},
		{"Upsert of a new one with versions, Returning", false, func(id string) (string, error) {
			return upsertReceipt(Receipt{ID: id, Note: "b"}, entity.Returning(&oldReceipt))
		}, "b 2 true "},
	} {
		id := fmt.Sprintf("t-%d", i)
		if c.exists {
			l.OK(invoices.Create(ctx, Invoice{ID: id, Note: "a"}))
			l.OK(receipts.Create(ctx, Receipt{ID: id, Note: "a"}))
		}
		l.Wire.Inject(faults.Nth(1, faults.Twice, "UpdateItem"))
		got, err := c.call(id)
		l.Wire.Inject(nil)
		if c.want == "" {
			assert.ErrorIs(t, err, entity.ErrReadBack, "%s: %s", c.name, got)
			assert.False(t, entity.IsAmbiguous(err), c.name)
			assert.Equal(t, "untouched", oldInvoice.Note+strings.TrimPrefix(oldReceipt.Note, "untouched"), c.name)
		} else if assert.NoError(t, err, c.name) {
			assert.Equal(t, c.want, got, c.name)
		}
		written := 0
		if v, err := invoices.Get(ctx, Invoice{ID: id}, entity.Consistent()); err == nil && v.Note == "b" {
			written++
		}
		if v, err := receipts.Get(ctx, Receipt{ID: id}, entity.Consistent()); err == nil && v.Note == "b" {
			written++
		}
		assert.Equal(t, 1, written, c.name)
	}
}
