package rules_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

type state string

// everything has a default of each kind.
type everything struct {
	_ entity.Key `name:"Everything" pk:"$#{id}"`

	ID    string        `dynamodbav:"id"`
	Text  string        `dynamodbav:"text" entity:"default=in progress"`
	State state         `dynamodbav:"state,omitempty" entity:"default=active"`
	Int   int8          `dynamodbav:"int" entity:"default=-128"`
	Uint  uint          `dynamodbav:"uint" entity:"default=7"`
	Float float32       `dynamodbav:"float" entity:"default=1.5"`
	Bool  bool          `dynamodbav:"bool" entity:"default=true"`
	Wait  time.Duration `dynamodbav:"wait" entity:"default=1h30m"`
	At    time.Time     `dynamodbav:"at" entity:"default=2026-01-02T15:04:05Z"`
	IP    net.IP        `dynamodbav:"ip" entity:"text,default=10.0.0.9"`
	Count *int          `dynamodbav:"count" entity:"default=3"`
	Note  *string       `dynamodbav:"note,omitempty" entity:"default=none,secret"`
}

var defaults = everything{
	ID: "x", Text: "in progress", State: "active", Int: -128, Uint: 7, Float: 1.5, Bool: true, Wait: 90 * time.Minute,
	At: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), IP: net.ParseIP("10.0.0.9"), Count: pointer(3), Note: pointer("none"),
}

func TestDefaults_AreOfEveryKind(t *testing.T) {
	b, store := opened[everything](t)
	given := everything{ID: "x"}
	stored := entity.Must(store.Create(b.Ctx, given))
	require.Equal(t, defaults, stored)
	require.Equal(t, everything{ID: "x"}, given, "the caller's value is not changed")
	require.Equal(t, defaults, entity.Must(store.Get(b.Ctx, given, entity.Consistent())))

	chosen := everything{
		ID: "y", Text: "t", State: "s", Int: 1, Uint: 2, Float: 3, Bool: true, Wait: 4, At: dbtest.Start, IP: net.ParseIP("10.0.0.1"),
		Count: pointer(0), Note: pointer(""),
	}
	stored = entity.Must(store.Create(b.Ctx, chosen))
	require.Equal(t, chosen, stored, "a pointer to zero is a value")
}

// order has a default that the verbs treat alike unless it is kept once it is stored.
type order struct {
	_ entity.Key `name:"Order" pk:"$#{region}" sk:"$#{id}"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{id}"`

	Region string `dynamodbav:"region" entity:"default=eu"`
	ID     string `dynamodbav:"id"`
	State  string `dynamodbav:"state,omitempty" entity:"default=open"`
	Source string `dynamodbav:"source" entity:"default=web,immutable"`
	Once   int    `dynamodbav:"once" entity:"default=1,set_once"`
	Hits   int    `dynamodbav:"hits" entity:"default=10"`
	Note   string `dynamodbav:"note,omitempty"`
}

func key(id string) order { return order{Region: "eu", ID: id} }

// putBare stores an order of another program, or of an earlier version of this one: without attributes that have defaults.
func putBare(b *dbtest.Bench, id string) {
	b.PutItem(dbtest.Item{
		"pk": dbtest.S("$app#v1#order#eu"), "sk": dbtest.S("$app#v1#order#" + id), "__edd_e__": dbtest.S("Order"), "_w": dbtest.S("w"),
		"region": dbtest.S("eu"), "id": dbtest.S(id),
	})
}

