package entity_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// ids returns the task ids in order.
func ids(tasks []Task) []string { return each(tasks, func(t Task) string { return t.TaskID }) }

// fill stores tasks, and returns them in the order of the sort key.
func fill(t *testing.T, l *lab, s *entity.Store[Task], tasks ...Task) []Task {
	t.Helper()
	require.Empty(t, entity.Must(s.PutMany(t.Context(), tasks, entity.Unconditional())))
	l.Sent()
	return slices.SortedFunc(slices.Values(tasks), func(a, b Task) int {
		return slices.Compare([]string{a.Status, fmt.Sprintf("%03d", a.Priority), a.TaskID}, []string{b.Status, fmt.Sprintf("%03d", b.Priority), b.TaskID})
	})
}

// crowd is a project whose parts begin with each other, and hold the bytes that keys are made of.
func crowd() []Task {
	var all []Task
	for _, status := range []string{"o", "open", "open ", "open#", "open$", "open%", "opened", "opfn", "p", "Open"} {
		for _, priority := range []int{1, 2, 10} {
			for _, id := range []string{"t", "t#", "t1", "t10", "u"} {
				all = append(all, Task{Project: "p1", Status: status, Priority: priority, TaskID: id})
			}
		}
	}
	return all
}

func TestQuery_FirstAndOne(t *testing.T) {
	l, s := open[Task](t)
	all, f := fill(t, l, s, crowd()...), entity.Fields[Task]()
	require.Equal(t, all[0], entity.Must(s.Query(Task{Project: "p1"}).First(t.Context())))
	last := entity.Must(s.Query(Task{Project: "p1"}, entity.Desc()).First(t.Context()))
	require.Equal(t, all[len(all)-1], last)
	require.Equal(t, []string{"Query", "Query"}, l.Operations(), "one request each")

	one := entity.Must(s.Query(Task{Project: "p1", Status: "open", Priority: 2}, entity.BeginsWith(&f.TaskID, "u")).One(t.Context()))
	require.Equal(t, "u", one.TaskID)
	_, err := s.Query(Task{Project: "p1", Status: "open", Priority: 2}, entity.BeginsWith(&f.TaskID, "t")).One(t.Context())
	require.ErrorIs(t, err, entity.ErrMultipleItems)
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "Task", e.Entity)
	for _, q := range []entity.Query[Task]{s.Query(Task{Project: "none"}), s.Query(Task{Project: "p1"}, entity.Filter(entity.Eq(&f.Title, "none")))} {
		_, err = q.First(t.Context())
		require.ErrorIs(t, err, entity.ErrNotFound)
		_, err = q.One(t.Context())
		require.ErrorIs(t, err, entity.ErrNotFound)
		require.NotErrorIs(t, err, entity.ErrMultipleItems)
		require.ErrorAs(t, err, &e)
	}
}

func TestCollect_ReadsNoFurtherThanItsLimit(t *testing.T) {
	l, s := open[Task](t)
	all := fill(t, l, s, crowd()...)
	for _, n := range []int{1, 3, len(all) - 1} {
		require.Equal(t, all[:n], entity.Must(s.Query(Task{Project: "p1"}, entity.Limit(n)).Collect(t.Context())))
		require.Len(t, l.Sent(), 1)
	}
}

func TestQuery_Mistakes(t *testing.T) {
	l, s := open[Task](t)
	f, byOwner, key := entity.Fields[Task](), entity.Must(s.Index("byOwner")), Task{Project: "p"}
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
			l.requireRefused(t, dbtest.ErrorOf(c.query.Collect(t.Context())), c.code, c.field)
			l.requireRefused(t, dbtest.ErrorOf(c.query.First(t.Context())), c.code, c.field)
			l.requireRefused(t, dbtest.ErrorOf(c.query.One(t.Context())), c.code, c.field)
			l.requireRefused(t, dbtest.ErrorOf(c.query.Page(t.Context(), "")), c.code, c.field)
			l.requireRefused(t, dbtest.ErrorOf(c.query.Count(t.Context())), c.code, c.field)
			require.NotEmpty(t, c.query.String(), "a wrong query prints what is wrong")
		})
	}
	_, err := s.Index("gsi1")
	require.Equal(t, "EDD-9051", dbtest.SchemaCode(err), "an index is found by its accessor")
	require.ErrorContains(t, err, `the name "gsi1"`)
}

