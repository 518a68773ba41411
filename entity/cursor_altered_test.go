package entity_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

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
	byStatus, err := s.Index("byStatus")
	require.NoError(t, err)
	q := byStatus.Query(Order{Status: "open"}, entity.Limit(1))
	page, err := q.Page(t.Context(), "")
	require.NoError(t, err)
	body, err := base64.RawURLEncoding.DecodeString(page.Next)
	require.NoError(t, err)
	forge := func(old, new string) string {
		require.Contains(t, string(body), old)
		return base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(string(body), old, new, 1)))
	}
	l.sent()
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
			l.wire.Reset()
			requireInvalid(t, q, cursor, what)
			require.Empty(t, l.sent())
		})
	}
}

// What the query says itself is not in its cursors: it may be a secret, or an attribute that only keys are made of.
func TestCursor_LeavesOutWhatTheQuerySays(t *testing.T) {
	t.Parallel()
	_, s := orders(t)
	byStatus, err := s.Index("byStatus")
	require.NoError(t, err)
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
	for _, seed := range []string{"", "x", encode([]byte("{}")), encode([]byte(`{"v":1,"q":"AAAA","k":{"pk":{"s":"a"}}}`)), encode([]byte(`{"v":1,"k":null}`)), strings.Repeat("A", 20000)} {
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
