package entity_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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
			s := declare[Task](t, l.db)
			twin := declare[Task](t, l.db, entity.Named("Twin"))
			l.create(t)
			f := entity.Fields[Task]()
			tasks := crowd()
			for i := range tasks {
				tasks[i].Owner, tasks[i].Due = "o", dawn.Truncate(1e9)
			}
			fill(t, l, s, tasks...)
			byOwner, err := s.Index("byOwner")
			require.NoError(t, err)
			page, err := s.Query(Task{Project: "p1"}, entity.Limit(3)).Page(t.Context(), "")
			require.NoError(t, err)
			l.sent()
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
			require.Empty(t, l.sent(), "found without a request")
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
			again := declare[Task](t, l.aside(t))
			_, err = again.Query(Task{Project: "p1"}).Page(t.Context(), page.Next)
			require.NoError(t, err)
			if name == "signed" {
				l.cfg.CursorKey = []byte("fedcba9876543210")
				requireInvalid(t, declare[Task](t, l.aside(t)).Query(Task{Project: "p1"}), page.Next, "key")
				l.cfg.CursorKey = nil
				requireInvalid(t, declare[Task](t, l.aside(t)).Query(Task{Project: "p1"}), page.Next, "no key")
			}
		})
	}
}

func TestCursor_ThatIsNoneIsInvalid(t *testing.T) {
	t.Parallel()
	for name, configure := range map[string]func(*entity.Config){"plain": func(*entity.Config) {}, "signed": signed} {
		l, s := open[Task](t, configure)
		encode := base64.RawURLEncoding.EncodeToString
		for _, cursor := range []string{
			"x", " ", "null", "!!!!", "é", "\x00", strings.Repeat("A", 100), strings.Repeat("A", 1<<20),
			encode([]byte("{}")), encode([]byte("null")), encode([]byte("[]")), encode([]byte(`{"v":1}`)), encode([]byte(`{"v":99,"q":"","k":{}}`)),
			encode([]byte(`{"v":1,"q":"AAAAAAAAAAAAAAAA","k":{"pk":{"s":"$app#v1#task#p1"},"sk":{"s":"$app#v1#task#o"}}}`)),
		} {
			requireInvalid(t, s.Query(Task{Project: "p1"}), cursor, name)
		}
		require.Empty(t, l.sent())
	}
}

func TestCursor_KeyMustBeLongEnough(t *testing.T) {
	t.Parallel()
	_, err := entity.Open(nil, entity.Config{Table: "t", CursorKey: []byte("short")})
	var bad *entity.SchemaError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "EDD-9050", bad.Code)
	require.Equal(t, "CursorKey", bad.Field)
}

func TestCursor_OfKeysInAnyScript(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	var want []string
	for _, id := range []string{"a/b+c", "\u0001", "日本", "🙂", "\u200b"} {
		want = append(want, id)
		_, err := s.Create(t.Context(), Task{Project: "プ#\n", Status: "s", Priority: 1, TaskID: id})
		require.NoError(t, err)
	}
	l.sent()
	var got []string
	cursor := ""
	for {
		page, err := s.Query(Task{Project: "プ#\n"}, entity.Limit(1)).Page(t.Context(), cursor)
		require.NoError(t, err)
		got = append(got, ids(page.Items)...)
		if cursor = page.Next; cursor == "" {
			break
		}
		require.Regexp(t, `^[A-Za-z0-9_-]+$`, cursor, "a cursor goes into a URL as it is")
	}
	require.ElementsMatch(t, want, got)
}
