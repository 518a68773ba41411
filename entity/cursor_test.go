package entity_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

var cursorKey = []byte("0123456789abcdef")

func signed(c *entity.Config) { c.CursorKey = slices.Clone(cursorKey) }

// requireInvalid checks that the query takes the cursor for what it is.
func requireInvalid[T any](t *testing.T, q entity.Query[T], cursor, what string) {
	t.Helper()
	_, err := q.Page(t.Context(), cursor)
	require.ErrorIs(t, err, entity.ErrInvalidCursor, what)
	var e *entity.Error
	require.ErrorAs(t, err, &e, what)
}

// A cursor continues the query that it came from, and no other.
func TestCursor_OfAnotherQueryIsInvalid(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*entity.Config){"plain": func(*entity.Config) {}, "signed": signed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, configure)
			s := dbtest.Declare[Task](t, l.DB)
			twin := dbtest.Declare[Task](t, l.DB, entity.Named("Twin"))
			l.CreateTables()
			f := entity.Fields[Task]()
			tasks := crowd()
			for i := range tasks {
				tasks[i].Owner, tasks[i].Due = "o", dawn.Truncate(1e9)
			}
			fill(t, l, s, tasks...)
			byOwner := entity.Must(s.Index("byOwner"))
			page, err := s.Query(Task{Project: "p1"}, entity.Limit(3)).Page(t.Context(), "")
			require.NoError(t, err)
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
				_, err := q.Page(t.Context(), page.Next)
				require.NoError(t, err, what)
			}
			back, err := byOwner.Query(Task{Owner: "o"}, entity.Limit(3)).Page(t.Context(), "")
			require.NoError(t, err)
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
	t.Parallel()
	l, s := orders(t)
	byStatus := entity.Must(s.Index("byStatus"))
	q := byStatus.Query(Order{Status: "open"}, entity.Limit(1))
	page, err := q.Page(t.Context(), "")
	require.NoError(t, err)
	body, err := base64.RawURLEncoding.DecodeString(page.Next)
	require.NoError(t, err)
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
	page, err = later.Page(t.Context(), "")
	require.NoError(t, err)
	body, err = base64.RawURLEncoding.DecodeString(page.Next)
	require.NoError(t, err)
	requireInvalid(t, later, forge(`"placed":{"n":"15"}`, `"placed":{"n":"-50"}`), "before the range")
}

// What the query says itself is not in its cursors: it may be a secret, or an attribute that only keys are made of.
func TestCursor_LeavesOutWhatTheQuerySays(t *testing.T) {
	t.Parallel()
	_, s := orders(t)
	byStatus := entity.Must(s.Index("byStatus"))
	for q, hidden := range map[entity.Query[Order]]string{
		byStatus.Query(Order{Status: "open"}, entity.Limit(1)): "open",
		s.Query(Order{Customer: "c"}, entity.Limit(1)):         "customer",
	} {
		page, err := q.Page(t.Context(), "")
		require.NoError(t, err)
		body, err := base64.RawURLEncoding.DecodeString(page.Next)
		require.NoError(t, err)
		require.NotContains(t, string(body), hidden)
		rest, err := q.Page(t.Context(), page.Next)
		require.NoError(t, err)
		require.NotEqual(t, page.Items, rest.Items)
	}
}
