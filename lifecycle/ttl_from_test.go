package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Reading is kept for 30 days from when it was taken, which is part of its key.
type Reading struct {
	_       entity.Key    `name:"Reading" pk:"device" sk:"at={taken:013}#{id}"`
	_       lifecycle.TTL `attr:"expiration_time" from:"taken" after:"30d"`
	Device  string        `dynamodbav:"device"`
	Taken   int64         `dynamodbav:"taken" entity:"time=unixms"`
	ID      string        `dynamodbav:"id"`
	Celsius int           `dynamodbav:"celsius"`
}

// Lease ends an hour after it was last seen.
type Lease struct {
	_    entity.Key    `name:"Lease" pk:"$#{id}" sk:"$"`
	_    entity.GSI    `name:"byNote" index:"gsi1" pk:"$#{note}" sk:"gsi1sk={ends:020}"`
	_    lifecycle.TTL `attr:"ends" from:"seen" after:"1h"`
	ID   string        `dynamodbav:"id"`
	Note string        `dynamodbav:"note,omitempty"`
	Seen time.Time     `dynamodbav:"seen,omitempty" entity:"time=ms"`
	Ends int64         `dynamodbav:"ends,omitempty"`
}

// Counter counts its own time in seconds.
type Counter struct {
	_    entity.Key    `name:"Counter" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" from:"since" after:"1h"`
	ID   string        `dynamodbav:"id"`
	Note string        `dynamodbav:"note,omitempty"`
	Once *uint64       `dynamodbav:"since,omitempty" entity:"time=unix"`
}

// Cache ends a minute after it was last written.
type Cache struct {
	_       entity.Key    `name:"Cache" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL `attr:"ends" from:"updated" after:"1m"`
	ID      string        `dynamodbav:"id"`
	Note    string        `dynamodbav:"note,omitempty"`
	Updated time.Time     `dynamodbav:"updated" entity:"updated_at,time=s"`
}

// Trial ends a week after it was created, whatever becomes of it.
type Trial struct {
	_       entity.Key    `name:"Trial" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL `attr:"ends" from:"created" after:"7d"`
	ID      string        `dynamodbav:"id"`
	Note    string        `dynamodbav:"note,omitempty"`
	Created time.Time     `dynamodbav:"created" entity:"created_at"`
}

func TestTTL_FromAKeyPartIsTheSameOnEveryPath(t *testing.T) {
	t.Parallel()
	h, s := open[Reading](t)
	r := Reading{Device: "d", Taken: hour0.UnixMilli(), ID: "r", Celsius: 20}
	f := entity.Fields[Reading]()
	h.Clock.Move(day) // the clock does not matter
	_, err := s.Create(t.Context(), r)
	require.NoError(t, err)
	h.ends(t, "expiration_time", hour0, 30*day)
	_, err = s.Update(t.Context(), r, entity.Set(&f.Celsius, 21))
	require.NoError(t, err)
	_, err = s.Put(t.Context(), r)
	require.NoError(t, err)
	_, _, err = s.Upsert(t.Context(), r)
	require.NoError(t, err)
	_, _, err = s.Upsert(t.Context(), r, entity.Idempotent())
	require.NoError(t, err)
	require.Equal(t, []string{"PutItem", "UpdateItem", "UpdateItem", "UpdateItem", "GetItem", "TransactWriteItems"}, h.Operations())
	h.ends(t, "expiration_time", hour0, 30*day)
	require.NoError(t, s.Delete(t.Context(), r))

	_, created, err := s.Upsert(t.Context(), r)
	require.NoError(t, err)
	require.True(t, created)
	h.ends(t, "expiration_time", hour0, 30*day)
}

