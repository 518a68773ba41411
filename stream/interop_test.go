package stream_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// Room is an entity as effect-dynamodb stores it: nothing in its items tells what lies beside them.
type Room struct {
	_ entity.Key           `name:"Room" pk:"$#id_{id}" sk:"$"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete `ttl:"30d"`

	ID      string `dynamodbav:"id"`
	Name    string `dynamodbav:"name,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// Signal is a series in such a table.
type Signal struct {
	_ entity.Key        `name:"Signal" pk:"$#device_{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Level  *int      `dynamodbav:"level,omitempty" entity:"append"`
}

func interop(t *testing.T) *lab {
	return newLab(t, func(c *entity.Config) {
		c.Namespace = entity.Namespace{Name: "app", Version: 1, Casing: entity.LowerCase}
		c.TimePrecision, c.Interop = time.Millisecond, true
	})
}

func TestInterop_SatellitesAreToldByTheirSortKey(t *testing.T) {
	t.Parallel()
	l := interop(t)
	s := store[Room](l)
	l.create()
	bin := entity.Must(lifecycle.Of(s))
	key := Room{ID: "R1"}
	require.NoError(t, second(s.Create(l.ctx, Room{ID: "R1", Name: "a"})))
	changes, others := told(t, s, l.next())
	require.Zero(t, others)
	require.Contains(t, kinds(changes), stream.Created)
	require.Contains(t, kinds(changes), stream.SnapshotStored)
	require.Len(t, changes, 2)

	l.clock.advance(time.Second)
	require.NoError(t, s.Delete(l.ctx, key))
	changes, others = told(t, s, l.next())
	require.Zero(t, others)
	require.Contains(t, kinds(changes), stream.CurrentRemoved)
	copied := entity.Must(bin.Get(l.ctx, key))
	c := only(t, changes, stream.SoftDeleted)
	require.Equal(t, copied.Item, *c.New)
	require.Equal(t, copied.DeletedAt, c.DeletedAt)

	l.clock.advance(time.Second)
	require.NoError(t, second(bin.Restore(l.ctx, key)))
	changes, others = told(t, s, l.next())
	require.Zero(t, others)
	require.Contains(t, kinds(changes), stream.Created, "nothing marks a restored item there")
	require.Contains(t, kinds(changes), stream.CopyRemoved)
}

func TestInterop_EventsAreToldByTheirSortKey(t *testing.T) {
	t.Parallel()
	l := interop(t)
	s := entity.Must(timeseries.New[Signal](l.db))
	l.create()
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, minutes := range []int{5, 3} {
		entity.Must(s.Append(l.ctx, Signal{Device: "D-7", At: at.Add(time.Duration(minutes) * time.Minute), Level: ptr(1)}))
	}
	records := l.next()
	changes, others := told(t, s, records)
	require.Zero(t, others)
	require.Equal(t, []stream.Kind{stream.Appended, stream.Appended, stream.Created}, kinds(changes))

	// The same key, and attributes that would not make it.
	r := records[0]
	r.New["device"] = &types.AttributeValueMemberS{Value: "other"}
	r.Keys["sk"] = &types.AttributeValueMemberS{Value: "$app#v1#signal#x#1"}
	r.New["sk"] = r.Keys["sk"]
	_, ok, err := stream.Of(s, r)
	require.NoError(t, err)
	require.False(t, ok, "some other program's item")
	r.New, r.Old = nil, nil
	_, _, err = stream.Of(s, r)
	var lacks *stream.ImageError
	require.ErrorAs(t, err, &lacks, "without an image nothing shows which")
}
