package entity_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// yard is a lab whose entities lie in two tables.
type yard struct {
	*lab
	dial *entity.Store[Dial]
	bare *entity.Store[Bare]
}

func newYard(t *testing.T, configure ...func(*entity.Config)) *yard {
	t.Helper()
	_, second := localdb.Test(t)
	configure = append(configure, func(c *entity.Config) { c.Tables = map[string]string{"bare": second} })
	y := &yard{lab: newLab(t, configure...)}
	y.dial, y.bare = declare[Dial](t, y.db), declare[Bare](t, y.db)
	y.create(t)
	return y
}

// puts are n ops on each of the two tables, by turns.
func (y *yard) puts(n int) (ops []entity.BatchOp) {
	for i := range n {
		ops = append(ops, y.dial.Op().BatchPut(Dial{ID: fmt.Sprint("g-", i), Value: i}), y.bare.Op().BatchPut(Bare{ID: fmt.Sprint("b-", i), Name: "n"}))
	}
	return ops
}

// values are those of n dials, and the names of n bare items; -1 and "" where there is none.
func (y *yard) values(t *testing.T, n int) (values []int, names []string) {
	t.Helper()
	var loads []entity.GetOp
	gs, bs := make([]Dial, n), make([]Bare, n)
	for i := range n {
		gs[i], bs[i] = Dial{ID: fmt.Sprint("g-", i), Value: -1}, Bare{ID: fmt.Sprint("b-", i)}
		loads = append(loads, y.dial.Op().GetInto(&gs[i], entity.Consistent()), y.bare.Op().GetInto(&bs[i], entity.Consistent()))
	}
	found, err := y.db.BatchGet(t.Context(), loads...)
	require.NoError(t, err)
	for i := range n {
		require.Equal(t, found[2*i], gs[i].Value >= 0)
		require.Equal(t, found[2*i+1], bs[i].Name != "")
		values, names = append(values, gs[i].Value), append(names, bs[i].Name)
	}
	return values, names
}

func TestBatchWrite_GoesToSeveralTablesInOneRequest(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	left, err := y.db.BatchWrite(t.Context(), y.puts(30)...)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, []string{"BatchWriteItem", "BatchWriteItem", "BatchWriteItem"}, y.sent(), "60 writes, 25 a request")
	values, names := y.values(t, 30)
	require.Equal(t, []string{"BatchGetItem"}, y.sent(), "60 keys of two tables")
	for i := range 30 {
		require.Equal(t, i, values[i])
		require.Equal(t, "n", names[i])
	}
	ops := []entity.BatchOp{y.dial.Op().BatchDelete(Dial{ID: "g-0"}), y.bare.Op().BatchDelete(Bare{ID: "b-1"}), y.dial.Op().BatchDelete(Dial{ID: "never"}), y.dial.Op().BatchPut(Dial{ID: "g-1", Value: 100})}
	_, err = y.db.BatchWrite(t.Context(), ops...)
	require.NoError(t, err)
	require.Equal(t, []string{"BatchWriteItem"}, y.sent())
	values, names = y.values(t, 3)
	require.Equal(t, []int{-1, 100, 2}, values)
	require.Equal(t, []string{"n", "", "n"}, names)
	require.Equal(t, `S"Dial"`, y.stored(t, keys("pk", "$app#v1#dial#g-1", "sk", "$app#v1#dial"))["__edd_e__"])
}

func TestBatchWrite_OfWritesOfOneItemTheLastCounts(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	put, del := y.dial.Op().BatchPut(Dial{ID: "g-0", Value: 1}), y.dial.Op().BatchDelete(Dial{ID: "g-0"})
	_, err := y.db.BatchWrite(t.Context(), del, put)
	require.NoError(t, err)
	values, _ := y.values(t, 1)
	require.Equal(t, []int{1}, values)
	_, err = y.db.BatchWrite(t.Context(), put, y.bare.Op().BatchPut(Bare{ID: "g-0", Name: "same text, another table"}), del)
	require.NoError(t, err)
	values, _ = y.values(t, 1)
	require.Equal(t, []int{-1}, values)
	require.Equal(t, []string{"BatchWriteItem", "BatchGetItem", "BatchWriteItem", "BatchGetItem"}, y.sent())
}