func TestTTL_FollowsATimeInTheSameRequest(t *testing.T) {
	t.Parallel()
	h, s := open[Lease](t)
	f, seen := entity.Fields[Lease](), hour0
	key := Lease{ID: "l"}
	step := func(requests ...string) {
		t.Helper()
		require.Equal(t, requests, h.Operations())
		if seen.IsZero() {
			require.Empty(t, h.end(t, "ends"), "nothing to count from")
			return
		}
		h.ends(t, "ends", seen, time.Hour)
		require.Contains(t, h.Items()[0], "gsi1sk", "the index follows")
	}
	next := func() time.Time { seen = seen.Add(time.Minute); return seen }
	_, err := s.Create(t.Context(), Lease{ID: "l", Seen: next(), Note: "n"})
	require.NoError(t, err)
	step("PutItem")
	got, err := s.Update(t.Context(), key, entity.Set(&f.Seen, next()))
	require.NoError(t, err)
	require.Equal(t, seen.Unix()+3600, got.Ends)
	step("UpdateItem")
	_, err = s.Update(t.Context(), key, entity.Set(&f.Note, "m"))
	require.NoError(t, err)
	step("UpdateItem")
	_, _, err = s.Upsert(t.Context(), Lease{ID: "l", Seen: next()})
	require.NoError(t, err)
	step("UpdateItem")
	_, _, err = s.Upsert(t.Context(), Lease{ID: "l", Note: "left alone"})
	require.NoError(t, err)
	step("UpdateItem")
	_, err = s.Put(t.Context(), Lease{ID: "l", Seen: next()})
	require.NoError(t, err)
	step("UpdateItem")
	_, err = s.Modify(t.Context(), key, func(l *Lease) error { l.Seen = next(); return nil })
	require.NoError(t, err)
	step("GetItem", "PutItem")
	seen = h.Clock.Move(10 * time.Minute)
	due, err := s.Touch(t.Context(), key, &f.Seen, time.Minute)
	require.NoError(t, err)
	require.True(t, due)
	step("UpdateItem")
	require.NoError(t, h.DB.Transact(t.Context(), s.Op().Update(key, entity.Set(&f.Seen, next()))))
	step("UpdateItem")

	mine := seen.Add(day)
	got, err = s.Update(t.Context(), key, entity.Set(&f.Seen, next()), entity.Set(&f.Ends, mine.Unix()))
	require.NoError(t, err)
	require.Equal(t, mine.Unix(), got.Ends, "what the caller gives wins")
	_, err = s.Update(t.Context(), key, entity.Set(&f.Note, "stays"))
	require.NoError(t, err)
	h.ends(t, "ends", mine, 0)
	h.Operations()
	_, err = s.Update(t.Context(), key, entity.Set(&f.Seen, next()))
	require.NoError(t, err)
	step("UpdateItem")
	seen = time.Time{}
	_, err = s.Update(t.Context(), key, entity.Remove(&f.Seen))
	require.NoError(t, err)
	step("GetItem", "PutItem") // the index key, which is removed too, is composed from the stored item
	_, err = s.Update(t.Context(), key, entity.Set(&f.Seen, hour0), entity.Remove(&f.Ends))
	require.NoError(t, err)
	require.Empty(t, h.end(t, "ends"), "taken away on purpose")
	h.Operations()
	_, err = s.Put(t.Context(), key)
	require.NoError(t, err)
	step("UpdateItem")
}

func TestTTL_AChangeOtherThanSetReadsFirst(t *testing.T) {
	t.Parallel()
	h, s := open[Counter](t)
	f, at := entity.Fields[Counter](), uint64(hour0.Unix())
	_, err := s.Create(t.Context(), Counter{ID: "c"})
	require.NoError(t, err)
	require.Empty(t, h.end(t, "ends"))
	h.Operations()
	_, err = s.Update(t.Context(), Counter{ID: "c"}, entity.SetIfNotExists(&f.Once, &at))
	require.NoError(t, err)
	require.Equal(t, []string{"GetItem", "PutItem"}, h.Operations())
	h.ends(t, "ends", hour0, time.Hour)
	_, err = s.Update(t.Context(), Counter{ID: "c"}, entity.Add(f.Once, 60))
	require.NoError(t, err)
	require.Equal(t, []string{"GetItem", "PutItem"}, h.Operations())
	h.ends(t, "ends", hour0, time.Hour+time.Minute)
	zero := uint64(0)
	_, err = s.Update(t.Context(), Counter{ID: "c"}, entity.Set(&f.Once, &zero))
	require.NoError(t, err)
	require.Empty(t, h.end(t, "ends"), "zero is no time")
}

func TestTTL_FollowsTheTimesThatTheLibraryKeeps(t *testing.T) {
	t.Parallel()
	h, cache := open[Cache](t)
	c := entity.Fields[Cache]()
	_, err := cache.Create(t.Context(), Cache{ID: "c"})
	require.NoError(t, err)
	h.ends(t, "ends", hour0, time.Minute)
	for _, write := range []func() error{
		func() error {
			_, err := cache.Update(t.Context(), Cache{ID: "c"}, entity.Set(&c.Note, "a"))
			return err
		},
		func() error { _, _, err := cache.Upsert(t.Context(), Cache{ID: "c"}); return err },
		func() error { _, err := cache.Put(t.Context(), Cache{ID: "c"}); return err },
		func() error {
			_, err := cache.Modify(t.Context(), Cache{ID: "c"}, func(c *Cache) error { c.Note = "b"; return nil })
			return err
		},
	} {
		now := h.Clock.Move(30 * time.Second)
		require.NoError(t, write())
		h.ends(t, "ends", now, time.Minute)
	}
	h.Operations()

	h, trial := open[Trial](t)
	f := entity.Fields[Trial]()
	_, _, err = trial.Upsert(t.Context(), Trial{ID: "t"})
	require.NoError(t, err)
	require.Equal(t, []string{"GetItem", "PutItem"}, h.Operations(), "whether created_at changes can only be read")
	h.Clock.Move(day)
	_, _, err = trial.Upsert(t.Context(), Trial{ID: "t", Note: "a"})
	require.NoError(t, err)
	_, err = trial.Put(t.Context(), Trial{ID: "t", Note: "b"})
	require.NoError(t, err)
	h.Operations()
	_, err = trial.Update(t.Context(), Trial{ID: "t"}, entity.Set(&f.Note, "c"))
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem"}, h.Operations())
	h.ends(t, "ends", hour0, 7*day)
}