func TestQuery_RangeThatNothingCanMeetSendsNoRequest(t *testing.T) {
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	fill(t, l, s, crowd()...)
	for name, q := range map[string]entity.Query[Task]{
		"reversed":         s.Query(Task{Project: "p1"}, entity.Between(&f.Status, "p", "o")),
		"below everything": s.Query(Task{Project: "p1", Status: "open"}, entity.Lt(&f.Priority, -5)),
		"too long":         s.Query(Task{Project: "p1"}, entity.BeginsWith(&f.Status, strings.Repeat("x", 2000))),
		"equal, too long":  s.Query(Task{Project: "p1"}, entity.Eq(&f.Status, strings.Repeat("x", 2000))),
	} {
		require.Empty(t, entity.Must(q.Collect(t.Context())), name)
		require.Zero(t, entity.Must(q.Count(t.Context())), name)
		page := entity.Must(q.Page(t.Context(), ""))
		require.Empty(t, page.Items, name)
		require.Empty(t, page.Next, name)
		require.ErrorIs(t, dbtest.ErrorOf(q.First(t.Context())), entity.ErrNotFound, name)
		require.ErrorIs(t, dbtest.ErrorOf(q.One(t.Context())), entity.ErrNotFound, name)
		require.Empty(t, l.Operations(), name)
	}
}

// Invoice shares partitions of its table and of an index with the same struct under the name Receipt.
type Invoice struct {
	_        entity.Key `name:"Invoice" pk:"pk={customer}" sk:"$#{id}"`
	_        entity.GSI `name:"byDay" index:"gsi1" pk:"gsi1pk={day}" sk:"$#{id}"`
	Customer string     `dynamodbav:"customer"`
	ID       string     `dynamodbav:"id"`
	Day      string     `dynamodbav:"day,omitempty"`
	Amount   int        `dynamodbav:"amount"`
	Paid     bool       `dynamodbav:"paid"`
}

// crowdedPartition holds two invoices, two receipts, and what features store with an item: none of it may show up as
// another entity, or as a current item.
func crowdedPartition(t *testing.T) (l *lab, invoices, receipts *entity.Store[Invoice]) {
	t.Helper()
	l = newLab(t)
	invoices, receipts = dbtest.Declare[Invoice](t, l.DB), dbtest.Declare[Invoice](t, l.DB, entity.Named("Receipt"))
	l.CreateTables()
	for i, id := range []string{"1", "2"} {
		l.OK(invoices.Create(t.Context(), Invoice{Customer: "c", ID: id, Day: "mon", Amount: i, Paid: i == 0}))
		l.OK(receipts.Create(t.Context(), Invoice{Customer: "c", ID: id, Day: "mon", Amount: i, Paid: i == 0}))
	}
	const at = "$app#v1#invoice#1"
	for _, sk := range []string{at + "#e#2024-05-06T07:08:09.123456789Z", at + "#v#0000001", at + "#deleted#2024-05-06T07:08:09.123456789Z"} {
		it := keys("pk", "c", "sk", sk, "__edd_e__", "Invoice", "_k", sk[len(at)+1:len(at)+2], "customer", "c", "id", "1", "gsi1pk", "mon", "day", "mon")
		it["paid"] = &types.AttributeValueMemberBOOL{Value: true}
		l.PutItem(it)
	}
	l.PutItem(keys("pk", "c", "sk", "$app#v1#invoice#15", "__edd_e__", "Stranger", "id", "15"))
	l.PutItem(keys("pk", "c", "sk", "$app#v1#invoice#16", "id", "16"))
	l.PutItem(keys("pk", "c", "sk", "zzz"))
	l.Sent()
	return l, invoices, receipts
}

func invoiceIDs(all []Invoice) []string { return each(all, func(v Invoice) string { return v.ID }) }

// A query sees the current items of its own entity, and nothing else in its range.
func TestQuery_SeesOnlyCurrentItemsOfItsEntity(t *testing.T) {
	_, invoices, receipts := crowdedPartition(t)
	f := entity.Fields[Invoice]()
	for name, q := range map[string]entity.Query[Invoice]{
		"partition":  invoices.Query(Invoice{Customer: "c"}),
		"descending": invoices.Query(Invoice{Customer: "c"}, entity.Desc()),
		"Gt":         invoices.Query(Invoice{Customer: "c"}, entity.Gt(&f.ID, "0")),
		"Le":         invoices.Query(Invoice{Customer: "c"}, entity.Le(&f.ID, "2")),
		"prefix":     invoices.Query(Invoice{Customer: "c"}, entity.BeginsWith(&f.ID, "")),
		"limited":    invoices.Query(Invoice{Customer: "c"}, entity.Limit(5)),
	} {
		require.ElementsMatch(t, []string{"1", "2"}, invoiceIDs(entity.Must(q.Collect(t.Context()))), name)
		require.Equal(t, 2, entity.Must(q.Count(t.Context())), name)
	}
	got := entity.Must(invoices.Query(Invoice{Customer: "c"}, entity.Gt(&f.ID, "1")).Collect(t.Context()))
	require.Equal(t, []string{"2"}, invoiceIDs(got), "what is stored with 1 is not greater than 1")
	require.Equal(t, "1", entity.Must(invoices.Query(Invoice{Customer: "c", ID: "1"}).One(t.Context())).ID)
	require.Equal(t, 2, entity.Must(receipts.Query(Invoice{Customer: "c"}).Count(t.Context())))
}

