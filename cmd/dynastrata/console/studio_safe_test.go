package console

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

// serve returns the answer to one request, without cookies.
func serve(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestStudio_NeedsTheToken(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	app := l.app()
	app.Client = l.client
	h, err := Studio(t.Context(), app, StudioOptions{Token: studioToken})
	require.NoError(t, err)
	for _, path := range []string{"/", "/?token=", "/?token=wrong", "/browse?entity=Employee&all=1", "/item?entity=Employee&p.employeeId=e-1"} {
		out := serve(h, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:99"+path, nil))
		text, _ := io.ReadAll(out.Body)
		require.Equal(t, http.StatusForbidden, out.StatusCode, path)
		require.NotContains(t, string(text), "Employee", path)
		require.Empty(t, out.Header.Get("Set-Cookie"), path)
	}
	out := serve(h, httptest.NewRequest(http.MethodGet, "http://localhost:99/?token="+studioToken, nil))
	require.Equal(t, http.StatusSeeOther, out.StatusCode)
	require.Equal(t, "./", out.Header.Get("Location"), "without the token")
	cookie := out.Header.Get("Set-Cookie")
	require.Contains(t, cookie, "HttpOnly")
	require.Contains(t, cookie, "SameSite=Strict")
	require.NotContains(t, cookie, studioToken)
	for _, damaged := range []string{"", "x", "x.y", strings.Replace(cookie, "=", "=x", 1)} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", nil)
		r.Header.Set("Cookie", damaged)
		require.Equal(t, http.StatusForbidden, serve(h, r).StatusCode, damaged)
	}
	for name, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":  "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
	} {
		require.Equal(t, want, out.Header.Get(name))
	}
}

