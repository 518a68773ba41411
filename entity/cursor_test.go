package entity_test

import (
	"encoding/base64"
	"fmt"
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

func TestCursor_KeyMustBeLongEnough(t *testing.T) {
	t.Parallel()
	_, err := entity.Open(nil, entity.Config{Table: "t", CursorKey: []byte("short")})
	var bad *entity.SchemaError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, []string{"EDD-9050", "CursorKey"}, []string{bad.Code, bad.Field})
}

func TestCursor_OfKeysInAnyScript(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	want := []string{"a/b+c", "\u0001", "日本", "🙂", "\u200b"}
	for _, id := range want {
		l.OK(s.Create(t.Context(), Task{Project: "プ#\n", Status: "s", Priority: 1, TaskID: id}))
	}
	q := s.Query(Task{Project: "プ#\n"}, entity.Limit(1))
	require.ElementsMatch(t, want, ids(slices.Concat(dbtest.Pages(t, q)...)))
	page, err := q.Page(t.Context(), "")
	require.NoError(t, err)
	require.Regexp(t, `^[A-Za-z0-9_-]+$`, page.Next, "a cursor goes into a URL as it is")
}

// Whatever is done to the text of a signed cursor, it is found; of an unsigned one, nothing worse happens than another
// position inside the same query.
func TestCursor_AlteredAnywhere(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*entity.Config){"plain": func(*entity.Config) {}, "signed": signed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := open[Task](t, configure)
			all := fill(t, l, s, Task{Project: "p", Status: "a", Priority: 1, TaskID: "1"}, Task{Project: "p", Status: "b", Priority: 1, TaskID: "2"}, Task{Project: "p", Status: "c", Priority: 1, TaskID: "3"})
			q := s.Query(Task{Project: "p"}, entity.Limit(1))
			page, err := q.Page(t.Context(), "")
			require.NoError(t, err)
			cursor := page.Next
			for what, altered := range alteredTexts(cursor) {
				page, err := q.Page(t.Context(), altered)
				if err != nil {
					require.ErrorIs(t, err, entity.ErrInvalidCursor, what)
					continue
				}
				require.Equal(t, "plain", name, "%s: %q was taken for %q", what, altered, cursor)
				for _, v := range page.Items {
					require.Contains(t, all, v)
				}
			}
		})
	}
}

// alteredTexts returns a cursor's text with each character replaced by its neighbours in the alphabet, with each cut
// off end, and with things added.
func alteredTexts(cursor string) map[string]string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	out := map[string]string{}
	for i := range cursor {
		at := strings.IndexByte(alphabet, cursor[i])
		for _, bit := range []int{1, 2, 4, 8, 16, 32} {
			out[cursor[:i]+"~"+alphabet[at^bit:at^bit+1]] = cursor[:i] + string(alphabet[at^bit]) + cursor[i+1:]
		}
		if i > 0 {
			out["cut "+cursor[:i]] = cursor[:i]
		}
	}
	for _, more := range []string{"A", "AA", "AAA", "AAAA", "=", "\n", "\r\n", " "} {
		out["with "+more] = cursor + more
		out["with leading "+more] = more + cursor
	}
	out["twice"] = cursor + cursor
	return out
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

// Any text at all is ErrInvalidCursor, or a position; nothing panics. Without a client, a position is ErrNoClient.
func FuzzCursor(f *testing.F) {
	encode := base64.RawURLEncoding.EncodeToString
	for _, seed := range []string{
		"", "x", " ", "null", "!!!!", "é", "\x00", strings.Repeat("A", 100), strings.Repeat("A", 1<<20), encode([]byte("{}")), encode([]byte("null")), encode([]byte("[]")),
		encode([]byte(`{"v":1}`)), encode([]byte(`{"v":1,"k":null}`)), encode([]byte(`{"v":99,"q":"","k":{}}`)), encode([]byte(`{"v":1,"q":"AAAA","k":{"pk":{"s":"a"}}}`)),
		encode([]byte(`{"v":1,"q":"AAAAAAAAAAAAAAAA","k":{"pk":{"s":"$app#v1#task#p1"},"sk":{"s":"$app#v1#task#o"}}}`)),
	} {
		f.Add(seed)
	}
	var queries []entity.Query[Task]
	for _, key := range [][]byte{nil, cursorKey} {
		cfg := paperConfig()
		cfg.CursorKey = key
		db, err := entity.Open(nil, cfg)
		require.NoError(f, err)
		s, err := entity.New[Task](db)
		require.NoError(f, err)
		byOwner, err := s.Index("byOwner")
		require.NoError(f, err)
		queries = append(queries, s.Query(Task{Project: "p"}), byOwner.Query(Task{Owner: "o"}, entity.Desc()))
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		for _, q := range queries {
			_, err := q.Page(t.Context(), cursor)
			if cursor == "" {
				require.ErrorIs(t, err, entity.ErrNoClient)
				continue
			}
			require.ErrorIs(t, err, entity.ErrInvalidCursor)
		}
	})
}

func TestQuery_ResultLargerThanOneResponse(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	title := strings.Repeat("x", 150*1024)
	var tasks []Task
	for i := range 20 {
		tasks = append(tasks, Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Title: title})
	}
	want := fill(t, l, s, tasks...)
	got := entity.Must(s.Query(Task{Project: "p"}).Collect(t.Context()))
	require.Equal(t, ids(want), ids(got))
	require.Greater(t, len(l.Operations()), 2)
	n := entity.Must(s.Query(Task{Project: "p"}).Count(t.Context()))
	require.Equal(t, 20, n)
	l.Sent()
	page, err := s.Query(Task{Project: "p"}).Page(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"Query"}, l.Operations(), "without Limit a page is what one request gives")
	require.NotEmpty(t, page.Items)
	require.NotEmpty(t, page.Next)
	rest, err := s.Query(Task{Project: "p"}, entity.Limit(100)).Page(t.Context(), page.Next)
	require.NoError(t, err)
	require.Equal(t, ids(want), ids(append(page.Items, rest.Items...)))
	require.Empty(t, rest.Next)
	l.Sent()
	l.OK(s.Query(Task{Project: "p"}).First(t.Context()))
	require.Equal(t, []string{"Query"}, l.Operations())
}
