package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

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

func TestTTL_FollowsATimeInTheSameRequest(t *testing.T) {
	t.Parallel()
	h, s := open[Lease](t)
	ctx, f, key := t.Context(), entity.Fields[Lease](), Lease{ID: "l"}
	minute := func(n int) time.Time { return hour0.Add(time.Duration(n) * time.Minute) }
	end := func(n int) time.Time { return minute(n).Add(time.Hour) }
	seen := func(n int) entity.UpdateOption { return entity.Set(&f.Seen, minute(n)) }
	own := hour0.Add(day)
	h.run(t, "ends", []change{
		{"Create", func() error { return second(s.Create(ctx, Lease{ID: "l", Seen: minute(1), Note: "n"})) }, put, end(1)},
		{"Update of the time", func() error {
			got, err := s.Update(ctx, key, seen(2))
			require.Equal(t, end(2).Unix(), got.Ends)
			return err
		}, update, end(2)},
		{"Update of another field", func() error { return second(s.Update(ctx, key, entity.Set(&f.Note, "m"))) }, update, end(2)},
		{"Upsert with the time", func() error { return third(s.Upsert(ctx, Lease{ID: "l", Seen: minute(3)})) }, update, end(3)},
		{"Upsert without it", func() error { return third(s.Upsert(ctx, Lease{ID: "l", Note: "left alone"})) }, update, end(3)},
		{"Put", func() error { return second(s.Put(ctx, Lease{ID: "l", Seen: minute(4)})) }, update, end(4)},
		{"Modify", func() error {
			return second(s.Modify(ctx, key, func(l *Lease) error { l.Seen = minute(5); return nil }))
		}, getPut, end(5)},
		{"Touch", func() error { h.Clock.Set(minute(15), 0); return second(s.Touch(ctx, key, &f.Seen, time.Minute)) }, update, end(15)},
		{"Transact", func() error { return h.DB.Transact(ctx, s.Op().Update(key, seen(16))) }, update, end(16)},
	})
	require.Contains(t, h.Items()[0], "gsi1sk", "the index follows")
	h.run(t, "ends", []change{
		{"an end that the caller gives", func() error { return second(s.Update(ctx, key, seen(17), entity.Set(&f.Ends, own.Unix()))) }, nil, own},
		{"another field, which keeps it", func() error { return second(s.Update(ctx, key, entity.Set(&f.Note, "stays"))) }, nil, own},
		{"the time, which replaces it", func() error { return second(s.Update(ctx, key, seen(18))) }, update, end(18)},
		// The index key, which is removed too, is composed from the stored item.
		{"no time any more", func() error { return second(s.Update(ctx, key, entity.Remove(&f.Seen))) }, getPut, time.Time{}},
		{"an end removed on purpose", func() error { return second(s.Update(ctx, key, seen(0), entity.Remove(&f.Ends))) }, nil, time.Time{}},
		{"Put without a time", func() error { return second(s.Put(ctx, key)) }, update, time.Time{}},
	})
}

func TestTTL_AChangeOtherThanSetReadsFirst(t *testing.T) {
	t.Parallel()
	h, s := open[Counter](t)
	ctx, f, key := t.Context(), entity.Fields[Counter](), Counter{ID: "c"}
	at, zero := uint64(hour0.Unix()), uint64(0)
	h.run(t, "ends", []change{
		{"Create", func() error { return second(s.Create(ctx, key)) }, nil, time.Time{}},
		{"once", func() error { return second(s.Update(ctx, key, entity.SetIfNotExists(&f.Once, &at))) }, getPut, hour0.Add(time.Hour)},
		{"add", func() error { return second(s.Update(ctx, key, entity.Add(f.Once, 60))) }, getPut, hour0.Add(time.Hour + time.Minute)},
		{"zero is no time", func() error { return second(s.Update(ctx, key, entity.Set(&f.Once, &zero))) }, nil, time.Time{}},
	})
}

func TestTTL_FollowsTheTimesThatTheLibraryKeeps(t *testing.T) {
	t.Parallel()
	h, cache := open[Cache](t)
	ctx, c, key := t.Context(), entity.Fields[Cache](), Cache{ID: "c"}
	for n, write := range []func() error{
		func() error { return second(cache.Create(ctx, key)) },
		func() error { return second(cache.Update(ctx, key, entity.Set(&c.Note, "a"))) },
		func() error { return third(cache.Upsert(ctx, key)) },
		func() error { return second(cache.Put(ctx, key)) },
		func() error {
			return second(cache.Modify(ctx, key, func(c *Cache) error { c.Note = "b"; return nil }))
		},
	} {
		now := h.Clock.Move(30 * time.Second)
		h.run(t, "ends", []change{{fmt.Sprint("write ", n), write, nil, now.Add(time.Minute)}})
	}

	h, trial := open[Trial](t)
	f, end := entity.Fields[Trial](), hour0.Add(7*day)
	h.run(t, "ends", []change{
		{"whether created_at changes can only be read", func() error { return third(trial.Upsert(ctx, Trial{ID: "t"})) }, getPut, end},
		{"Upsert", func() error { h.Clock.Move(day); return third(trial.Upsert(ctx, Trial{ID: "t", Note: "a"})) }, nil, end},
		{"Put", func() error { return second(trial.Put(ctx, Trial{ID: "t", Note: "b"})) }, nil, end},
		{"Update", func() error { return second(trial.Update(ctx, Trial{ID: "t"}, entity.Set(&f.Note, "c"))) }, update, end},
	})
}