// A page of another site, a name that resolves to this machine, and a form of another browser are refused.
func TestStudio_RefusesOtherSites(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	g := l.studio(StudioOptions{})
	home := g.open("/")
	u, err := url.Parse(g.base)
	require.NoError(t, err)
	form := "kind=check&form=" + url.QueryEscape(formMark(t, home))
	request := func(method, path, body string, change func(*http.Request)) int {
		r, err := http.NewRequestWithContext(t.Context(), method, g.base+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		change(r)
		out, err := (&http.Client{Jar: g.client.Jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
		require.NoError(t, err)
		require.NoError(t, out.Body.Close())
		return out.StatusCode
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	none := func(*http.Request) {}
	require.Equal(t, 303, request("POST", "/start", form, none))
	require.Equal(t, 303, request("POST", "/start", form, header("Origin", g.base)))
	require.Equal(t, 403, request("POST", "/start", form, header("Origin", "https://evil.example")))
	require.Equal(t, 403, request("POST", "/start", form, header("Origin", "null")))
	require.Equal(t, 403, request("POST", "/start", form, header("Sec-Fetch-Site", "cross-site")))
	require.Equal(t, 403, request("POST", "/start", form, header("Sec-Fetch-Site", "same-site")))
	require.Equal(t, 403, request("POST", "/start", "kind=check", none), "no token of the form")
	require.Equal(t, 403, request("POST", "/start", "kind=check&form=x", none))
	require.Equal(t, 403, request("POST", "/find", "text=e-1", none))
	require.Equal(t, 403, request("POST", "/stop", "id=1", none))
	require.Equal(t, 403, request("GET", "/browse?entity=Employee&all=1", "", header("Sec-Fetch-Site", "cross-site")))
	require.Equal(t, 405, request("GET", "/start", "", none))
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "localhost.evil.example"} {
		require.Equal(t, 421, request("GET", "/", "", func(r *http.Request) { r.Host = host }), host)
	}
	require.Equal(t, 200, request("GET", "/", "", func(r *http.Request) { r.Host = "127.0.0.1:" + u.Port() }))

	other := l.studio(StudioOptions{})
	require.Equal(t, 403, g.send(other.open("/"), "start", url.Values{"kind": {"check"}}).status, "the form of another studio")
	second := &guest{t, g.base, &http.Client{Jar: other.client.Jar}}
	second.open("/?token=" + studioToken)
	require.Equal(t, 403, g.send(second.open("/"), "start", url.Values{"kind": {"check"}}).status, "the form of another session")
}

// Behind the application's own authentication there is no token, forms are still of a session, and links hold under a path.
func TestStudio_MountedInAProgram(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	app := l.app()
	app.Client = l.client
	h, err := Studio(t.Context(), app, StudioOptions{Authenticated: true, Hosts: []string{"127.0.0.1"}})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/admin/studio/", http.StripPrefix("/admin/studio", h))
	g := visiting(t, mux)
	g.base += "/admin/studio"
	home := g.open("/")
	require.Equal(t, 200, home.status, home.text)
	require.Equal(t, 200, g.open("/studio.css").status)
	found := g.send(home, "find", url.Values{"text": {"e-1"}})
	require.Contains(t, found.text, "Alice Baker")
	require.Contains(t, found.url, "/admin/studio/item?")
	require.Contains(t, g.follow(g.follow(found, "its partition"), "employeeId=e-1").text, "Alice Baker")
	r, err := http.NewRequestWithContext(t.Context(), "POST", g.base+"/start", strings.NewReader("kind=check"))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, 403, g.do(r).status)
}

func TestStudio_StopsAtItsBudgets(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	page := l.studio(StudioOptions{PageUnits: 1}).open("/item?entity=Employee&p.employeeId=e-1")
	require.Equal(t, 200, page.status)
	require.Contains(t, page.text, "What follows is left out: the read units of this page are used up.")
	require.Equal(t, "1", page.requests)

	minute := l.studio(StudioOptions{MinuteUnits: 2})
	require.Equal(t, 200, minute.open("/item?entity=Employee&p.employeeId=e-1").status)
	page = minute.open("/item?entity=Employee&p.employeeId=e-1")
	require.Contains(t, page.text, "for a minute")
	require.NotContains(t, page.text, "Alice")
	require.Contains(t, minute.open("/browse?entity=Employee&index=byTenant&p.tenantId=t-1").text, "for a minute")
	l.now = l.now.Add(time.Minute)
	require.Contains(t, minute.open("/item?entity=Employee&p.employeeId=e-1").text, "Alice")
}

// Card has a secret in its key, and in the key of an index.
type Card struct {
	_ entity.Key `name:"Card" pk:"$#{number}" sk:"$"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{number}"`

	Number string `dynamodbav:"number" entity:"secret"`
	Owner  string `dynamodbav:"owner"`
	Label  string `dynamodbav:"label"`
}

// A key with a secret part is in no page and no URL; the pages can still be opened.
func TestStudio_HidesSecretKeys(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db, err := entity.Open(client, entity.Config{Table: table, CursorKey: []byte("0123456789abcdef")})
	require.NoError(t, err)
	cards, err := entity.New[Card](db)
	require.NoError(t, err)
	require.NoError(t, tables.Create(t.Context(), db))
	numbers := []string{"77123", "77123-2"} // in the list of secrets
	for _, n := range numbers {
		entity.Must(cards.Create(t.Context(), Card{Number: n, Owner: "o-1", Label: "blue"}))
	}
	h, err := Studio(t.Context(), App{Client: client, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: db, Handles: &struct{ Cards *entity.Store[Card] }{cards}}, nil
	}}, StudioOptions{Token: studioToken})
	require.NoError(t, err)
	g := visiting(t, h)
	for _, path := range []string{"/browse?entity=Card&all=1", "/browse?entity=Card&index=byOwner&p.owner=o-1"} {
		list := g.open(path)
		require.Contains(t, list.text, "&lt;hidden&gt;")
		item := g.follow(list, "&lt;hidden")
		require.Contains(t, item.text, "blue", "the link is sealed, and opens")
		require.Equal(t, 400, g.open(item.url+"x").status)
	}
	form := g.open("/browse?entity=Card")
	require.Contains(t, form.text, `method="post" action="browse"`)
	asked := g.send(form, "browse", url.Values{"entity": {"Card"}, "p.number": {"77123"}})
	require.Contains(t, asked.text, "blue")
	require.Contains(t, g.send(form, "find", url.Values{"text": {"77123"}}).text, "blue")
	for _, op := range []string{"eq", "begins", "exists"} {
		require.Equal(t, 400, g.open("/browse?entity=Card&index=byOwner&p.owner=o-1&f=number&fop="+op+"&fv=x").status, "a filter would say what the value is")
	}
	require.Equal(t, 400, g.open("/item?entity=Card&p.number=1").status, "only sealed keys open items")
}

