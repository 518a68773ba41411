package rules_test

import (
	"context"
	"errors"
	"math/big"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

var (
	errPrepare  = errors.New("the directory knows no ada@example.org")
	errValidate = errors.New("no slug")
)

// article prepares itself: it makes its slug, which is a key part, from the title.
type article struct {
	_ entity.Key `name:"Article" pk:"$#{slug}"`

	Slug   string            `dynamodbav:"slug"`
	Title  string            `dynamodbav:"title"`
	State  string            `dynamodbav:"state" entity:"default=draft"`
	ID     string            `dynamodbav:"id" entity:"id=ulid"`
	Tags   []string          `dynamodbav:"tags,omitempty"`
	Labels map[string]*label `dynamodbav:"labels,omitempty"`
	Price  *big.Int          `dynamodbav:"price,omitempty"`

	hook *hook
}

type label struct {
	Name string `dynamodbav:"name"`
}

// hook sees the calls of Prepare and of Validate.
type hook struct {
	mu       sync.Mutex
	prepared []article // as they were given
	checked  []article
	ctx      context.Context
	err      error
	during   func(context.Context)
}

func (a *article) Prepare(ctx context.Context) error {
	h := a.hook
	h.mu.Lock()
	defer h.mu.Unlock()
	h.prepared, h.ctx = append(h.prepared, *a), ctx
	if h.during != nil {
		h.during(ctx)
	}
	a.Slug = strings.ToLower(strings.ReplaceAll(a.Title, " ", "-"))
	if len(a.Tags) > 0 {
		a.Tags[0] = strings.ToUpper(a.Tags[0])
	}
	for _, l := range a.Labels {
		l.Name += "!"
	}
	if a.Price != nil {
		a.Price.Add(a.Price, big.NewInt(1))
	}
	return h.err
}

func (a article) Validate() error {
	if a.hook == nil {
		return nil // of a value that was read
	}
	a.hook.checked = append(a.hook.checked, a)
	if a.Slug == "" {
		return errValidate
	}
	return nil
}

func (h *hook) calls() int { return len(h.prepared) }

type callKey struct{}

func TestPrepare_IsCalledOnceByEveryWriteOfAWholeValue(t *testing.T) {
	b, store := opened[article](t)
	for name, write := range map[string]func(context.Context, article) (article, error){
		"Create": func(ctx context.Context, v article) (article, error) { return store.Create(ctx, v) },
		"Put":    func(ctx context.Context, v article) (article, error) { return store.Put(ctx, v) },
		"Upsert": func(ctx context.Context, v article) (article, error) {
			got, _, err := store.Upsert(ctx, v)
			return got, err
		},
		"PutMany": func(ctx context.Context, v article) (article, error) {
			_, err := store.PutMany(ctx, []article{v})
			return article{}, err
		},
		"BatchPut": func(ctx context.Context, v article) (article, error) {
			_, err := b.DB.BatchWrite(ctx, store.Op().BatchPut(v))
			return article{}, err
		},
		"Transact Create": func(ctx context.Context, v article) (article, error) {
			op := store.Op().Create(v)
			err := b.DB.Transact(ctx, op)
			return op.Result(), err
		},
		"Transact Put": func(ctx context.Context, v article) (article, error) {
			return article{}, b.DB.Transact(ctx, store.Op().Put(v))
		},
		"Transact Upsert": func(ctx context.Context, v article) (article, error) {
			return article{}, b.DB.Transact(ctx, store.Op().Upsert(v))
		},
		"TransactWithToken": func(ctx context.Context, v article) (article, error) {
			v.ID = "given"
			return article{}, b.DB.TransactWithToken(ctx, entity.Token{ID: b.Table}, store.Op().Put(v))
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hook{during: func(context.Context) { require.Empty(t, b.Operations(), "before any request") }}
			given := func() article {
				return article{
					Title: "By " + name, Tags: []string{"a", "b"}, Labels: map[string]*label{"l": {"n"}}, Price: new(big.Int).Lsh(big.NewInt(1), 100), hook: h,
				}
			}
			v := given()
			returned := entity.Must(write(context.WithValue(b.Ctx, callKey{}, name), v))
			require.Equal(t, given(), v, "the caller's value is not changed")
			require.Equal(t, 1, h.calls())
			require.Equal(t, name, h.ctx.Value(callKey{}), "the call's context")
			require.Equal(t, "draft", h.prepared[0].State, "defaults come first")
			require.Regexp(t, "^(given)?$", h.prepared[0].ID, "ids follow")

			slug := "by-" + strings.ToLower(strings.ReplaceAll(name, " ", "-"))
			stored := entity.Must(store.Get(b.Ctx, article{Slug: slug}, entity.Consistent()))
			require.Equal(t, "draft", stored.State)
			require.Equal(t, []string{"A", "b"}, stored.Tags)
			require.Equal(t, "n!", stored.Labels["l"].Name)
			require.Equal(t, new(big.Int).Add(v.Price, big.NewInt(1)), stored.Price)
			if returned.Slug != "" {
				require.Equal(t, stored, returned)
			}
			require.Len(t, h.checked, 1, "the prepared value is validated")
			require.Equal(t, slug, h.checked[0].Slug)
			require.Equal(t, "draft", h.checked[0].State)
			b.Wire.Reset()
		})
	}
}

