package console

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const studioToken = "0123456789abcdefghij"

// guest is a browser without a screen: it keeps cookies, and compares every page with the secrets.
type guest struct {
	t      *testing.T
	base   string
	client *http.Client
}

// studio serves the studio of a lab, by its program, and opens it.
func (l *lab) studio(o StudioOptions) *guest {
	l.t.Helper()
	app := l.app()
	app.Client = l.client
	if !o.Authenticated {
		o.Token = studioToken
	}
	h, err := Studio(l.t.Context(), app, o)
	require.NoError(l.t, err)
	return visiting(l.t, h)
}

func visiting(t *testing.T, h http.Handler) *guest {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	g := &guest{t, server.URL, &http.Client{Jar: jar}}
	g.open("/?token=" + studioToken)
	return g
}

// seen is an answer.
type seen struct {
	status   int
	text     string
	url      string
	requests string // what the footer says
}

// random matches the hashes on a page, which can contain the digits of a secret by chance.
var random = regexp.MustCompile(`\b\d{15,20}\b`)

func (g *guest) do(r *http.Request) seen {
	g.t.Helper()
	out, err := g.client.Do(r)
	require.NoError(g.t, err)
	defer out.Body.Close()
	text, err := io.ReadAll(out.Body)
	require.NoError(g.t, err)
	p := seen{status: out.StatusCode, text: string(text), url: out.Request.URL.String()}
	if m := regexp.MustCompile(`This page: (\d+) requests?`).FindStringSubmatch(p.text); m != nil {
		p.requests = m[1]
	}
	shown := random.ReplaceAllString(p.text+p.url, "")
	for _, secret := range secrets {
		require.NotContains(g.t, shown, secret, r.URL.Path)
	}
	return p
}

func (g *guest) open(path string) seen {
	g.t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = g.base + "/" + strings.TrimPrefix(path, "/")
	}
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, path, nil)
	require.NoError(g.t, err)
	return g.do(r)
}

// send sends a form of a page.
func (g *guest) send(from seen, action string, values url.Values) seen {
	g.t.Helper()
	values.Set("form", formMark(g.t, from))
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.base+"/"+action, strings.NewReader(values.Encode()))
	require.NoError(g.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return g.do(r)
}

func formMark(t *testing.T, p seen) string {
	t.Helper()
	m := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(p.text)
	require.NotNil(t, m, p.text)
	return m[1]
}

// follow opens the link whose text or markup a pattern matches.
func (g *guest) follow(p seen, pattern string) seen {
	g.t.Helper()
	for _, m := range regexp.MustCompile(`<a [^>]*href="([^"]+)"[^>]*>(.*?)</a>`).FindAllStringSubmatch(p.text, -1) {
		if regexp.MustCompile(pattern).MatchString(m[2]) {
			u, err := url.Parse(p.url)
			require.NoError(g.t, err)
			to, err := u.Parse(unescape(m[1]))
			require.NoError(g.t, err)
			return g.open(to.String())
		}
	}
	require.Fail(g.t, "no link", "%s in %s", pattern, p.text)
	return seen{}
}

func unescape(s string) string { return strings.NewReplacer("&amp;", "&", "&#43;", "+").Replace(s) }

// keep writes a page where a person can look at it.
func (g *guest) keep(name string, p seen) {
	if dir := os.Getenv("STUDIO_PAGES"); dir != "" {
		require.NoError(g.t, os.WriteFile(fmt.Sprintf("%s/%s.html", dir, name), []byte(p.text), 0o600))
	}
}

func TestStudio_PagesOfTheStory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	g := l.studio(StudioOptions{})
	home := g.open("/")
	g.keep("home", home)
	require.Equal(t, 200, home.status)
	for _, text := range []string{"Employee", "Telemetry", "byTenant", "read-only", "Never shown: email, salary", "deleted copy"} {
		require.Contains(t, home.text, text)
	}

	browse := g.open("/browse?entity=Employee&index=byTenant&p.tenantId=t-1")
	g.keep("browse", browse)
	require.Contains(t, browse.text, "Alice Baker")
	require.Contains(t, browse.text, `begins_with(gsi1sk, `)
	require.Contains(t, browse.text, "hidden")

	item := g.follow(browse, "employeeId=e-1")
	g.keep("item", item)
	require.Equal(t, "4", item.requests, "current, copies, versions, claims")
	for _, text := range []string{"<svg class=\"strata\"", "version</span> <bdi>2", "department", "held by this item", "stored</span>"} {
		require.Contains(t, item.text, text)
	}
	at := g.open("/item?entity=Employee&p.employeeId=e-1&at=2026-04-22T13:30:00Z")
	require.Contains(t, at.text, "this was version 2, written at 2026-04-22T13:00:00Z")

	gone := g.open("/item?entity=Employee&p.employeeId=e-2")
	g.keep("gone", gone)
	require.Contains(t, gone.text, "a copy can be restored")
	require.Contains(t, gone.text, "free: no item holds it")

	series := g.open("/item?entity=Telemetry&p.channel=c-1&p.deviceId=d-7")
	g.keep("series", series)
	require.Contains(t, series.text, "dock 3")
}

func TestStudio_IsSafeByItself(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for name, o := range map[string]StudioOptions{
		"neither token nor authentication": {}, "both": {Token: studioToken, Authenticated: true}, "short token": {Token: "abc"}, "negative": {Token: studioToken, PageUnits: -1},
	} {
		_, err := Studio(t.Context(), App{Client: l.client, Open: l.app().Open}, o)
		require.ErrorContains(t, err, "EDD-9199", name)
	}
	_, err := Studio(t.Context(), App{}, StudioOptions{Token: studioToken})
	require.ErrorContains(t, err, "EDD-9199")
}
