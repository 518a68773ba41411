package migrate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// rawDoor is an old item under a key of its own, without hidden attributes.
type rawDoor struct {
	_ entity.Key `name:"Door" pk:"house" sk:"number"`

	House  string `dynamodbav:"house"`
	Number int    `dynamodbav:"number"`
	Color  string `dynamodbav:"color"`
}

// door is the same with a $ key.
type door struct {
	_ entity.Key `name:"Door" pk:"$#{house}" sk:"$#{number:04}"`

	House  string `dynamodbav:"house"`
	Number int    `dynamodbav:"number"`
	Color  string `dynamodbav:"color"`
}

// The old items need no write ids, and can have any key. Without write ids, a change that is as before is written again, so that
// no older one can follow.
func TestCopy_OfAVerbatimEntityInAnotherTable(t *testing.T) {
	t.Parallel()
	old, doors := dbtest.OpenStore[rawDoor](t)
	b := dbtest.Open(t, dbtest.Attempts(3))
	to := dbtest.Declare[door](t, b.DB)
	b.CreateTables()
	open := func(client entity.Client) *migrate.Copier[rawDoor, door] {
		return entity.Must(migrate.Copy("doors", dbtest.Declare[rawDoor](t, old.Open(client)), dbtest.Declare[door](t, b.Open(client)), func(d rawDoor) (door, error) {
			return door{House: d.House, Number: d.Number, Color: d.Color}, nil
		}))
	}
	paint := func(number int, color string) stream.Change[rawDoor] {
		r := stream.Record{SequenceNumber: "1", Operation: streamtypes.OperationTypeModify, Keys: dbtest.Item{"house": dbtest.S("h"), "number": dbtest.N(fmt.Sprint(number))}}
		for _, it := range old.Items() {
			if dbtest.Text(it["number"]) == fmt.Sprint(number) {
				r.Old = it
			}
		}
		old.OK(doors.Put(old.Ctx, rawDoor{House: "h", Number: number, Color: color}))
		r.New = dbtest.Item{"house": r.Keys["house"], "number": r.Keys["number"], "color": dbtest.S(color)}
		if r.Old == nil {
			r.Operation = streamtypes.OperationTypeInsert
		}
		c, ok, err := stream.Of(doors, r)
		require.NoError(t, err)
		require.True(t, ok)
		return c
	}
	paint(1, "red")
	paint(2, "blue")
	slow := open(b.Client)
	r, err := slow.Run(b.Ctx)
	require.NoError(t, err)
	assert.Equal(t, 2, r.Rewritten)
	green := paint(1, "green")
	require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error { return slow.Handle(b.Ctx, green) }, func() {
		require.NoError(t, open(b.Raw).Handle(b.Ctx, paint(1, "red"))) // as it was copied first
	}))
	is, err := to.Get(b.Ctx, door{House: "h", Number: 1})
	require.NoError(t, err)
	assert.Equal(t, "red", is.Color)
	clean, err := slow.CutOver(b.Ctx)
	require.NoError(t, err)
	assert.True(t, clean.Clean())
}

// stamp is an old item with a binary key.
type stamp struct {
	_ entity.Key `name:"Stamp" pk:"hash"`

	Hash []byte `dynamodbav:"hash"`
}

// The write id of a copy leads back to the old item, whatever the type of its key: a copy whose item has gone is removed, also
// if no stream has brought that.
func TestCopy_RemovesCopiesWithoutAnItem(t *testing.T) {
	t.Parallel()
	old, stamps := dbtest.OpenStore[stamp](t)
	b, doors := dbtest.OpenStore[door](t)
	c := entity.Must(migrate.Copy("stamps", stamps, doors, func(s stamp) (door, error) { return door{House: "h", Number: int(s.Hash[0])}, nil }))
	old.OK(stamps.Put(old.Ctx, stamp{Hash: []byte{1, 0xff}}))
	old.OK(stamps.Put(old.Ctx, stamp{Hash: []byte{2}}))
	b.OK(c.Run(b.Ctx))
	b.OK(doors.Create(b.Ctx, door{House: "h", Number: 3}))
	require.NoError(t, stamps.Delete(old.Ctx, stamp{Hash: []byte{1, 0xff}}))
	r, err := c.Verify(b.Ctx)
	require.NoError(t, err)
	assert.Equal(t, map[migrate.Reason]int{migrate.Extra: 1}, r.Reasons)
	b.OK(c.CutOver(b.Ctx))
	left, err := doors.Scan().Collect(b.Ctx)
	require.NoError(t, err)
	require.Len(t, left, 2)
	for _, d := range left {
		assert.NotEqual(t, 1, d.Number)
	}
}

