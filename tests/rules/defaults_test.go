package rules_test

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/schemalock"
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
	t.Parallel()
	b, store := dbtest.OpenStore[everything](t)
	given := everything{ID: "x"}
	stored, err := store.Create(b.Ctx, given)
	require.NoError(t, err)
	require.Equal(t, defaults, stored)
	require.Equal(t, everything{ID: "x"}, given, "the caller's value is not changed")
	read, err := store.Get(b.Ctx, given, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, defaults, read)

	chosen := everything{
		ID: "y", Text: "t", State: "s", Int: 1, Uint: 2, Float: 3, Bool: true, Wait: 4, At: dbtest.Start, IP: net.ParseIP("10.0.0.1"),
		Count: pointer(0), Note: pointer(""),
	}
	stored, err = store.Create(b.Ctx, chosen)
	require.NoError(t, err)
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
	t.Parallel()
	b, store := dbtest.OpenStore[order](t)
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
	t.Parallel()
	b, store := dbtest.OpenStore[order](t)
	o := entity.Fields[order]()
	for name, err := range map[string]error{
		"Get":    dbtest.ErrorOf(store.Get(b.Ctx, order{ID: "x"})),
		"Update": dbtest.ErrorOf(store.Update(b.Ctx, order{ID: "x"}, entity.Set(&o.Note, "n"))),
		"Delete": store.Delete(b.Ctx, order{ID: "x"}),
	} {
		var wrong *entity.InputError
		require.ErrorAs(t, err, &wrong, name)
		require.Equal(t, "EDD-9101", wrong.Code, name)
	}
	require.Empty(t, b.Operations())
}

func TestDefaults_OfASecretAreHidden(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	store := entity.Must(entity.New[everything](db))
	require.NotContains(t, store.Op().Create(everything{ID: "x"}).String(), "none")
	require.NotContains(t, store.Op().Upsert(everything{ID: "x"}).String(), "none")
}

// A nil pointer is stored as NULL where the tag has no omitempty. That is a stored value, which an upsert keeps.
func TestDefaults_UpsertKeepsNull(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[everything](t)
	b.PutItem(dbtest.Item{"pk": dbtest.S("$app#v1#everything#x"), "id": dbtest.S("x"), "__edd_e__": dbtest.S("Everything"), "_w": dbtest.S("w"),
		"count": &types.AttributeValueMemberNULL{Value: true}})
	v, _, err := store.Upsert(b.Ctx, everything{ID: "x"})
	require.NoError(t, err)
	want := defaults
	want.Count = nil
	require.Equal(t, want, v)
}

// plain is stored as order is.
type bareOrder struct {
	_ entity.Key `name:"Order" pk:"$#{region}" sk:"$#{id}"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{id}"`

	Region string `dynamodbav:"region"`
	ID     string `dynamodbav:"id" entity:"id=ulid"`
	State  string `dynamodbav:"state,omitempty"`
	Source string `dynamodbav:"source" entity:"immutable"`
	Once   int    `dynamodbav:"once" entity:"set_once"`
	Hits   int    `dynamodbav:"hits"`
	Note   string `dynamodbav:"note,omitempty"`
}

func TestDefaults_AreNotInTheSchemaLock(t *testing.T) {
	t.Parallel()
	with, without := entity.Must(entity.Open(nil, entity.Config{Table: "t"})), entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	dbtest.Declare[order](t, with)
	dbtest.Declare[bareOrder](t, without)
	require.Equal(t, schemalock.Of(without).String(), schemalock.Of(with).String())
}
