package rules_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

type serial string

// ticket has ids of every kind. Its key is one of them.
type ticket struct {
	_ entity.Key `name:"Ticket" pk:"$#{id}"`

	ID     string   `dynamodbav:"id" entity:"id=uuidv7"`
	Number serial   `dynamodbav:"number" entity:"id=ulid,immutable"`
	Mark   [16]byte `dynamodbav:"mark" entity:"id=uuidv7"`
	Seal   [16]byte `dynamodbav:"seal" entity:"id=ulid,set_once"`
	Note   string   `dynamodbav:"note,omitempty"`
}

var (
	uuid7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	ulid  = regexp.MustCompile(`^[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
)

func TestIDs_AreMadeOfTheClockAndNewID(t *testing.T) {
	t.Parallel()
	now, next := time.UnixMilli(0x017F22E279B0), 0
	open := func() *entity.Store[ticket] {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "t", Clock: func() time.Time { return now }, NewID: func() string {
			next++
			return fmt.Sprint(next)
		}}))
		return entity.Must(entity.New[ticket](db))
	}
	first := sha256.Sum256([]byte("1"))
	plan := open().Op().Create(ticket{})
	text := plan.String()
	id := regexp.MustCompile(`id="([^"]+)"`).FindStringSubmatch(text)[1]
	require.Regexp(t, uuid7, id)
	require.Equal(t, "017f22e2-79b0-7", id[:15], "48 bits of the time in milliseconds")
	require.Equal(t, hex.EncodeToString(first[4:10]), id[24:], "the random bits are a digest of what NewID returned")
	number := regexp.MustCompile(`number="([^"]+)"`).FindStringSubmatch(text)[1]
	require.Regexp(t, ulid, number)
	next = 0
	require.Contains(t, open().Op().Create(ticket{}).String(), id, "the same clock and source make the same id")

	now = now.Add(time.Millisecond)
	later := regexp.MustCompile(`number="([^"]+)"`).FindStringSubmatch(open().Op().Create(ticket{}).String())[1]
	require.Less(t, number, later, "a later id sorts after an earlier one")
}

func TestIDs_ByVerb(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[ticket](t)
	old, err := store.Create(b.Ctx, ticket{})
	require.NoError(t, err)
	f := entity.Fields[ticket]()

	put, err := store.Put(b.Ctx, ticket{ID: old.ID, Note: "put"})
	require.NoError(t, err)
	require.Equal(t, []any{old.Number, old.Seal}, []any{put.Number, put.Seal}, "what is written once stays")
	require.NotEqual(t, old.Mark, put.Mark, "a Put replaces an empty id")
	fresh, err := store.Put(b.Ctx, ticket{Note: "put"})
	require.NoError(t, err)
	require.Regexp(t, uuid7, fresh.ID)
	require.Regexp(t, ulid, fresh.Number)

	merged, created, err := store.Upsert(b.Ctx, ticket{ID: old.ID, Note: "upsert"})
	require.NoError(t, err)
	require.False(t, created)
	put.Note = "upsert"
	require.Equal(t, put, merged, "an Upsert leaves an empty id as stored")
	merged, created, err = store.Upsert(b.Ctx, ticket{ID: "chosen"})
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, ticket{ID: "chosen"}, merged, "an Upsert generates none")

	b.Wire.Reset()
	for name, err := range map[string]error{
		"Upsert": dbtest.ErrorOf(store.Upsert(b.Ctx, ticket{Note: "n"})),
		"Get":    dbtest.ErrorOf(store.Get(b.Ctx, ticket{})),
		"Update": dbtest.ErrorOf(store.Update(b.Ctx, ticket{}, entity.Set(&f.Note, "n"))),
		"Modify": dbtest.ErrorOf(store.Modify(b.Ctx, ticket{}, func(*ticket) error { return nil })),
		"Delete": store.Delete(b.Ctx, ticket{}),
	} {
		var wrong *entity.InputError
		require.ErrorAs(t, err, &wrong, name)
		require.Equal(t, "EDD-9101", wrong.Code, name)
	}
	require.Empty(t, b.Operations())
	changed, err := store.Update(b.Ctx, ticket{ID: "chosen"}, entity.Set(&f.Note, "n"))
	require.NoError(t, err)
	require.Equal(t, ticket{ID: "chosen", Note: "n"}, changed)
}

// What a batch did not write comes back with its ids, so that a repetition makes no second item.
func TestIDs_OfABatchComeBackWithWhatWasNotWritten(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[ticket](t, dbtest.Attempts(1))
	b.Wire.Inject(func(faults.Request) faults.Fault { return faults.Lost })
	left, err := store.PutMany(b.Ctx, make([]ticket, 3), entity.Unconditional())
	b.Wire.Inject(nil)
	require.Error(t, err)
	require.Len(t, left, 3)
	require.Len(t, b.Items(), 3)
	for _, v := range left {
		require.Regexp(t, uuid7, v.ID)
	}
	left, err = store.PutMany(b.Ctx, left, entity.Unconditional())
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, b.Items(), 3)
}