func TestPrepare_IsNotCalledByOtherVerbs(t *testing.T) {
	b, store := opened[article](t)
	h := &hook{}
	v := entity.Must(store.Create(b.Ctx, article{Title: "A", hook: h}))
	v.hook = h
	f := entity.Fields[article]()
	b.OK(store.Update(b.Ctx, v, entity.Set(&f.Title, "B")))
	b.OK(store.Modify(b.Ctx, v, func(a *article) error { a.Title, a.hook = "C", h; return nil }))
	b.OK(store.Get(b.Ctx, v))
	b.OK(store.Query(article{Slug: v.Slug}).Collect(b.Ctx))
	b.OK(b.DB.Transact(b.Ctx, store.Op().CheckExists(v)))
	b.OK(store.DeleteMany(b.Ctx, []article{v}))
	b.OK(b.DB.BatchWrite(b.Ctx, store.Op().BatchDelete(v)))
	require.Equal(t, 1, h.calls())
}

func TestPrepare_AnErrorEndsTheCallBeforeAnyRequest(t *testing.T) {
	b, store := opened[article](t)
	h := &hook{err: errPrepare}
	v := article{Title: "A", hook: h}
	op := store.Op().Create(v)
	for name, err := range map[string]error{
		"Create":   dbtest.ErrorOf(store.Create(b.Ctx, v)),
		"Put":      dbtest.ErrorOf(store.Put(b.Ctx, v)),
		"Upsert":   dbtest.ErrorOf(store.Upsert(b.Ctx, v)),
		"PutMany":  dbtest.ErrorOf(store.PutMany(b.Ctx, []article{v})),
		"BatchPut": dbtest.ErrorOf(b.DB.BatchWrite(b.Ctx, store.Op().BatchPut(v))),
		"Transact": b.DB.Transact(b.Ctx, op),
	} {
		require.ErrorIs(t, err, errPrepare, name)
		dbtest.As[*entity.Error](t, err, name)
		failed := dbtest.As[*entity.PrepareError](t, err, name)
		require.Equal(t, entity.PrepareError{Code: "EDD-9180", Type: "rules_test.article", Err: errPrepare}, *failed, name)
		require.ErrorContains(t, err, "EDD-9180 rules_test.article: Prepare: the directory", name)
		require.False(t, entity.IsAmbiguous(err), name)
	}
	require.ErrorIs(t, entity.FailureOf(b.DB.Transact(b.Ctx, op), op), errPrepare, "the failure of the operation")
	require.Empty(t, b.Operations())
	require.Empty(t, h.checked, "a value that is not prepared is not validated")

	h.err = nil
	calls := h.calls()
	require.NoError(t, b.DB.Transact(b.Ctx, op), "after a failure it is called again")
	require.Equal(t, calls+1, h.calls())
	require.ErrorIs(t, b.DB.Transact(b.Ctx, op), entity.ErrExists)
	require.Equal(t, calls+1, h.calls(), "after a success the operation writes the same value")
	require.Len(t, h.checked, 1)
}

func TestPrepare_IsNotCalledForPrinting(t *testing.T) {
	b, store := opened[article](t)
	h := &hook{}
	v := article{Title: "A", ID: "i", hook: h}
	create, batch := store.Op().Create(v), store.Op().BatchPut(v)
	require.Equal(t, "Create Article on "+b.Table+"\n  prepare the value first, by its Prepare method", create.String(), "the key is not known yet")
	require.Equal(t, "BatchPut Article on "+b.Table+"\n  prepare the value first, by its Prepare method", batch.String())
	v.Slug = "given"
	known := store.Op().Create(v).String()
	require.Contains(t, known, "on "+b.Table+"\n  prepare the value first, by its Prepare method\n  put    pk=\"$app#v1#article#given\"\n")
	require.Contains(t, known, `state="draft"`)
	require.Contains(t, store.Op().BatchPut(v).String(), "method\n  put    pk=\"$app#v1#article#given\"\n")
	require.Zero(t, h.calls())

	require.NoError(t, b.DB.Transact(b.Ctx, create))
	b.OK(b.DB.BatchWrite(b.Ctx, batch))
	require.Contains(t, create.String(), "on "+b.Table+"\n  put    pk=\"$app#v1#article#a\"\n", "what was written")
	require.Contains(t, batch.String(), "on "+b.Table+"\n  put    pk=\"$app#v1#article#a\"\n")
	require.Equal(t, 2, h.calls())

	// The id is the operation's from its first print on.
	v = article{Slug: "given", Title: "given", hook: h}
	op := store.Op().Put(v)
	before := op.String()
	require.NoError(t, b.DB.Transact(b.Ctx, op))
	require.Contains(t, before, `id = "`+op.Result().ID+`"`)
}