// Cat and Dog are verbatim and share a table: a discriminator distinguishes them.
type Cat struct {
	_     entity.Key `name:"Cat" pk:"owner" sk:"name" kind:"type=cat"`
	Owner string     `dynamodbav:"owner"`
	Name  string     `dynamodbav:"name"`
	Lives int        `dynamodbav:"lives,omitempty"`
}

type Dog struct {
	_     entity.Key `name:"Dog" pk:"owner" sk:"name" kind:"type=dog"`
	Owner string     `dynamodbav:"owner"`
	Name  string     `dynamodbav:"name"`
	Breed string     `dynamodbav:"breed,omitempty"`
}

func TestKind_IsWrittenOnEveryPathAndSeparatesEntities(t *testing.T) {
	l := newLab(t)
	cats, dogs := dbtest.Declare[Cat](t, l.DB), dbtest.Declare[Dog](t, l.DB)
	l.CreateTables()
	l.OK(cats.Create(t.Context(), Cat{Owner: "o", Name: "a", Lives: 9}))
	l.OK(cats.Upsert(t.Context(), Cat{Owner: "o", Name: "b"}))
	l.OK(cats.Update(t.Context(), Cat{Owner: "o", Name: "b"}, entity.Set(&entity.Fields[Cat]().Lives, 1)))
	l.OK(dogs.Create(t.Context(), Dog{Owner: "o", Name: "c"}))
	require.Equal(t, map[string]raw{
		"o a": {"owner": `S"o"`, "name": `S"a"`, "type": `S"cat"`, "lives": "N9"},
		"o b": {"owner": `S"o"`, "name": `S"b"`, "type": `S"cat"`, "lives": "N1"},
		"o c": {"owner": `S"o"`, "name": `S"c"`, "type": `S"dog"`},
	}, l.everything())
	got := entity.Must(cats.Query(Cat{Owner: "o"}).Collect(t.Context()))
	require.Equal(t, []Cat{{Owner: "o", Name: "a", Lives: 9}, {Owner: "o", Name: "b", Lives: 1}}, got)
	f := entity.Fields[Dog]()
	found := entity.Must(dogs.Query(Dog{Owner: "o"}, entity.Filter(entity.Or(entity.NotExists(&f.Breed), entity.Eq(&f.Breed, "x")))).Collect(t.Context()))
	require.Equal(t, []Dog{{Owner: "o", Name: "c"}}, found)
}

var cursorKey = []byte("0123456789abcdef")

func signed(c *entity.Config) { c.CursorKey = slices.Clone(cursorKey) }

// requireInvalid checks that the query takes the cursor for what it is.
func requireInvalid[T any](t *testing.T, q entity.Query[T], cursor, what string) {
	t.Helper()
	_, err := q.Page(t.Context(), cursor)
	require.ErrorIs(t, err, entity.ErrInvalidCursor, what)
	dbtest.As[*entity.Error](t, err, what)
}

