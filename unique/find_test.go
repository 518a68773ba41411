package unique_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
)

// swapping is a value that two items hand to each other while it is looked for.
func swapping(t *testing.T, attempts int) (b *lab, find func() (Person, error), swap func()) {
	t.Helper()
	b = newLab(t)
	_, _ = prepare[Person](t, b, "email")
	wire := faults.New(b.Raw.Options().HTTPClient)
	db := b.Open(b.Through(wire))
	s := entity.Must(entity.New[Person](db))
	ctx, f := t.Context(), entity.Fields[Person]()
	entity.Must(s.Create(ctx, Person{ID: "p", Email: "x"}))
	entity.Must(s.Create(ctx, Person{ID: "q"}))
	has, hasNot := "p", "q"
	swap = func() {
		require.NoError(t, db.Transact(ctx,
			s.Op().Update(Person{ID: has}, entity.Remove(&f.Email)), s.Op().Update(Person{ID: hasNot}, entity.Set(&f.Email, "x"))))
		has, hasNot = hasNot, has
	}
	looking := faults.New(b.Raw.Options().HTTPClient)
	seeker := entity.Must(entity.New[Person](b.Open(b.Through(looking), dbtest.Attempts(attempts))))
	l := entity.Must(unique.Of(seeker, "email"))
	b.Wire = looking
	return b, func() (Person, error) { return l.Find(ctx, Person{Email: "x"}) }, swap
}

// A value that always has an owner is never not found.
func TestFind_OfAValueThatChangesHands(t *testing.T) {
	t.Parallel()
	get, both := "GetItem", "TransactGetItems"
	for name, c := range map[string]struct {
		attempts int
		swaps    func(request int) bool // whether the value changes hands before a request
		err      error
		requests []string
	}{
		"always to the item that is not looked at": {4, func(n int) bool { return n == 2 || n >= 4 }, entity.ErrConflict, []string{get, get, both, both, both, both}},
		"twice": {0, func(n int) bool { return n == 2 || n == 4 }, nil, []string{get, get, both, both, both}},
		"not":   {0, func(int) bool { return false }, nil, []string{get, get}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, find, swap := swapping(t, c.attempts)
			n := 0
			b.Wire.Inject(func(faults.Request) faults.Fault {
				if n++; c.swaps(n) {
					swap()
				}
				return faults.None
			})
			got, err := find()
			require.ErrorIs(t, err, c.err)
			require.NotErrorIs(t, err, entity.ErrNotFound)
			if err == nil {
				require.Equal(t, Person{ID: "p", Email: "x"}, got)
			}
			require.Equal(t, c.requests, b.Operations())
		})
	}
}

type listed struct {
	_ entity.Key        `name:"Listed" pk:"$#{id}" sk:"$"`
	_ entity.GSI        `name:"byMail" index:"gsi1" pk:"$#{mail}" sk:"$#{id}"`
	_ unique.Constraint `name:"mail" fields:"mail"`

	ID   string `dynamodbav:"id"`
	Mail string `dynamodbav:"mail"`
}

func TestErrors_HideUniqueValuesInKeysOfIndexes(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[listed](t)
	q := entity.Must(s.Index("byMail")).Query(listed{Mail: "ada@x"})
	_, err := q.One(b.Ctx)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.ErrorContains(t, err, "gsi1pk = <hidden>")
	require.Contains(t, q.String(), "ada@x", "a plan shows what is sent")
}