// An operation is a value: what the caller does to its own later does not change it.
func TestPrepare_TheOperationKeepsItsValue(t *testing.T) {
	b, store := opened[article](t)
	v := article{Title: "A", Tags: []string{"a"}, hook: &hook{}}
	op := store.Op().Create(v)
	v.Tags[0] = "changed"
	require.NoError(t, b.DB.Transact(b.Ctx, op))
	require.Equal(t, []string{"A"}, op.Result().Tags)
}

// byValue has the method with a value receiver, and a secret.
type byValue struct {
	_       entity.Key `name:"ByValue" pk:"$#{id}"`
	ID      string     `dynamodbav:"id"`
	Token   string     `dynamodbav:"token" entity:"secret"`
	prepare func() error
}

func (v byValue) Prepare(context.Context) error { return v.prepare() }

func TestPrepare_OfAStructWithASecretHidesItsError(t *testing.T) {
	_, store := opened[byValue](t)
	_, err := store.Create(t.Context(), byValue{ID: "x", prepare: func() error { return errPrepare }})
	require.ErrorIs(t, err, errPrepare)
	require.NotContains(t, err.Error(), "ada@example.org")
	require.ErrorContains(t, err, "EDD-9180")
}

// reading is a series that prepares itself.
type reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	ID    string    `dynamodbav:"id"`
	At    time.Time `dynamodbav:"at"`
	Value int       `dynamodbav:"value" entity:"append"`
	Note  string    `dynamodbav:"note" entity:"append"`
	Owner string    `dynamodbav:"owner,omitempty"`
	Log   []string  `dynamodbav:"log,omitempty"`
}

func (r *reading) Prepare(context.Context) error { r.Value, r.Owner = 99, "ada"; return nil }

func TestPrepare_OfASeriesIsForUpserts(t *testing.T) {
	b, series := following[reading](t)
	b.OK(series.Append(b.Ctx, reading{ID: "x", At: dbtest.Start, Value: 1}))
	b.OK(series.AppendAll(b.Ctx, []reading{{ID: "x", At: dbtest.Start.Add(time.Second), Value: 2}}))
	b.OK(b.DB.Transact(b.Ctx, series.Op().Append(reading{ID: "x", At: dbtest.Start.Add(2 * time.Second), Value: 3})))
	current := entity.Must(series.Get(b.Ctx, reading{ID: "x"}, entity.Consistent()))
	require.Equal(t, 3, current.Value)
	require.Empty(t, current.Owner)
	current, _, err := series.Upsert(b.Ctx, reading{ID: "x"})
	require.NoError(t, err)
	require.Equal(t, "ada", current.Owner)
	require.Equal(t, 3, current.Value, "an upsert leaves append fields out")
}

// With keys in lower case a completed value is guarded against a key that differs in case, once.
func TestCompleted_KeysInLowerCase(t *testing.T) {
	t.Parallel()
	lower := func(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond }
	b, orders := dbtest.OpenStore[order](t, lower)
	full := order{Region: "eu", ID: "x", State: "open", Source: "web", Once: 1, Hits: 10}
	writeID := regexp.MustCompile(`_w ?= ?"[^"]*"`)
	print := func(op entity.Op) string { return writeID.ReplaceAllString(op.String(), "") }
	require.Equal(t, print(orders.Op().Create(full)), print(orders.Op().Create(order{ID: "x"})))
	require.Equal(t, 1, strings.Count(orders.Op().Put(full).String(), `(attribute_not_exists(id) OR id = "x")`))
	b.OK(orders.Put(b.Ctx, order{ID: "x"}))
	require.ErrorIs(t, dbtest.ErrorOf(orders.Put(b.Ctx, order{ID: "X"})), entity.ErrKeyCase)

	b, values := dbtest.OpenStore[byValue](t, lower)
	calls := 0
	count := func() error { calls++; return nil }
	b.OK(values.Put(b.Ctx, byValue{ID: "x", prepare: count}))
	require.ErrorIs(t, dbtest.ErrorOf(values.Put(b.Ctx, byValue{ID: "X", prepare: count})), entity.ErrKeyCase)
	require.Equal(t, 2, calls, "a Prepare method of the value is called too")
}

// Complete calls Prepare as a write does: with the context of the call, on a copy; its error is that of Complete.
func TestComplete_CallsPrepare(t *testing.T) {
	b, store := opened[article](t)
	given := article{Title: "Old Books", Tags: []string{"rare"}, hook: &hook{}}
	done := entity.Must(store.Complete(context.WithValue(b.Ctx, callKey{}, "c1"), given))
	require.Equal(t, []any{"old-books", "draft", []string{"RARE"}, []string{"rare"}}, []any{done.Slug, done.State, done.Tags, given.Tags})
	require.Regexp(t, ulid, done.ID)
	require.Equal(t, "c1", given.hook.ctx.Value(callKey{}))
	require.Empty(t, given.hook.checked, "the write validates")
	stored := entity.Must(store.Create(b.Ctx, done))
	require.Equal(t, 2, given.hook.calls())
	stored.hook = given.hook
	require.Equal(t, done, stored)

	given.hook.err = errPrepare
	done, err := store.Complete(b.Ctx, given)
	require.ErrorIs(t, err, errPrepare)
	dbtest.As[*entity.PrepareError](t, err)
	require.Zero(t, done)
}