func TestBatchWrite_FaultsLoseNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Unprocessed, faults.Lost, faults.Throttle, faults.Drop, faults.InternalApplied} {
		for n := 1; n <= 3; n++ {
			y := newYard(t)
			y.wire.Inject(faults.Nth(n, fault))
			left, err := y.db.BatchWrite(t.Context(), y.puts(30)...)
			require.NoError(t, err, "%s of request %d", fault, n)
			require.Empty(t, left)
			require.Len(t, y.sent(), 4)
			values, names := y.values(t, 30)
			require.NotContains(t, values, -1)
			require.NotContains(t, names, "")
		}
	}
}

func TestBatchWrite_GivesBackTheOpsThatWereNotApplied(t *testing.T) {
	t.Parallel()
	y := newYard(t, func(c *entity.Config) { c.MaxAttempts = 3 })
	y.wire.Inject(func(faults.Request) faults.Fault { return faults.Unprocessed })
	ops := y.puts(20)
	last := y.dial.Op().BatchPut(Dial{ID: "g-0", Value: 7})
	left, err := y.db.BatchWrite(t.Context(), append(ops, last)...)
	var unprocessed *entity.UnprocessedError
	require.ErrorAs(t, err, &unprocessed)
	require.Equal(t, 40, unprocessed.Count)
	require.Equal(t, append(ops[1:40:40], last), left, "in order, and of one item the last")
	require.Len(t, y.sent(), 6)

	failing := 0
	y.wire.Inject(func(r faults.Request) faults.Fault { // one of the two batches does not get through
		if failing++; failing > 1 {
			return faults.Throttle
		}
		return faults.None
	})
	left, err = y.db.BatchWrite(t.Context(), left...)
	require.Error(t, err)
	require.Contains(t, []int{15, 25}, len(left))
	y.wire.Inject(nil)
	values, names := y.values(t, 20)
	absent := 0
	for i := range 20 {
		if values[i] < 0 {
			absent++
		}
		if names[i] == "" {
			absent++
		}
	}
	require.Equal(t, len(left), absent, "what is given back is what is not there")
	left, err = y.db.BatchWrite(t.Context(), left...)
	require.NoError(t, err)
	require.Empty(t, left)
	values, _ = y.values(t, 20)
	require.NotContains(t, values, -1)
	require.Equal(t, 7, values[0])
}

func TestBatchWrite_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ops := y.puts(2)
	left, err := y.db.BatchWrite(ctx, ops...)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, ops, left)
	require.Empty(t, y.sent())
}

func TestBatchWrite_MistakesAreFoundBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	staff := declare[Employee](t, y.db)
	good := y.dial.Op().BatchPut(Dial{ID: "a"})
	elsewhere := declare[Dial](t, y.aside(t)).Op().BatchPut(Dial{ID: "a"})
	for name, c := range map[string]struct {
		op   entity.BatchOp
		code string
	}{
		"no key":         {y.dial.Op().BatchPut(Dial{}), "EDD-9101"},
		"no key, delete": {y.bare.Op().BatchDelete(Bare{}), "EDD-9101"},
		"option":         {y.dial.Op().BatchPut(Dial{ID: "b"}, nil), "EDD-9108"},
		"nil":            {nil, "EDD-9114"},
		"another DB":     {elsewhere, "EDD-9114"},
		"not blind":      {staff.Op().BatchPut(alice()), "EDD-9117"},
		"delete":         {staff.Op().BatchDelete(alice()), "EDD-9117"},
	} {
		ops := []entity.BatchOp{good, c.op}
		left, err := y.db.BatchWrite(t.Context(), ops...)
		var input *entity.InputError
		require.ErrorAs(t, err, &input, name)
		require.Equal(t, c.code, input.Code, name)
		require.Equal(t, ops, left, name)
	}
	require.Empty(t, y.sent())
	_, err := y.db.BatchWrite(t.Context(), staff.Op().BatchPut(alice(), entity.Unconditional()))
	require.NoError(t, err)
	left, err := y.db.BatchWrite(t.Context())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestBatchWrite_WithoutAClientWritesNothing(t *testing.T) {
	t.Parallel()
	db := paper(t)
	s := declare[Dial](t, db)
	op := s.Op().BatchPut(Dial{ID: "a"})
	left, err := db.BatchWrite(t.Context(), op)
	require.ErrorIs(t, err, entity.ErrNoClient)
	require.Equal(t, []entity.BatchOp{op}, left)
	vs := []Dial{{ID: "a"}}
	unwritten, err := s.PutMany(t.Context(), vs)
	require.ErrorIs(t, err, entity.ErrNoClient)
	require.Equal(t, vs, unwritten)
}
