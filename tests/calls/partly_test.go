package calls_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// cut is how a call of many requests is cut off, from its k-th request on.
type cut struct {
	name  string
	fault faults.Fault
	ends  bool // its context ends at the k-th request
	known bool // what fails was not applied, and says so
}

var cuts = []cut{
	{"lost for good", faults.Lost, false, false},
	{"lost, then the context ends", faults.Lost, true, false},
	{"hanging until the context ends", faults.Hang, true, false},
	{"server errors", faults.Internal, false, false},
	{"server errors after it was applied", faults.InternalApplied, false, false},
	{"throttled for good", faults.Throttle, false, true},
	{"not sent", faults.Drop, false, false},
}

// off makes request k and all that follow fail.
func (c cut) off(l *lab, k int) (context.Context, func()) {
	ctx, cancel := context.WithCancel(l.Ctx)
	n := 0
	l.Wire.Inject(func(faults.Request) faults.Fault {
		if n++; n < k {
			return faults.None
		}
		if c.ends && c.fault == faults.Hang {
			cancel()
		}
		if c.ends {
			go cancel()
		}
		return c.fault
	})
	return ctx, func() { cancel(); l.Wire.Reset(); l.Wire.Inject(nil) }
}

// A call of many requests that ends in an error says so when part of it was done, and only when it may have been.
func honest(t *testing.T, c cut, k int, err error, changed bool) {
	t.Helper()
	if changed {
		require.Error(t, err)
		require.True(t, entity.IsAmbiguous(err), "%s from request %d: part was done: %v", c.name, k, err)
	}
	if !changed && c.known {
		require.False(t, entity.IsAmbiguous(err), "%s from request %d: nothing was done: %v", c.name, k, err)
	}
}

// stored counts the items in a partition.
func (l *lab) stored(pk string) int {
	out, err := l.Raw.Query(l.Ctx, &dynamodb.QueryInput{
		TableName: &l.Table, KeyConditionExpression: ref("pk = :pk"), ConsistentRead: ref(true),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": dbtest.S(pk)},
	})
	require.NoError(l.T, err)
	return len(out.Items)
}

func ref[V any](v V) *V { return &v }

func TestPurge_CutOffMidwayIsAmbiguous(t *testing.T) {
	t.Parallel()
	l := open(t, dbtest.Attempts(2))
	s, quiet := store[Kept](l)
	bin := entity.Must(lifecycle.Of(quiet))
	for i, c := range cuts {
		ended := false
		for k := 1; !ended; k++ {
			require.Less(t, k, 100)
			id := fmt.Sprintf("%d-%d", i, k)
			l.OK(quiet.Create(t.Context(), Kept{ID: id, Email: id}))
			require.NoError(t, quiet.Delete(t.Context(), Kept{ID: id}))
			l.OK(bin.Restore(t.Context(), Kept{ID: id}))
			pk := "$app#v1#kept#" + id
			before := l.stored(pk)

			ctx, done := c.off(l, k)
			err := s.Purge(ctx, Kept{ID: id})
			sent := len(l.Wire.Requests())
			done()
			if ended = sent < k; ended {
				require.NoError(t, err)
				require.Zero(t, l.stored(pk))
				break
			}
			if changed := l.stored(pk) < before; err != nil {
				honest(t, c, k, err, changed)
			}
		}
	}
}

func TestBatch_CutOffMidwayIsAmbiguous(t *testing.T) {
	t.Parallel()
	l := open(t, dbtest.Attempts(2))
	s, quiet := store[Plain](l)
	for i, c := range append(cuts, cut{"unprocessed for good", faults.Unprocessed, false, true}) {
		first, last := testsize.Pick(2, 1), testsize.Pick(2, 3)
		for k := first; k <= last; k++ {
			var put []Plain
			for n := range 60 { // three batches
				put = append(put, Plain{ID: fmt.Sprintf("%d-%d-%d", i, k, n), Count: 1})
			}
			count := func() (n int) {
				got, err := quiet.GetMany(t.Context(), put, entity.Consistent())
				require.NoError(t, err)
				for _, v := range got {
					if v != nil {
						n++
					}
				}
				return n
			}
			ctx, done := c.off(l, k)
			left, err := s.PutMany(ctx, put)
			done()
			require.Error(t, err)
			require.GreaterOrEqual(t, count()+len(left), len(put), "what is not named was written")
			honest(t, c, k, err, count() > 0)

			l.OK(quiet.PutMany(t.Context(), put))
			ctx, done = c.off(l, k)
			_, err = s.DeleteMany(ctx, put)
			done()
			require.Error(t, err)
			honest(t, c, k, err, count() < len(put))

			l.OK(quiet.DeleteMany(t.Context(), put))
			ops := make([]entity.BatchOp, len(put))
			for n, v := range put {
				ops[n] = s.Op().BatchPut(v)
			}
			ctx, done = c.off(l, k)
			_, err = l.DB.BatchWrite(ctx, ops...)
			done()
			require.Error(t, err)
			honest(t, c, k, err, count() > 0)
		}
	}
}

func TestBatch_ALostAnswerThatIsMadeGoodIsNoError(t *testing.T) {
	t.Parallel()
	l := open(t)
	s, _ := store[Plain](l)
	l.Wire.Inject(faults.Nth(1, faults.Lost))
	left, err := s.PutMany(t.Context(), []Plain{{ID: "a"}})
	require.NoError(t, err)
	require.Empty(t, left)
}
