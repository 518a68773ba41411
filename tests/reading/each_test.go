package reading_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/query"
)

// mixed stores tasks and errands of one owner, whose ranks alternate and repeat, and returns their places in the index.
func (l *lab) mixed(t *testing.T) (order []string) {
	l.fill(12)
	for i := range 8 {
		l.OK(l.errands.Create(l.Ctx, errand{ID: fmt.Sprint("e", i), Owner: "ada", Rank: i / 2}))
	}
	l.OK(l.errands.Create(l.Ctx, errand{ID: "other", Owner: "bob", Rank: 1}))
	out, err := l.Raw.Query(l.Ctx, &dynamodb.QueryInput{
		TableName: &l.Table, IndexName: aws.String("gsi2"), KeyConditionExpression: aws.String("gsi2pk = :p"),
		ExpressionAttributeValues: dbtest.Item{":p": dbtest.S("OWNER#ada")},
	})
	require.NoError(t, err)
	for _, it := range out.Items {
		pk, sk := l.KeyOf(it)
		order = append(order, pk+" "+sk)
	}
	l.Wire.Reset()
	return order
}

func taskPlace(v task) string     { return fmt.Sprintf("$r#v1#task#%s $r#v1#task#%019d", v.Project, v.ID) }
func errandPlace(v errand) string { return "$r#v1#errand#" + v.ID + " $r#v1#errand" }

func TestEach_VisitsEveryTypeInTheOrderOfTheKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	want := l.mixed(t)
	require.Len(t, want, 20)
	errands := entity.Must(l.errands.Index("byOwner"))
	e := entity.Fields[task]()
	var seen []string
	task1 := func(v task) error { seen = append(seen, taskPlace(v)); return nil }
	errand1 := func(v errand) error { seen = append(seen, errandPlace(v)); return nil }
	require.NoError(t, l.DB.Each(l.Ctx, entity.Visit(l.byOwner.Query(task{Owner: "ada"}), task1), entity.Visit(errands.Query(errand{Owner: "ada"}), errand1)))
	require.Equal(t, want, seen)
	require.Equal(t, []string{"Query"}, l.Operations(), "one pass")

	seen = nil
	require.NoError(t, l.DB.Each(l.Ctx, entity.Visit(l.byOwner.Query(task{Owner: "ada"}, entity.Desc()), task1), entity.Visit(errands.Query(errand{Owner: "ada"}, entity.Desc()), errand1)))
	require.Len(t, seen, 20)
	for i, place := range seen {
		require.Equal(t, want[len(want)-1-i], place)
	}

	// Each query keeps its own bounds, and an item can go to several.
	counts := [3]int{}
	require.NoError(t, l.DB.Each(l.Ctx,
		entity.Visit(l.byOwner.Query(task{Owner: "ada"}, entity.Limit(3)), func(task) error { counts[0]++; return nil }),
		entity.Visit(l.byOwner.Query(task{Owner: "ada"}, entity.Ge(&e.Rank, 2), entity.Filter(entity.Eq(&e.Title, "title 1"))), func(v task) error { counts[1]++; return nil }),
		entity.Visit(errands.Query(errand{Owner: "ada"}, entity.Limit(1)), func(errand) error { counts[2]++; return nil }),
	))
	require.Equal(t, [3]int{3, 3, 1}, counts)
}

// What one entity has in a partition of the table is read together with its neighbours.
func TestEach_EndsWithAnErrorOrWithErrStop(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.mixed(t)
	failure, n := errors.New("enough"), 0
	q := l.byOwner.Query(task{Owner: "ada"})
	err := l.DB.Each(l.Ctx, entity.Visit(q, func(task) error {
		if n++; n == 4 {
			return failure
		}
		return nil
	}))
	require.ErrorIs(t, err, failure)
	var verb *entity.Error
	require.ErrorAs(t, err, &verb)
	require.Equal(t, []string{"Each", "Task"}, []string{verb.Verb, verb.Entity})
	require.Equal(t, 4, n)
	n = 0
	require.NoError(t, l.DB.Each(l.Ctx, entity.Visit(q, func(task) error {
		n++
		return fmt.Errorf("as asked: %w", entity.ErrStop)
	})))
	require.Equal(t, 1, n)
}

func TestEach_Refuses(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := newLab(t)
	visit := func(task) error { return nil }
	for _, c := range []struct {
		code  string
		parts []query.VisitPart
	}{
		{"EDD-9127", nil},
		{"EDD-9127", []query.VisitPart{entity.Visit(l.byOwner.Query(task{Owner: "ada"}), nil)}},
		{"EDD-9127", []query.VisitPart{entity.Visit(l.tasks.Scan(), visit)}},
		{"EDD-9127", []query.VisitPart{entity.Visit(l.byOwner.QueryAny([]task{{Owner: "ada"}}), visit)}},
		{"EDD-9127", []query.VisitPart{entity.Visit(entity.Query[task](nil), visit)}},
		{"EDD-9114", []query.VisitPart{nil}},
		{"EDD-9114", []query.VisitPart{entity.Visit(other.byOwner.Query(task{Owner: "ada"}), visit)}},
		{"EDD-9126", []query.VisitPart{entity.Visit(l.byOwner.Query(task{Owner: "ada"}), visit), entity.Visit(l.byOwner.Query(task{Owner: "bob"}), visit)}},
		{"EDD-9108", []query.VisitPart{entity.Visit(l.byOwner.Query(task{Owner: "ada"}, entity.MaxRequests(3)), visit)}},
		{"EDD-9165", []query.VisitPart{entity.Visit(l.byOwner.Query(task{Owner: "ada"}, entity.Hydrate()), visit)}},
		{"EDD-9101", []query.VisitPart{entity.Visit(l.byOwner.Query(task{}), visit)}},
	} {
		require.Equal(t, c.code, dbtest.InputCode(l.DB.Each(l.Ctx, c.parts...)))
	}
	require.Empty(t, l.Operations())
}