// hostile are values that would break a page which does not escape them.
var hostile = []string{
	`<script>window.broken=1</script>`, `"><script>window.broken=1</script>`, `'><img src=x onerror="window.broken=1">`, `<svg onload=window.broken=1>`, `</title><script>window.broken=1</script>`,
	`</dd></dl></main><h1>injected</h1>`, `<style>*{display:none}</style>`, `<iframe src="javascript:window.broken=1"></iframe>`, `javascript:window.broken=1`, `data:text/html,<script>window.broken=1</script>`,
	`{{.Form}}`, `{{template "layout"}}`, `<!--`, `-->`, `]]>`, `<![CDATA[<script>window.broken=1</script>]]>`, `&lt;script&gt;`, `&#60;script&#62;`, `&amp;amp;`, "\u202e reversed", "\u2066isolated", "a\u0000b", "\x1b[31mred\x1b[0m", "line\nbreak\r\nmore",
	"tab\there", "\u2028\u2029", "\ufeffbom", "é\u0301\u0301\u0301\u0301", strings.Repeat("x", 5000), strings.Repeat("wide ", 1000), strings.Repeat("字", 1500), "👩‍👩‍👧‍👦", `' OR 1=1 --`, `../../etc/passwd`, `%00%0d%0aSet-Cookie: a=b`,
	"\r\nSet-Cookie: a=b", `"`, `'`, "`", `\`, `#a?b&c=d+e%20f`, `<a href="https://evil.example">click</a>`, `<meta http-equiv="refresh" content="0;url=https://evil.example">`,
}

// Doc is an entity of strings.
type Doc struct {
	_ entity.Key `name:"Doc" pk:"$#{id}" sk:"$"`

	ID    string            `dynamodbav:"id"`
	Text  string            `dynamodbav:"text"`
	Parts map[string]string `dynamodbav:"parts"`
	Any   any               `dynamodbav:"any"`
}

// hostileStudio returns the studio of a table with hostile keys and values.
func hostileStudio(t *testing.T) http.Handler {
	t.Helper()
	client, table := localdb.Test(t)
	db, err := entity.Open(client, entity.Config{Table: table})
	require.NoError(t, err)
	docs, err := entity.New[Doc](db)
	require.NoError(t, err)
	require.NoError(t, tables.Create(t.Context(), db))
	for _, text := range hostile {
		entity.Must(docs.Create(t.Context(), Doc{ID: text[:min(len(text), 300)], Text: text, Parts: map[string]string{text[:min(len(text), 198)]: text}, Any: []string{text}}))
	}
	entity.Must(docs.Create(t.Context(), Doc{ID: "large", Text: strings.Repeat("<b>", 130_000)}))
	many := item.Item{}
	for i := range 10_000 {
		many[fmt.Sprintf("a%04d", i)] = item.S("<i>")
	}
	entity.Must(docs.Create(t.Context(), Doc{ID: "many"}))
	key := item.Item{"pk": item.S("$app#v1#doc#many"), "sk": item.S("$app#v1#doc")}
	got, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key})
	require.NoError(t, err)
	for name, av := range got.Item {
		many[name] = av
	}
	_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: many})
	require.NoError(t, err)
	_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item.Item{"pk": item.S("<script>"), "sk": item.S("<b>"), "<i>": &types.AttributeValueMemberNULL{Value: true}}})
	require.NoError(t, err)
	h, err := Studio(t.Context(), App{Client: client, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: db, Handles: &struct{ Docs *entity.Store[Doc] }{docs}}, nil
	}}, StudioOptions{Token: studioToken})
	require.NoError(t, err)
	return h
}