// A cursor continues the query that it came from, and no other.
func TestCursor_OfAnotherQueryIsInvalid(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*entity.Config){"plain": func(*entity.Config) {}, "signed": signed} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, configure)
			s := dbtest.Declare[Task](t, l.DB)
			twin := dbtest.Declare[Task](t, l.DB, entity.Named("Twin"))
			l.CreateTables()
			f, tasks := entity.Fields[Task](), crowd()
			for i := range tasks {
				tasks[i].Owner, tasks[i].Due = "o", dawn.Truncate(1e9)
			}
			fill(t, l, s, tasks...)
			byOwner := entity.Must(s.Index("byOwner"))
			page := entity.Must(s.Query(Task{Project: "p1"}, entity.Limit(3)).Page(t.Context(), ""))
			l.Sent()
			for what, q := range map[string]entity.Query[Task]{
				"partition": s.Query(Task{Project: "p2"}, entity.Limit(3)),
				"lead":      s.Query(Task{Project: "p1", Status: "o"}, entity.Limit(3)),
				"range":     s.Query(Task{Project: "p1"}, entity.Ge(&f.Status, "a"), entity.Limit(3)),
				"direction": s.Query(Task{Project: "p1"}, entity.Desc(), entity.Limit(3)),
				"index":     byOwner.Query(Task{Owner: "o"}, entity.Limit(3)),
				"entity":    twin.Query(Task{Project: "p1"}, entity.Limit(3)),
			} {
				requireInvalid(t, q, page.Next, what)
			}
			require.Empty(t, l.Operations(), "found without a request")
			for what, q := range map[string]entity.Query[Task]{
				"another page size": s.Query(Task{Project: "p1"}, entity.Limit(50)),
				"no page size":      s.Query(Task{Project: "p1"}),
				"a consistent read": s.Query(Task{Project: "p1"}, entity.Limit(3), entity.Consistent()),
			} {
				require.NoError(t, dbtest.ErrorOf(q.Page(t.Context(), page.Next)), what)
			}
			back := entity.Must(byOwner.Query(Task{Owner: "o"}, entity.Limit(3)).Page(t.Context(), ""))
			requireInvalid(t, s.Query(Task{Project: "p1"}, entity.Limit(3)), back.Next, "index on table")

			// Another process that has the same key takes it; one that has another does not.
			again := dbtest.Declare[Task](t, l.Open(l.Raw))
			l.OK(again.Query(Task{Project: "p1"}).Page(t.Context(), page.Next))
			if name == "signed" {
				l.Config.CursorKey = []byte("fedcba9876543210")
				requireInvalid(t, dbtest.Declare[Task](t, l.Open(l.Raw)).Query(Task{Project: "p1"}), page.Next, "key")
				l.Config.CursorKey = nil
				requireInvalid(t, dbtest.Declare[Task](t, l.Open(l.Raw)).Query(Task{Project: "p1"}), page.Next, "no key")
			}
		})
	}
}

// A forged cursor of an unsigned query must not make DynamoDB refuse the request, or answer for another partition.
func TestCursor_ForgedPositionMustBeOneOfTheQuery(t *testing.T) {
	l, s := orders(t)
	byStatus := entity.Must(s.Index("byStatus"))
	q := byStatus.Query(Order{Status: "open"}, entity.Limit(1))
	page := entity.Must(q.Page(t.Context(), ""))
	body := entity.Must(base64.RawURLEncoding.DecodeString(page.Next))
	forge := func(old, new string) string {
		require.Contains(t, string(body), old)
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(body), old, new, 1)))
	}
	l.Sent()
	for what, cursor := range map[string]string{
		"another partition":  forge(`"placed":`, `"status":{"s":"opened"},"placed":`),
		"the same partition": forge(`"placed":`, `"status":{"s":"open"},"placed":`),
		"type of the key":    forge(`"placed":`, `"status":{"n":"1"},"placed":`),
		"type of a key part": forge(`"placed":{"n":"-50"}`, `"placed":{"s":"x"}`),
		"type of table key":  forge(`"customer":{"s":"c"}`, `"customer":{"n":"1"}`),
		"empty table key":    forge(`"customer":{"s":"c"}`, `"customer":{"s":""}`),
		"no number":          forge(`"number":{"n":"-10"}`, `"number":{"n":"many"}`),
		"two types":          forge(`"number":{"n":"-10"}`, `"number":{"n":"-10","s":"x"}`),
		"missing attribute":  forge(`"number":{"n":"-10"},`, ``),
		"another attribute":  forge(`"number":{"n":"-10"}`, `"note":{"n":"-10"}`),
	} {
		t.Run(what, func(t *testing.T) {
			l.Sent()
			requireInvalid(t, q, cursor, what)
			require.Empty(t, l.Operations())
		})
	}

	later := byStatus.Query(Order{Status: "open"}, entity.Ge(&entity.Fields[Order]().Placed, 0), entity.Limit(1))
	page = entity.Must(later.Page(t.Context(), ""))
	body = entity.Must(base64.RawURLEncoding.DecodeString(page.Next))
	requireInvalid(t, later, forge(`"placed":{"n":"15"}`, `"placed":{"n":"-50"}`), "before the range")
}

// What the query says itself is not in its cursors: it may be a secret, or an attribute that only keys are made of.
func TestCursor_LeavesOutWhatTheQuerySays(t *testing.T) {
	_, s := orders(t)
	byStatus := entity.Must(s.Index("byStatus"))
	for q, hidden := range map[entity.Query[Order]]string{
		byStatus.Query(Order{Status: "open"}, entity.Limit(1)): "open",
		s.Query(Order{Customer: "c"}, entity.Limit(1)):         "customer",
	} {
		page := entity.Must(q.Page(t.Context(), ""))
		require.NotContains(t, string(entity.Must(base64.RawURLEncoding.DecodeString(page.Next))), hidden)
		require.NotEqual(t, page.Items, entity.Must(q.Page(t.Context(), page.Next)).Items)
	}
}