// session lives for a minute, unless its store is opened without expiry.
type session struct {
	_ entity.Key    `name:"Session" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL `attr:"ends" after:"1m"`

	ID string `dynamodbav:"id"`
}

// visit lives for an hour after it is written.
type visit struct {
	_ entity.Key    `name:"Visit" pk:"$#{id}" sk:"$#visit"`
	_ lifecycle.TTL `attr:"ends" after:"1h"`

	ID string `dynamodbav:"id"`
}

// Expired items are absent on both sides. A copy has the expiry of its source if it has no other, and keeps one that is
// counted from its first write.
func TestCopy_OfItemsThatExpire(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	sessions, visits := dbtest.Declare[session](t, b.DB), dbtest.Declare[visit](t, b.DB)
	b.CreateTables()
	c := entity.Must(migrate.Copy("visits", sessions, visits, func(s session) (visit, error) { return visit{ID: s.ID}, nil }))
	b.OK(sessions.Create(b.Ctx, session{ID: "short"}))
	b.OK(dbtest.Declare[session](t, b.Open(b.Raw), lifecycle.NoExpiry()).Create(b.Ctx, session{ID: "long"}))
	r, err := c.Run(b.Ctx)
	require.NoError(t, err)
	assert.Equal(t, 2, r.Rewritten)
	end := func(id string) string { return dbtest.Text(b.Item("$app#v1#visit#"+id, "$app#v1#visit#visit")["ends"]) }
	assert.Equal(t, fmt.Sprint(dbtest.Start.Add(time.Minute).Unix()), end("short"))
	assert.Equal(t, fmt.Sprint(dbtest.Start.Add(time.Hour).Unix()), end("long"))
	b.Clock.Move(2 * time.Minute)
	r, err = c.Verify(b.Ctx)
	require.NoError(t, err)
	assert.True(t, r.Clean(), "%s", r)
	assert.Equal(t, 1, r.Expired)
	r, err = c.CutOver(b.Ctx)
	require.NoError(t, err)
	assert.True(t, r.Clean())
	assert.Equal(t, fmt.Sprint(dbtest.Start.Add(time.Hour).Unix()), end("long"))
}

// stay lives for an hour after it was last seen.
type stay struct {
	_ entity.Key    `name:"Stay" pk:"$#{id}" sk:"$#stay"`
	_ lifecycle.TTL `attr:"ends" from:"seen" after:"1h"`

	ID   string    `dynamodbav:"id"`
	Seen time.Time `dynamodbav:"seen"`
}

// Neither a copy that has expired while its item lives on, nor one that would have expired before it is written, keeps the copy
// from being cut over.
func TestCopy_CutsOverCopiesThatExpireBeforeTheirItems(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	sessions := dbtest.Declare[session](t, b.DB, lifecycle.NoExpiry())
	visits, stays := dbtest.Declare[visit](t, b.DB), dbtest.Declare[stay](t, b.DB)
	b.CreateTables()
	b.OK(sessions.Create(b.Ctx, session{ID: "a"}))

	counted := entity.Must(migrate.Copy("visits", sessions, visits, func(s session) (visit, error) { return visit{ID: s.ID}, nil }))
	b.OK(counted.Run(b.Ctx))
	b.Clock.Move(2 * time.Hour)
	b.OK(counted.CutOver(b.Ctx))
	b.OK(visits.Get(b.Ctx, visit{ID: "a"}))

	seen := dbtest.Start.Add(90 * time.Minute)
	derived := entity.Must(migrate.Copy("stays", sessions, stays, func(s session) (stay, error) { return stay{ID: s.ID, Seen: seen}, nil }))
	b.OK(derived.Run(b.Ctx))
	b.OK(stays.Get(b.Ctx, stay{ID: "a"}))
	b.Clock.Move(time.Hour)
	r, err := derived.Run(b.Ctx, migrate.Restart())
	require.NoError(t, err)
	assert.Equal(t, []int{1, 0, 1}, []int{r.Items, r.Rewritten, r.Expired})
	b.OK(derived.CutOver(b.Ctx))
}

// Snapshots and deleted copies are counted and not copied, and an old item with soft delete is followed.
func TestCopy_OfAnEntityWithHistory(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	old, to := dbtest.Declare[before](t, b.DB), dbtest.Declare[door](t, b.DB)
	b.CreateTables()
	c := entity.Must(migrate.Copy("doors", old, to, func(m before) (door, error) {
		return door{House: m.Team, Number: m.Tasks, Color: strings.Repeat("x", len(m.ID))}, nil
	}))
	a := entity.Must(old.Create(b.Ctx, before{ID: "a", Team: "red"}))
	b.OK(old.Update(b.Ctx, a, entity.Set(&entity.Fields[before]().Tasks, 2)))
	b.OK(old.Delete(b.Ctx, entity.Must(old.Create(b.Ctx, before{ID: "b", Team: "red", Tasks: 7}))))
	r, err := c.Run(b.Ctx)
	require.NoError(t, err)
	assert.Equal(t, []int{1, r.Items - 1}, []int{r.Rewritten, r.Related})
	assert.GreaterOrEqual(t, r.Related, 3)

	was := b.Item(pk("a"), sk)
	b.OK(old.Delete(b.Ctx, before{ID: "a"}))
	gone, ok, err := stream.Of(old, stream.Record{SequenceNumber: "1", Operation: streamtypes.OperationTypeRemove, Keys: b.Key(pk("a"), sk), Old: was})
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, stream.CurrentRemoved, gone.Kind)
	require.NoError(t, c.Handle(b.Ctx, gone))
	left, err := to.Scan().Collect(b.Ctx)
	require.NoError(t, err)
	assert.Empty(t, left)
	aside := gone
	aside.Kind = stream.SnapshotStored
	b.Wire.Reset()
	require.NoError(t, c.Handle(b.Ctx, aside))
	assert.Empty(t, b.Sent(), "a change of a related item")
}

// What cannot be stored is a problem of that item, and others of the same page are copied.
func TestCopy_LeavesWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.put(ticket{ID: "a", Owner: "ann"})
	s.put(ticket{ID: "long", Owner: strings.Repeat("o", 2040)})
	s.put(ticket{ID: "none", Owner: ""})
	s.PutItem(dbtest.Item{"pk": dbtest.S("$app#v1#ticket#x"), "sk": dbtest.S("$app#v1#ticket"), "id": dbtest.S("x"), "uses": dbtest.S("many"), "__edd_e__": dbtest.S("Ticket")})
	want := map[migrate.Problem]int{migrate.Unstorable: 2, migrate.Undecodable: 1}
	assert.Equal(t, want, s.run(migrate.DryRun()).Problems)
	r := s.run()
	assert.Equal(t, want, r.Problems)
	assert.Equal(t, 1, r.Rewritten)
	_, err := s.copy.CutOver(s.Ctx)
	require.ErrorIs(t, err, migrate.ErrUnsettled)
	state, err := s.copy.State(s.Ctx)
	require.NoError(t, err)
	assert.Equal(t, migrate.Freezing, state)
}

// A change whose writes always meet others is an error of Apply, so that the stream brings it again.
func TestCopy_AChangeThatCannotBeAppliedIsAnError(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	a := s.put(ticket{ID: "a", Owner: "ann"})
	s.apply()
	require.NoError(t, s.copy.Handle(s.Ctx, a))
	moved := s.put(ticket{ID: "a", Owner: "bob"})
	n := 0
	s.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			if n++; n < 40 { // of the removal
				return faults.Conflict
			}
		}
		return faults.None
	})
	require.ErrorIs(t, s.copy.Handle(s.Ctx, moved), entity.ErrConflict)
	s.Wire.Inject(nil)
	require.NoError(t, s.copy.Handle(s.Ctx, moved))
	s.requireEqual()
}