func TestDefaults_ByVerb(t *testing.T) {
	b, store := opened[order](t)
	made := order{Region: "eu", State: "open", Source: "web", Once: 1, Hits: 10}
	closed := order{Region: "eu", State: "closed", Source: "shop", Once: 5, Hits: 50}
	bare := order{Region: "eu"}
	put := func(v order) error { _, err := store.Put(b.Ctx, v); return err }
	upsert := func(v order) error { _, _, err := store.Upsert(b.Ctx, v); return err }
	transact := func(op func(order) entity.Op) func(order) error {
		return func(v order) error { return b.DB.Transact(b.Ctx, op(v)) }
	}
	o := entity.Fields[order]()
	for name, c := range map[string]struct {
		write                     func(order) error // of a value with an id only
		new, overClosed, overBare *order            // what is stored then; nil: not tried
	}{
		"Create":  {write: func(v order) error { _, err := store.Create(b.Ctx, v); return err }, new: &made},
		"Put":     {put, &made, &order{Region: "eu", State: "open", Source: "shop", Once: 5, Hits: 10}, &made},
		"Upsert":  {upsert, &made, &closed, &made},
		"PutMany": {write: func(v order) error { _, err := store.PutMany(b.Ctx, []order{v}, entity.Unconditional()); return err }, new: &made, overClosed: &made, overBare: &made},
		"BatchPut": {write: func(v order) error {
			_, err := b.DB.BatchWrite(b.Ctx, store.Op().BatchPut(v, entity.Unconditional()))
			return err
		}, new: &made, overClosed: &made, overBare: &made},
		"Op.Create": {write: transact(func(v order) entity.Op { return store.Op().Create(v) }), new: &made},
		"Op.Put":    {transact(func(v order) entity.Op { return store.Op().Put(v) }), &made, &order{Region: "eu", State: "open", Source: "shop", Once: 5, Hits: 10}, &made},
		"Op.Upsert": {transact(func(v order) entity.Op { return store.Op().Upsert(v) }), &made, &closed, &made},
		"Update": {write: func(v order) error { _, err := store.Update(b.Ctx, key(v.ID), entity.Remove(&o.Note)); return err },
			overClosed: &closed, overBare: &bare},
		"Update to zero": {write: func(v order) error { _, err := store.Update(b.Ctx, key(v.ID), entity.Set(&o.Hits, 0)); return err },
			overClosed: &order{Region: "eu", State: "closed", Source: "shop", Once: 5}, overBare: &bare},
		"Modify": {write: func(v order) error {
			_, err := store.Modify(b.Ctx, key(v.ID), func(v *order) error { v.Hits, v.State = 0, ""; return nil })
			return err
		}, overClosed: &order{Region: "eu", Source: "shop", Once: 5}, overBare: &bare},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for place, want := range map[string]*order{"new": c.new, "closed": c.overClosed, "bare": c.overBare} {
				if want == nil {
					continue
				}
				id, want := strings.ReplaceAll(name, " ", "-")+"-"+place, *want
				want.ID = id
				switch place {
				case "closed":
					v := closed
					v.ID = id
					b.OK(store.Create(b.Ctx, v))
				case "bare":
					putBare(b, id)
				}
				require.NoError(t, c.write(order{ID: id}), place)
				got, err := store.Get(b.Ctx, key(id), entity.Consistent())
				require.NoError(t, err, place)
				require.Equal(t, want, got, place)
				found := b.Item("$app#v1#order#eu", "$app#v1#order#"+id)
				if want.State == "" {
					require.NotContains(t, found, "gsi1pk", place)
				} else {
					require.Equal(t, "$app#v1#order#"+want.State, dbtest.Text(found["gsi1pk"]), "the index key follows the default: %s", place)
				}
			}
		})
	}
}

func TestDefaults_OfAKeyPartAreForWritesOfWholeValues(t *testing.T) {
	b, store := opened[order](t)
	o := entity.Fields[order]()
	for name, err := range map[string]error{
		"Get":    dbtest.ErrorOf(store.Get(b.Ctx, order{ID: "x"})),
		"Update": dbtest.ErrorOf(store.Update(b.Ctx, order{ID: "x"}, entity.Set(&o.Note, "n"))),
		"Delete": store.Delete(b.Ctx, order{ID: "x"}),
	} {
		require.Equal(t, "EDD-9101", dbtest.As[*entity.InputError](t, err, name).Code, name)
	}
	require.Empty(t, b.Operations())
}

func TestDefaults_OfASecretAreHidden(t *testing.T) {
	db := onPaper(t)
	store := entity.Must(entity.New[everything](db))
	require.NotContains(t, store.Op().Create(everything{ID: "x"}).String(), "none")
	require.NotContains(t, store.Op().Upsert(everything{ID: "x"}).String(), "none")
}

