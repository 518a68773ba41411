package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestQuery_Mistakes(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	byOwner, err := s.Index("byOwner")
	require.NoError(t, err)
	key := Task{Project: "p"}
	for name, c := range map[string]struct {
		query entity.Query[Task]
		code  string
		field string
	}{
		"part without the one before":       {s.Query(Task{Project: "p", Priority: 1}), "EDD-9004", "Priority"},
		"last part alone":                   {s.Query(Task{Project: "p", Status: "s", TaskID: "t"}), "EDD-9004", "TaskID"},
		"range skips a part":                {s.Query(key, entity.Gt(&f.Priority, 1)), "EDD-9004", "Priority"},
		"Eq skips a part":                   {s.Query(key, entity.Eq(&f.TaskID, "t")), "EDD-9004", "TaskID"},
		"range on a fixed part":             {s.Query(Task{Project: "p", Status: "s"}, entity.Gt(&f.Status, "a")), "EDD-9004", "Status"},
		"two ranges":                        {s.Query(key, entity.Ge(&f.Status, "a"), entity.BeginsWith(&f.Status, "b")), "EDD-9004", "Status"},
		"range after a range":               {s.Query(key, entity.Ge(&f.Status, "a"), entity.Eq(&f.Priority, 1)), "EDD-9004", "Priority"},
		"field outside the key":             {s.Query(Task{Project: "p", Title: "x"}), "EDD-9006", "Title"},
		"condition outside the key":         {s.Query(key, entity.Eq(&f.Title, "x")), "EDD-9006", "Title"},
		"condition on the partition key":    {s.Query(key, entity.Eq(&f.Project, "p")), "EDD-9006", "Project"},
		"Or as a range":                     {s.Query(key, entity.Or(entity.Eq(&f.Status, "a"), entity.Eq(&f.Status, "b"))), "EDD-9006", ""},
		"Ne as a range":                     {s.Query(key, entity.Ne(&f.Status, "a")), "EDD-9006", ""},
		"In as a range":                     {s.Query(key, entity.In(&f.Status, "a")), "EDD-9006", ""},
		"Exists as a range":                 {s.Query(key, entity.Exists(&f.Status)), "EDD-9006", ""},
		"index without its partition":       {byOwner.Query(Task{Project: "p"}), "EDD-9101", "Owner"},
		"table's key given to an index":     {byOwner.Query(Task{Owner: "o", Project: "p"}), "EDD-9006", "Project"},
		"table's part ranged in an index":   {byOwner.Query(Task{Owner: "o"}, entity.Gt(&f.Status, "a")), "EDD-9006", "Status"},
		"consistent read of a global index": {byOwner.Query(Task{Owner: "o"}, entity.Consistent()), "EDD-9108", ""},
		"negative lead":                     {s.Query(Task{Project: "p", Status: "s", Priority: -1}), "EDD-9102", "Priority"},
		"pointer of another struct":         {s.Query(key, entity.Gt(&entity.Fields[Profile]().Note, "a")), "EDD-9105", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.query.Collect(t.Context())
			l.requireRefused(t, err, c.code, c.field)
			_, err = c.query.First(t.Context())
			l.requireRefused(t, err, c.code, c.field)
			_, err = c.query.One(t.Context())
			l.requireRefused(t, err, c.code, c.field)
			_, err = c.query.Page(t.Context(), "")
			l.requireRefused(t, err, c.code, c.field)
			_, err = c.query.Count(t.Context())
			l.requireRefused(t, err, c.code, c.field)
			require.NotEmpty(t, c.query.String(), "a wrong query prints what is wrong")
		})
	}
	_, err = s.Index("gsi1")
	var unknown *entity.SchemaError
	require.ErrorAs(t, err, &unknown, "an index is found by its accessor")
	require.Equal(t, "EDD-9051", unknown.Code)
}