// One operation makes one item, whatever happens to its requests.
func TestIDs_ALostAnswerMakesNoSecondItem(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[ticket](t)
	b.Clock.Set(dbtest.Start, time.Millisecond)
	for _, fault := range []faults.Fault{faults.Lost, faults.Throttle, faults.Twice} {
		for name, write := range map[string]func(*dbtest.Bench, *entity.Store[ticket]) (ticket, error){
			"Create": func(b *dbtest.Bench, s *entity.Store[ticket]) (ticket, error) { return s.Create(b.Ctx, ticket{}) },
			"Create idempotent": func(b *dbtest.Bench, s *entity.Store[ticket]) (ticket, error) {
				return s.Create(b.Ctx, ticket{}, entity.Idempotent())
			},
			"Put": func(b *dbtest.Bench, s *entity.Store[ticket]) (ticket, error) { return s.Put(b.Ctx, ticket{}) },
			"Transact": func(b *dbtest.Bench, s *entity.Store[ticket]) (ticket, error) {
				op := s.Op().Create(ticket{})
				err := b.DB.Transact(b.Ctx, op)
				return op.Result(), err
			},
		} {
			b.Wire.Inject(faults.Nth(1, fault))
			made, err := write(b, store)
			require.NoError(t, err, "%v %s", fault, name)
			items := b.Items()
			require.Len(t, items, 1, "%v %s", fault, name)
			require.Equal(t, made.ID, dbtest.Text(items[0]["id"]), "%v %s", fault, name)
			b.RemoveItem(items[0])
		}
	}
}

func TestIDs_AreRefusedUnderTheCallersToken(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[ticket](t)
	token := entity.Token{ID: b.Table}
	err := b.DB.TransactWithToken(b.Ctx, token, store.Op().Create(ticket{}))
	var wrong *entity.InputError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "EDD-9182", wrong.Code)
	require.Empty(t, b.Operations())
	given := ticket{ID: "i", Number: "n", Mark: [16]byte{1}, Seal: [16]byte{1}}
	for range 2 {
		require.NoError(t, b.DB.TransactWithToken(b.Ctx, token, store.Op().Create(given)))
	}
}

func TestIDs_NeedAClockThatTheyCanHold(t *testing.T) {
	t.Parallel()
	for _, at := range []time.Time{{}, time.UnixMilli(-1), time.UnixMilli(1 << 48)} {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "t", Clock: func() time.Time { return at }}))
		store := entity.Must(entity.New[ticket](db))
		_, err := store.Create(t.Context(), ticket{})
		var wrong *entity.InputError
		require.ErrorAs(t, err, &wrong)
		require.Equal(t, "EDD-9181", wrong.Code)
		require.Contains(t, store.Op().Create(ticket{}).String(), "EDD-9181")
		require.Contains(t, store.Op().BatchPut(ticket{}, entity.Unconditional()).String(), "EDD-9181")
	}
	for _, at := range []time.Time{time.UnixMilli(0), time.UnixMilli(1<<48 - 1)} {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "t", Clock: func() time.Time { return at }}))
		store := entity.Must(entity.New[ticket](db))
		_, err := store.Create(t.Context(), ticket{})
		require.ErrorIs(t, err, entity.ErrNoClient)
	}
}

// A completed value has the ids that are stored, so that they can be used before the write.
func TestComplete_GivesWhatIsWritten(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[ticket](t)
	given := ticket{Note: "n"}
	done, err := store.Complete(b.Ctx, given)
	require.NoError(t, err)
	require.Empty(t, b.Sent(), "nothing is read or written")
	require.Equal(t, ticket{Note: "n"}, given)
	require.Regexp(t, uuid7, done.ID)
	require.Regexp(t, ulid, string(done.Number))
	require.NotZero(t, done.Mark)
	again, err := store.Complete(b.Ctx, done)
	require.NoError(t, err)
	require.Equal(t, done, again, "what is complete stays")
	other, err := store.Complete(b.Ctx, given)
	require.NoError(t, err)
	require.NotEqual(t, done.ID, other.ID, "another call is another item")

	second, err := store.Complete(b.Ctx, ticket{Note: done.ID}) // one refers to the other, in one transaction
	require.NoError(t, err)
	require.NoError(t, b.DB.Transact(b.Ctx, store.Op().Create(done), store.Op().Create(second)))
	for _, want := range []ticket{done, second} {
		got, err := store.Get(b.Ctx, want)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	put, err := store.Put(b.Ctx, done)
	require.NoError(t, err)
	require.Equal(t, done, put)
	var none context.Context
	_, err = store.Complete(none, given)
	require.Equal(t, "EDD-9161", dbtest.InputCode(err))
	_, err = new(entity.Store[ticket]).Complete(b.Ctx, given)
	require.Error(t, err)
}