func TestStudio_EscapesHostileValues(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(hostile), 40)
	g := visiting(t, hostileStudio(t))
	pages := []seen{g.open("/browse?entity=Doc&all=1")}
	for strings.Contains(pages[len(pages)-1].text, ">Next page<") {
		pages = append(pages, g.follow(pages[len(pages)-1], "^Next page$"))
	}
	require.Greater(t, len(pages), 1)
	for _, text := range hostile {
		id := url.QueryEscape(text[:min(len(text), 300)])
		pages = append(pages, g.open("/item?entity=Doc&p.id="+id), g.open("/browse?entity=Doc&p.id="+id+"&op="+url.QueryEscape(text[:min(len(text), 300)])), g.open("/browse?entity=Doc&all=1&f=text&fop=eq&fv="+id))
	}
	tags := regexp.MustCompile(`<(script|style|iframe|img|meta|svg|i|b|h1|a)\b[^>]*`)
	for _, p := range pages {
		for _, tag := range tags.FindAllString(p.text, -1) {
			require.NotRegexp(t, `broken|evil|onerror|onload|display`, strings.Split(tag, " href=")[0], p.url)
		}
		require.Equal(t, 1, strings.Count(p.text, "<script"), p.url)
		require.NotContains(t, p.text, "<style")
		require.Equal(t, 1, strings.Count(p.text, "<h1"), p.url)
		for _, r := range p.text {
			require.False(t, r < ' ' && r != '\n' && r != '\t' && r != '\r', "%s has a control character", p.url)
		}
	}
	large := g.open("/item?entity=Doc&p.id=large")
	require.Less(t, len(large.text), 60_000)
	require.Contains(t, large.text, "shortened, 380.9 KB")
	many := g.open("/item?entity=Doc&p.id=many")
	require.Less(t, len(many.text), 200_000)
	require.Contains(t, many.text, "more attributes")
	require.Contains(t, g.follow(many, "more attributes").text, "a9999")
}

// Every control of a page has a name, and every page its landmarks.
func TestStudio_PagesHaveNamesAndLandmarks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	g := l.studio(StudioOptions{})
	for _, path := range []string{"/", "/browse?entity=Employee", "/browse?entity=Employee&index=byTenant&p.tenantId=t-1", "/item?entity=Employee&p.employeeId=e-1", "/item?entity=Telemetry&p.channel=c-1&p.deviceId=d-7", "/item?entity=Employee&p.employeeId=e-9"} {
		text := g.open(path).text
		for _, part := range []string{"<header>", "<main id=\"main\"", "<nav aria-label=\"Entities\"", "<footer>", "lang=\"en\"", "href=\"#main\"", "<h1>"} {
			require.Contains(t, text, part, path)
		}
		labels := map[string]bool{}
		for _, m := range regexp.MustCompile(`<label[^>]* for="([^"]+)"`).FindAllStringSubmatch(text, -1) {
			labels[m[1]] = true
		}
		inLabel := regexp.MustCompile(`(?s)<label>.*?</label>`).FindAllString(text, -1)
		for _, m := range regexp.MustCompile(`<(input|select|textarea)\b[^>]*>`).FindAllString(text, -1) {
			id := regexp.MustCompile(` id="([^"]+)"`).FindStringSubmatch(m)
			named := strings.Contains(m, `type="hidden"`) || strings.Contains(m, "aria-label=") || id != nil && labels[id[1]] || strings.Contains(strings.Join(inLabel, ""), m)
			require.True(t, named, "%s: %s", path, m)
		}
		for _, m := range regexp.MustCompile(`(?s)<table.*?</thead>`).FindAllString(text, -1) {
			require.Contains(t, m, "<caption", path)
			require.Contains(t, m, `scope="col"`, path)
		}
		require.NotRegexp(t, ` style=| on[a-z]+=`, text, path)
		require.NotContains(t, html.UnescapeString(text), "ZgotmplZ", path)
	}
}

// The command prints a URL that opens the studio, and ends with its context.
func TestStudio_Command(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, write := io.Pipe()
	code := make(chan int, 1)
	app := App{Client: l.client, Clock: func() time.Time { return l.now }}
	go func() {
		code <- Run(ctx, app, Streams{In: strings.NewReader(""), Out: write, Err: io.Discard}, []string{"--lock", l.lock, "--table", l.table, "studio"})
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	require.NoError(t, err)
	base, token, ok := strings.Cut(strings.TrimSpace(line), "/?token=")
	require.True(t, ok, line)
	require.Greater(t, len(token), 20)
	server := &guest{t, base, &http.Client{}}
	require.Equal(t, 403, server.open("/").status)
	jarred := l.studio(StudioOptions{})
	g := &guest{t, base, jarred.client}
	require.Contains(t, g.open("/?token="+token).text, "Employee")
	require.Contains(t, g.open("/item?entity=Employee&p.employeeId=e-1").text, "Alice Baker", "by the lock alone")
	stop()
	require.Equal(t, ExitOK, <-code)

	for _, args := range [][]string{{"studio", "--listen", "0.0.0.0:0"}, {"studio", "--listen", "example.com:80"}, {"studio", "--listen", "nonsense"}, {"studio", "--page-units", "0"}, {"studio", "--minute-units", "-1"}} {
		require.Equal(t, ExitUsage, l.run(args...).code, args)
	}
}
