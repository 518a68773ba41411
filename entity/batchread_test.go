package entity_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestGetMany_KeepsTheOrderAndSharesRepeatedKeys(t *testing.T) {
	b := newBench(t, 0)
	ctx := t.Context()
	var keys []Plain
	for i := range 230 {
		keys = append(keys, Plain{ID: fmt.Sprint(i)})
	}
	for i := 0; i < 230; i += 2 {
		_, err := b.other.Create(ctx, Plain{ID: fmt.Sprint(i), Count: i + 1})
		require.NoError(t, err)
	}
	keys = append(keys, keys[4], keys[5], keys[4])
	got, err := b.plain.GetMany(ctx, keys, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, 3, b.faults.Count("BatchGetItem"), "230 different keys, 100 a request")
	for i, v := range got {
		if n := keys[i].ID; int(n[len(n)-1]-'0')%2 == 0 {
			require.NotNil(t, v, n)
			require.Equal(t, n, v.ID)
		} else {
			require.Nil(t, v, n)
		}
	}
	require.Same(t, got[230], got[232])
	none, err := b.plain.GetMany(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestGetMany_AsksAgainForWhatWasNotProcessed(t *testing.T) {
	b := newBench(t, 3)
	ctx := t.Context()
	_, err := b.other.Create(ctx, Plain{ID: "a"})
	require.NoError(t, err)
	b.faults.Inject(faults.Nth(1, faults.Unprocessed))
	got, err := b.plain.GetMany(ctx, []Plain{{ID: "a"}, {ID: "b"}}, entity.Consistent())
	require.NoError(t, err)
	require.NotNil(t, got[0])
	require.Nil(t, got[1])
	b.faults.Reset()
	b.faults.Inject(func(faults.Request) faults.Fault { return faults.Unprocessed })
	_, err = b.plain.GetMany(ctx, []Plain{{ID: "a"}})
	var unprocessed *entity.UnprocessedError
	require.ErrorAs(t, err, &unprocessed)
	require.Equal(t, 1, unprocessed.Count)
	require.Equal(t, 3, b.faults.Count("BatchGetItem"))
}

func TestGetMany_AMissingKeyPartIsFoundBeforeAnyRequest(t *testing.T) {
	b := newBench(t, 0)
	_, err := b.plain.GetMany(t.Context(), []Plain{{ID: "a"}, {}})
	var input *entity.InputError
	require.ErrorAs(t, err, &input)
	require.Equal(t, "EDD-9101", input.Code)
	require.Empty(t, b.faults.Requests())
}

func TestBatchGet_FillsInOrderAndAsksForEachItemOnce(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	_, err := y.db.BatchWrite(t.Context(), y.puts(70)...)
	require.NoError(t, err)
	y.sent()
	var loads []entity.GetOp
	gs, bs := make([]Dial, 140), make([]Bare, 140)
	for i := range 140 {
		gs[i], bs[i] = Dial{ID: fmt.Sprint("g-", i%80), Site: "as it was"}, Bare{ID: fmt.Sprint("b-", i%80)}
		loads = append(loads, y.dial.Op().GetInto(&gs[i]), y.bare.Op().GetInto(&bs[i]))
	}
	found, err := y.db.BatchGet(t.Context(), loads...)
	require.NoError(t, err)
	require.Equal(t, []string{"BatchGetItem", "BatchGetItem"}, y.sent(), "160 different keys")
	require.Len(t, found, 280)
	for i := range 140 {
		there := i%80 < 70
		require.Equal(t, []bool{there, there}, found[2*i:2*i+2])
		if there {
			require.Equal(t, i%80, gs[i].Value)
			require.Empty(t, gs[i].Site)
			require.Equal(t, "n", bs[i].Name)
		} else {
			require.Equal(t, "as it was", gs[i].Site)
		}
	}
	found, err = y.db.BatchGet(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	require.Empty(t, y.sent())
}

// DynamoDB reads all keys of a table in one request alike, so consistent loads go by themselves, and first: an item that
// is read consistently need not be read again.
func TestBatchGet_OptionsAreThoseOfEachLoad(t *testing.T) {
	t.Parallel()
	l, s := lapsed(t, -time.Hour)
	token := func() Token { return Token{User: "u", ID: "t"} }
	a, b, c, other := token(), token(), token(), Token{User: "u", ID: "other"}
	var handle entity.Image
	found, err := l.db.BatchGet(t.Context(), s.Op().GetInto(&a), s.Op().GetInto(&b, entity.Consistent(), entity.IncludeExpired(), entity.KeepImage(&handle)), s.Op().GetInto(&other), s.Op().GetInto(&c))
	require.NoError(t, err)
	require.Equal(t, []bool{false, true, false, false}, found, "its time has passed, and one load shows it all the same")
	require.Equal(t, 7, b.Uses)
	requests := l.wire.Requests()
	require.Len(t, requests, 2)
	require.Contains(t, string(requests[0].Body), `"ConsistentRead":true`)
	require.Contains(t, string(requests[1].Body), `"ConsistentRead":false`)
	require.NotContains(t, string(requests[1].Body), "#t\"")
	l.sent()
	d := token()
	require.NoError(t, l.db.TransactGet(t.Context(), s.Op().GetInto(&d, entity.IncludeExpired(), entity.KeepImage(&handle))))
	require.Equal(t, 7, d.Uses)
	l.sent()
	_, err = s.Update(t.Context(), token(), entity.Set(&entity.Fields[Token]().Uses, 8), entity.FromImage(&handle))
	require.ErrorIs(t, err, entity.ErrNotFound, "it is gone for writes")
}

func TestBatchGet_KeepSavesTheReadOfAWrite(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	l.sent()
	e, f := employeeKey("emp-alice"), entity.Fields[Employee]()
	var handle entity.Image
	found, err := l.db.BatchGet(t.Context(), s.Op().GetInto(&e, entity.KeepImage(&handle)))
	require.NoError(t, err)
	require.Equal(t, []bool{true}, found)
	_, err = s.Update(t.Context(), e, entity.Set(&f.Department, "Sales"), entity.FromImage(&handle))
	require.NoError(t, err)
	require.NotContains(t, l.sent(), "GetItem")
}

func TestBatchGet_FailsWhole(t *testing.T) {
	t.Parallel()
	y := newYard(t, func(c *entity.Config) { c.MaxAttempts = 3 })
	_, err := y.db.BatchWrite(t.Context(), y.puts(2)...)
	require.NoError(t, err)
	g, b := Dial{ID: "g-1"}, Bare{ID: "b-1"}
	loads := []entity.GetOp{y.dial.Op().GetInto(&g), y.bare.Op().GetInto(&b)}
	y.sent()
	for _, fault := range []faults.Fault{faults.Unprocessed, faults.Throttle} {
		y.wire.Inject(func(faults.Request) faults.Fault { return fault })
		found, err := y.db.BatchGet(t.Context(), loads...)
		require.Error(t, err)
		require.Nil(t, found)
		require.Len(t, y.sent(), 3)
		var unprocessed *entity.UnprocessedError
		if fault == faults.Unprocessed {
			require.ErrorAs(t, err, &unprocessed)
			require.Equal(t, 2, unprocessed.Count)
		}
		y.wire.Inject(faults.Nth(1, fault))
		_, err = y.db.BatchGet(t.Context(), loads...)
		require.NoError(t, err)
		require.Equal(t, 1, g.Value)
		require.Len(t, y.sent(), 2)
		g, b = Dial{ID: "g-1"}, Bare{ID: "b-1"}
		loads = []entity.GetOp{y.dial.Op().GetInto(&g), y.bare.Op().GetInto(&b)}
	}
	y.wire.Inject(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = y.db.BatchGet(ctx, loads...)
	require.ErrorIs(t, err, context.Canceled)
	y.patch(t, keys("pk", "$app#v1#dial#g-1", "sk", "$app#v1#dial"), "value", str("x"))
	_, err = y.db.BatchGet(t.Context(), loads...)
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit)
	require.Equal(t, []any{Dial{ID: "g-1"}, Bare{ID: "b-1"}}, []any{g, b})
}

func TestBatchGet_MistakesAreFoundBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	g := Dial{ID: "a"}
	elsewhere := declare[Dial](t, y.aside(t))
	for code, load := range map[string]entity.GetOp{
		"EDD-9101": y.dial.Op().GetInto(&Dial{}),
		"EDD-9105": y.dial.Op().GetInto(nil),
		"EDD-9108": y.dial.Op().GetInto(&g, nil),
		"EDD-9114": elsewhere.Op().GetInto(&g),
	} {
		_, err := y.db.BatchGet(t.Context(), y.dial.Op().GetInto(&g), load)
		requireInput(t, err, code, map[string]string{"EDD-9101": "ID"}[code])
	}
	_, err := y.db.BatchGet(t.Context(), nil)
	requireInput(t, err, "EDD-9114", "")
	require.Empty(t, y.sent())
}
