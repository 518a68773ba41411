package unique_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

// Meter is a series whose enrichment has a unique value.
type Meter struct {
	_      entity.Key        `name:"Meter" pk:"$#{site}" sk:"$#{id}"`
	_      timeseries.Events `orderBy:"at" ttl:"7d"`
	_      unique.Constraint `name:"serial" fields:"serial"`
	Site   string            `dynamodbav:"site"`
	ID     string            `dynamodbav:"id"`
	At     time.Time         `dynamodbav:"at"`
	Level  int               `dynamodbav:"level" entity:"append"`
	Serial string            `dynamodbav:"serial,omitempty"`
}

// The constraint of a series is opened from its handle; events beside the items are no owners.
func TestSeries_FindVerifyAndRepair(t *testing.T) {
	t.Parallel()
	b := newBed(t, "pk", "sk")
	s, err := timeseries.New[Meter](b.db)
	require.NoError(t, err)
	require.NoError(t, b.db.CreateTables(t.Context()))
	l, err := unique.Of(s, "serial")
	require.NoError(t, err)
	ctx := t.Context()
	for n, id := range []string{"a", "b", "c"} {
		_, _, err := s.Upsert(ctx, Meter{Site: "s", ID: id, Serial: "no-" + id})
		require.NoError(t, err)
		for i := range 3 {
			r, err := s.Append(ctx, Meter{Site: "s", ID: id, At: start.Add(time.Duration(n*3+i) * time.Second), Level: i})
			require.NoError(t, err)
			require.True(t, r.Applied)
		}
	}
	var taken *unique.ViolationError
	_, err = s.Update(ctx, Meter{Site: "s", ID: "c"}, entity.Set(&entity.Fields[Meter]().Serial, "no-a"))
	require.ErrorAs(t, err, &taken)
	require.Equal(t, unique.Owner{PK: "$app#v1#meter#s", SK: "$app#v1#meter#a"}, taken.Owner)

	got, err := l.Find(ctx, Meter{Serial: "no-b"})
	require.NoError(t, err)
	require.Equal(t, Meter{Site: "s", ID: "b", At: start.Add(5 * time.Second), Level: 2, Serial: "no-b"}, got)
	_, err = l.Find(ctx, Meter{Serial: "no-d"})
	require.ErrorIs(t, err, entity.ErrNotFound)

	r, err := l.Verify(ctx)
	require.NoError(t, err)
	require.Equal(t, unique.Report{Items: 3, Sentinels: 3}, r)

	claim := b.sentinel(t, "no-a")
	b.remove(t, claim)
	claim["pk"] = text("$app#v1#meter.serial#no-z")
	b.put(t, claim) // orphaned, as nobody has it
	moved := b.sentinel(t, "no-b")
	moved["_entity_sk"] = text("$app#v1#meter#c")
	b.put(t, moved)
	done, err := l.Repair(ctx, entity.Segments(3))
	require.NoError(t, err)
	require.Equal(t, []string{"misowned", "orphaned", "unclaimed"}, kinds(done.Fixed))
	require.Empty(t, done.Remaining)
	for _, id := range []string{"a", "b", "c"} {
		got, err := l.Find(ctx, Meter{Serial: "no-" + id})
		require.NoError(t, err)
		require.Equal(t, id, got.ID)
	}

	_, err = unique.Of(s, "other")
	var mistake *entity.SchemaError
	require.ErrorAs(t, err, &mistake)
	require.NoError(t, s.Purge(ctx, Meter{Site: "s", ID: "a"}))
	_, err = l.Find(ctx, Meter{Serial: "no-a"})
	require.ErrorIs(t, err, entity.ErrNotFound)
}