// A nil pointer is stored as NULL where the tag has no omitempty. That is a stored value, which an upsert keeps.
func TestDefaults_UpsertKeepsNull(t *testing.T) {
	b, store := opened[everything](t)
	b.PutItem(dbtest.Item{"pk": dbtest.S("$app#v1#everything#x"), "id": dbtest.S("x"), "__edd_e__": dbtest.S("Everything"), "_w": dbtest.S("w"),
		"count": &types.AttributeValueMemberNULL{Value: true}})
	v, _, err := store.Upsert(b.Ctx, everything{ID: "x"})
	require.NoError(t, err)
	want := defaults
	want.Count = nil
	require.Equal(t, want, v)
}

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
	first, plan := sha256.Sum256([]byte("1")), open().Op().Create(ticket{})
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
	b, store := opened[ticket](t)
	old, f := entity.Must(store.Create(b.Ctx, ticket{})), entity.Fields[ticket]()

	put := entity.Must(store.Put(b.Ctx, ticket{ID: old.ID, Note: "put"}))
	require.Equal(t, []any{old.Number, old.Seal}, []any{put.Number, put.Seal}, "what is written once stays")
	require.NotEqual(t, old.Mark, put.Mark, "a Put replaces an empty id")
	fresh := entity.Must(store.Put(b.Ctx, ticket{Note: "put"}))
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
		require.Equal(t, "EDD-9101", dbtest.As[*entity.InputError](t, err, name).Code, name)
	}
	require.Empty(t, b.Operations())
	require.Equal(t, ticket{ID: "chosen", Note: "n"}, entity.Must(store.Update(b.Ctx, ticket{ID: "chosen"}, entity.Set(&f.Note, "n"))))
}

// What a batch did not write comes back with its ids, so that a repetition makes no second item.
func TestIDs_OfABatchComeBackWithWhatWasNotWritten(t *testing.T) {
	b, store := opened[ticket](t, dbtest.Attempts(1))
	b.Wire.Inject(func(faults.Request) faults.Fault { return faults.Lost })
	left, err := store.PutMany(b.Ctx, make([]ticket, 3), entity.Unconditional())
	b.Wire.Inject(nil)
	require.Error(t, err)
	require.Len(t, left, 3)
	require.Len(t, b.Items(), 3)
	for _, v := range left {
		require.Regexp(t, uuid7, v.ID)
	}
	left = entity.Must(store.PutMany(b.Ctx, left, entity.Unconditional()))
	require.Empty(t, left)
	require.Len(t, b.Items(), 3)
}

// One operation makes one item, whatever happens to its requests.
func TestIDs_ALostAnswerMakesNoSecondItem(t *testing.T) {
	b, store := opened[ticket](t)
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
	b, store := opened[ticket](t)
	token := entity.Token{ID: b.Table}
	err := b.DB.TransactWithToken(b.Ctx, token, store.Op().Create(ticket{}))
	require.Equal(t, "EDD-9182", dbtest.As[*entity.InputError](t, err).Code)
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
		require.Equal(t, "EDD-9181", dbtest.As[*entity.InputError](t, err).Code)
		require.Contains(t, store.Op().Create(ticket{}).String(), "EDD-9181")
		require.Contains(t, store.Op().BatchPut(ticket{}, entity.Unconditional()).String(), "EDD-9181")
	}
	for _, at := range []time.Time{time.UnixMilli(0), time.UnixMilli(1<<48 - 1)} {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "t", Clock: func() time.Time { return at }}))
		store := entity.Must(entity.New[ticket](db))
		require.ErrorIs(t, dbtest.ErrorOf(store.Create(t.Context(), ticket{})), entity.ErrNoClient)
	}
}

// A completed value has the ids that are stored, so that they can be used before the write.
func TestComplete_GivesWhatIsWritten(t *testing.T) {
	b, store := opened[ticket](t)
	given := ticket{Note: "n"}
	done := entity.Must(store.Complete(b.Ctx, given))
	require.Empty(t, b.Sent(), "nothing is read or written")
	require.Equal(t, ticket{Note: "n"}, given)
	require.Regexp(t, uuid7, done.ID)
	require.Regexp(t, ulid, string(done.Number))
	require.NotZero(t, done.Mark)
	require.Equal(t, done, entity.Must(store.Complete(b.Ctx, done)), "what is complete stays")
	require.NotEqual(t, done.ID, entity.Must(store.Complete(b.Ctx, given)).ID, "another call is another item")

	second := entity.Must(store.Complete(b.Ctx, ticket{Note: done.ID})) // one refers to the other, in one transaction
	require.NoError(t, b.DB.Transact(b.Ctx, store.Op().Create(done), store.Op().Create(second)))
	for _, want := range []ticket{done, second} {
		require.Equal(t, want, entity.Must(store.Get(b.Ctx, want)))
	}
	require.Equal(t, done, entity.Must(store.Put(b.Ctx, done)))
	var none context.Context
	require.Equal(t, "EDD-9161", dbtest.InputCode(dbtest.ErrorOf(store.Complete(none, given))))
	require.Error(t, dbtest.ErrorOf(new(entity.Store[ticket]).Complete(b.Ctx, given)))
}
