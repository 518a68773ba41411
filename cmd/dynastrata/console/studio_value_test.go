package console

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

// Sheet has long values.
type Sheet struct {
	_ entity.Key `name:"Sheet" pk:"$#{id}" sk:"$"`

	ID     string              `dynamodbav:"id"`
	Text   string              `dynamodbav:"text"`
	Raw    []byte              `dynamodbav:"raw,omitempty"`
	Parts  map[string][]string `dynamodbav:"parts,omitempty"`
	Short  string              `dynamodbav:"short"`
	Pin    string              `dynamodbav:"pin" entity:"secret"`
	Pinned []string            `dynamodbav:"pinned" entity:"secret"`
}

var wholeLinks = regexp.MustCompile(`<a href="(value\?v=[^"]+)">download all of it</a>`)

// A value that a page shortens can be downloaded whole: by the session that was given the link, as a file, and only if it is not secret.
func TestStudio_DownloadsLongValues(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	sheets := entity.Must(entity.New[Sheet](db))
	require.NoError(t, tables.Create(t.Context(), db))
	long := Sheet{
		ID: "x", Text: strings.Repeat("<b>ä\x00", 1000), Raw: bytes.Repeat([]byte{0, '<', 255}, 1000), Parts: map[string][]string{"<i>": {strings.Repeat("<b>", 1000)}}, Short: "short",
		Pin: strings.Repeat("77123", 1000), Pinned: []string{strings.Repeat("77123", 1000)},
	}
	long.Parts["many"] = make([]string, 101)
	entity.Must(sheets.Create(t.Context(), long))
	app := App{Client: client, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: db, Handles: &struct{ Sheets *entity.Store[Sheet] }{sheets}}, nil
	}}
	h, err := Studio(t.Context(), app, StudioOptions{Token: studioToken})
	require.NoError(t, err)
	g := visiting(t, h)
	page := g.open("/item?entity=Sheet&p.id=x")
	require.Contains(t, g.open("/browse?entity=Sheet&all=1").text, "download all of it")
	links := wholeLinks.FindAllStringSubmatch(page.text, -1)
	require.Len(t, links, 3, "parts, raw and text")
	want := []struct{ kind, name, text string }{
		{"application/json", "Sheet-parts.json", ""}, {"application/octet-stream", "Sheet-raw.bin", string(long.Raw)}, {"text/plain; charset=utf-8", "Sheet-text.txt", long.Text},
	}
	for i, w := range want {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.base+"/"+links[i][1], nil)
		require.NoError(t, err)
		out, err := g.client.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		require.NoError(t, out.Body.Close())
		require.Equal(t, 200, out.StatusCode)
		require.Equal(t, w.kind, out.Header.Get("Content-Type"))
		require.Equal(t, "attachment; filename="+w.name, out.Header.Get("Content-Disposition"))
		require.Equal(t, "nosniff", out.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "no-store", out.Header.Get("Cache-Control"))
		require.Contains(t, out.Header.Get("Content-Security-Policy"), "default-src 'none'")
		if w.text != "" {
			require.Equal(t, w.text, string(text))
			continue
		}
		var parts map[string][]string
		require.NoError(t, json.Unmarshal(text, &parts))
		require.Equal(t, long.Parts, parts)
	}
	out := serve(h, httptest.NewRequest(http.MethodGet, "http://127.0.0.1/"+links[0][1], nil))
	require.Equal(t, http.StatusForbidden, out.StatusCode, "without a session")
	require.Empty(t, out.Header.Get("Content-Disposition"))
	require.Equal(t, 405, g.send(page, strings.TrimPrefix(links[0][1], "/"), map[string][]string{}).status)
	require.Equal(t, 400, g.open(links[0][1]+"x").status)
	require.Equal(t, 400, g.open("/value?v="+g.sealed()).status, "a link of another kind")

	f := entity.Fields[Sheet]()
	entity.Must(sheets.Update(t.Context(), long, entity.Set(&f.Text, "other")))
	require.Contains(t, g.open(links[2][1]).text, "has changed since the page was loaded")
	require.Equal(t, 200, g.open(links[1][1]).status)
	require.NoError(t, sheets.Delete(t.Context(), long))
	require.Equal(t, 400, g.open(links[1][1]).status)
}

// sealed returns a sealed text of the studio for another purpose than a value.
func (g *guest) sealed() string {
	g.t.Helper()
	found := g.send(g.open("/"), "find", map[string][]string{"text": {"nobody"}})
	m := regexp.MustCompile(`s=([A-Za-z0-9_-]+)`).FindStringSubmatch(found.url)
	require.NotNil(g.t, m, found.url)
	return m[1]
}
