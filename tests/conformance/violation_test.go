package conformance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

const taken = "taken-value@example.com"

// Each verb that brings a value which another item has fails with the owner of the value, and writes nothing; the value
// itself is in no text of the error.
func TestViolation_NamesTheOwnerAndNeverTheValue(t *testing.T) {
	t.Parallel()
	t.Run("kept", func(t *testing.T) { violations(t, newBench[u1VRetainSFree](t)) })
	t.Run("locked", func(t *testing.T) { violations(t, newBench[u2VLockSFreeTTL](t)) })
}

func violations[T any](t *testing.T, b *bench[T]) {
	owner := as[T](Person{ID: "owner"})
	_, err := b.quiet.Create(t.Context(), as[T](Person{ID: "owner", Tenant: "t", Email: taken}))
	require.NoError(t, err)
	f := fields[T]()
	with := func(state string) Person {
		p := b.item(t, state)
		p.Email = taken
		return p
	}
	history, _ := versioned.Of(b.s)
	cases := map[string]func() entity.Write[T]{
		"Create":         func() entity.Write[T] { return b.s.Op().Create(as[T](with(absent))) },
		"Put, absent":    func() entity.Write[T] { return b.s.Op().Put(as[T](with(absent))) },
		"Put, live":      func() entity.Write[T] { return b.s.Op().Put(as[T](with(live))) },
		"Upsert, absent": func() entity.Write[T] { return b.s.Op().Upsert(as[T](with(absent))) },
		"Upsert, live":   func() entity.Write[T] { return b.s.Op().Upsert(as[T](with(live))) },
		"Update":         func() entity.Write[T] { return b.s.Op().Update(as[T](with(live)), entity.Set(&f.Email, taken)) },
		"Update, by path": func() entity.Write[T] {
			return b.s.Op().Update(as[T](with(live)), entity.Attr[string]("email").Set(taken))
		},
		"Restore": func() entity.Write[T] {
			p := b.item(t, deleted)
			_, err := b.quiet.Update(t.Context(), owner, entity.Set(&f.Email, p.Email))
			require.NoError(t, err)
			return b.bin.Op().Restore(as[T](p))
		},
	}
	if history != nil {
		cases["Revert"] = func() entity.Write[T] {
			p := b.item(t, live)
			b.l.Clock.Move(time.Second)
			_, err := b.quiet.Update(t.Context(), as[T](p), entity.Set(&f.Email, "x"+p.Email))
			require.NoError(t, err)
			_, err = b.quiet.Update(t.Context(), owner, entity.Set(&f.Email, p.Email))
			require.NoError(t, err)
			return history.Op().Revert(as[T](p), 1)
		}
	}
	for name, op := range cases {
		for _, joined := range []bool{false, true} {
			w := op()
			before := b.l.ItemsByKey()
			var err error
			if joined {
				err = runJoined(b.l, w)
			} else {
				err = runAlone(t, w)
			}
			var violation *unique.ViolationError
			require.ErrorAs(t, err, &violation, name)
			require.Equal(t, unique.ViolationError{Constraint: "email", Owner: unique.Owner{PK: "$app#v1#person#owner", SK: personSK}}, *violation, name)
			require.Equal(t, before, b.l.ItemsByKey(), "%s has written something", name)
			for _, format := range []string{"%v", "%+v", "%#v", "%q"} {
				require.NotContains(t, fmt.Sprintf(format, err), "@", name)
			}
			_, image := entity.StoredItem[T](err)
			require.False(t, image, "a sentinel is no item of the entity")
			_, err = b.quiet.Update(t.Context(), owner, entity.Set(&f.Email, taken))
			require.NoError(t, err)
		}
	}
	_, err = b.s.Modify(t.Context(), as[T](b.item(t, live)), func(v *T) error {
		person(v).Email = taken
		return nil
	})
	var violation *unique.ViolationError
	require.ErrorAs(t, err, &violation)
	require.NotContains(t, fmt.Sprintf("%+v", err), "@")
}
