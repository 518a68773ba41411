package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Versioned payloads are stamped on whole items only.
type Payload struct {
	_ entity.Key `name:"Payload" pk:"$#{id}" sk:"$" payload:"3"`

	ID   string `dynamodbav:"id"`
	Note string `dynamodbav:"note,omitempty"`
}

func TestPayload_IsStampedByWholeWritesAndLeftAloneByUpdate(t *testing.T) {
	t.Parallel()
	l, s := open[Payload](t)
	key := keys("pk", "$app#v1#payload#a", "sk", "$app#v1#payload")
	_, err := s.Create(t.Context(), Payload{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, "N3", l.stored(t, key)["_pv"])

	l.patch(t, key, "_pv", num("2")) // as written by an older program
	_, err = s.Update(t.Context(), Payload{ID: "a"}, entity.Set(&entity.Fields[Payload]().Note, "x"))
	require.NoError(t, err)
	require.Equal(t, "N2", l.stored(t, key)["_pv"])
	_, _, err = s.Upsert(t.Context(), Payload{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, "N3", l.stored(t, key)["_pv"])
}

func TestConfig_NamesOfNamespaceAndKeyAttributes(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t, func(c *entity.Config) {
		c.Namespace, c.PK, c.SK = entity.Namespace{Name: "Shop", Version: 3}, "hash", "range"
	})
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	_, err = s.Create(t.Context(), alice())
	require.ErrorIs(t, err, entity.ErrExists, "the guard names the configured attribute")
	it := l.stored(t, keys("hash", "$Shop#v3#employee#emp-alice", "range", "$Shop#v3#employee"))
	require.Equal(t, `S"$Shop#v3#employee#t-acme"`, it["gsi1hash"])
	require.Equal(t, `S"$Shop#v3#employee#Engineering#emp-alice"`, it["gsi1range"])
	require.NotContains(t, it, "pk")
}

func TestNamed_StoresOfOneStructDoNotMeet(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	red, blue := declare[Team](t, l.db, entity.Named("Red")), declare[Team](t, l.db, entity.Named("Blue"))
	l.create(t)
	_, err := red.Create(t.Context(), Team{ID: "1"})
	require.NoError(t, err)
	_, err = blue.Get(t.Context(), Team{ID: "1"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, `S"Red"`, l.stored(t, keys("pk", "$app#v1#red#1", "sk", "$app#v1#red"))["__edd_e__"])
	same, err := entity.New[Team](l.db, entity.Named("Red"))
	require.NoError(t, err)
	require.Same(t, red, same)
}
