package browser_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/console"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/examples/studio/demo"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

// requireVariable makes a missing browser a failure.
const requireVariable = "DYNASTRATA_REQUIRE_BROWSER"

var pictures = flag.Bool("pictures", false, "write the pictures of docs/on-call.md")

// end is the time at which the pictures are taken.
var end = time.Date(2026, 4, 22, 3, 12, 0, 0, time.UTC)

const token = "0123456789abcdefghij"

// shop is the demonstration at a fixed time, with its studio.
type shop struct {
	t   *testing.T
	app *demo.App
	url string
}

func newShop(t *testing.T, more func(*demo.App, *dynamodb.Client, string)) *shop {
	t.Helper()
	client, table := localdb.Test(t)
	clock := demo.NewClock(end)
	db, app, err := demo.Open(client, table, clock.Now)
	require.NoError(t, err)
	require.NoError(t, tables.Create(t.Context(), db))
	require.NoError(t, demo.Tell(t.Context(), app, clock))
	if more != nil {
		more(app, client, table)
	}
	h, err := console.Studio(t.Context(), console.App{
		Client: client, Clock: clock.Now,
		Open: func(context.Context, console.Connection) (console.Program, error) {
			return console.Program{DB: db, Handles: app}, nil
		},
		Context: func(ctx context.Context, by console.By) context.Context {
			return demo.As(ctx, demo.By{Actor: by.Actor, Reason: by.Reason})
		},
	}, console.StudioOptions{Token: token, Write: true})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return &shop{t, app, server.URL}
}

// browser is a window of a browser of its own.
type browser struct {
	*testing.T
	ctx   context.Context
	url   string
	width int64
}

// open opens the studio in a new browser. Without Chromium the test is skipped, or fails if the variable is set.
func (s *shop) open(width int, dark bool) *browser {
	s.t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv(requireVariable) != "" {
			s.t.Fatal("there is no chromium in PATH")
		}
		s.t.Skip("there is no chromium in PATH: apt-get install chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(width, 900))
	ctx, stop := chromedp.NewExecAllocator(s.t.Context(), options...)
	s.t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	s.t.Cleanup(stop)
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media) // it starts the browser
	require.NoError(s.t, err)
	ctx, stop = context.WithTimeout(ctx, 3*time.Minute)
	s.t.Cleanup(stop)
	b := &browser{s.t, ctx, s.url, int64(width)}
	b.run(chromedp.EmulateViewport(b.width, 900), chromedp.Navigate(s.url+"/?token="+token))
	return b
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	require.NoError(b, chromedp.Do(b.ctx, actions...))
}

// evaluate returns the value of a JavaScript expression.
func evaluate[T any](b *browser, expression string) T {
	b.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	require.NoError(b, err, expression)
	return v
}

func (b *browser) visit(path string) {
	b.Helper()
	b.run(chromedp.Navigate(b.url + "/" + path))
}

// click clicks what has a text, and waits for the next page.
func (b *browser) click(text string) {
	b.Helper()
	b.loaded(func() {
		b.run(chromedp.Click(fmt.Sprintf(`//main//*[self::a or self::button][contains(., %q)]`, text)))
	})
}

// loaded runs f and waits until it has loaded another page.
func (b *browser) loaded(f func()) {
	b.Helper()
	evaluate[bool](b, `window.before = true`)
	f()
	for range 400 {
		if ready, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`!window.before && document.readyState === "complete"`)); err == nil && ready {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	require.Fail(b, "no page was loaded")
}

// set gives a field a value.
func (b *browser) set(field, value string) {
	b.Helper()
	evaluate[string](b, fmt.Sprintf("document.getElementsByName(%q)[0].value = %q", field, value))
}

func (b *browser) text() string {
	b.Helper()
	return evaluate[string](b, `document.body.innerText`)
}

// until waits for a text, such as the result of long work.
func (b *browser) until(text string) {
	b.Helper()
	for range 200 {
		if now, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body?.innerText ?? ""`)); err == nil && strings.Contains(now, text) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.Fail(b, "there is no such text", "%q in %s", text, b.text())
}

// fits requires that a page is not wider than the window.
func (b *browser) fits() {
	b.Helper()
	require.LessOrEqual(b, evaluate[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`), 0, "the page is wider than the window")
}

// picture writes what a window so high shows, for the documents.
func (b *browser) picture(name string, height int64) {
	b.Helper()
	b.fits()
	if !*pictures {
		return
	}
	b.run(chromedp.EmulateViewport(b.width, height))
	image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	require.NoError(b, err)
	b.run(chromedp.EmulateViewport(b.width, 900))
	require.NoError(b, os.WriteFile(filepath.Join("..", "..", "docs", "img", name+".png"), image, 0o644))
}

func TestStudio_StoryOfTheNight(t *testing.T) {
	s := newShop(t, nil)
	b := s.open(1100, false)
	b.picture("studio-home", 900)
	clicks := 0
	click := func(text string) { clicks++; b.click(text) }
	clicks++
	b.set("text", "ben@example.org")
	b.loaded(func() { b.run(chromedp.Click(`//form[@role="search"]/button`)) })
	require.Contains(t, b.text(), "Was it deleted, or is the value an earlier one?")
	click("Search all items")
	b.until("customerId=c-2")
	click("customerId=c-2")
	require.Contains(t, b.text(), "nightly clean-up")
	b.picture("studio-strata", 1160)
	click("Restore")
	require.Contains(t, b.text(), "becomes the item again")
	b.set("actor", "on call")
	b.set("reason", "deleted by the import")
	b.picture("studio-restore", 560)
	click("Restore")
	require.Contains(t, b.text(), "held by this item")
	require.Contains(t, b.text(), "deleted by the import")
	require.LessOrEqual(t, clicks, 6)
	c, err := s.app.Customers.Get(t.Context(), demo.Customer{CustomerID: "c-2"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, "on call", c.Actor)
}

func TestStudio_TwoPeopleEdit(t *testing.T) {
	s := newShop(t, nil)
	one, two := s.open(1100, false), s.open(1100, false)
	for b, points := range map[*browser]string{one: "500", two: "90"} {
		b.visit("item?entity=Customer&p.customerId=c-1")
		b.click("Edit")
		b.set("v.points", points)
		b.click("Show the plan")
	}
	one.set("actor", "ada")
	one.set("reason", "competition")
	one.click("Change")
	two.set("actor", "bob")
	two.set("reason", "correction")
	two.click("Change")
	text := two.text()
	for _, part := range []string{"was changed since you opened it", "Nothing was written", "10", "500", "90", "ada", "competition"} {
		require.Contains(t, text, part)
	}
	two.picture("studio-conflict", 440)
	c, err := s.app.Customers.Get(t.Context(), demo.Customer{CustomerID: "c-1"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, 500, c.Points)
	two.click("Show the plan on what is there now")
	two.set("actor", "bob")
	two.click("Change")
	c, err = s.app.Customers.Get(t.Context(), demo.Customer{CustomerID: "c-1"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, 90, c.Points)
}

func TestStudio_BrowseAndPlot(t *testing.T) {
	s := newShop(t, nil)
	b := s.open(1100, false)
	b.visit("browse?entity=Customer&index=byCity&p.city=Oslo")
	require.Contains(t, b.text(), "Ann")
	b.picture("studio-browse", 900)
	b.visit("item?entity=Reading&p.sensor=cold-store-1&plot=temperature")
	require.Regexp(t, `late: 8\s+repeats the one before: \d`, b.text())
	b.picture("studio-series", 790)
}

// Every page fits a telephone, and is in the colours that the reader prefers.
func TestStudio_OnATelephone(t *testing.T) {
	s := newShop(t, nil)
	for _, dark := range []bool{false, true} {
		b := s.open(390, dark)
		for _, path := range []string{
			"", "browse?entity=Customer", "browse?entity=Customer&all=1", "browse?entity=Order&index=open&p.status=open", "item?entity=Customer&p.customerId=c-2", "item?entity=Customer&p.customerId=c-1",
			"item?entity=Reading&p.sensor=cold-store-1", "edit?entity=Customer&p.customerId=c-1&verb=edit", "edit?entity=Customer&p.customerId=c-1&verb=purge",
		} {
			b.visit(path)
			b.fits()
			light := evaluate[bool](b, `getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).every((n) => n > 127)`)
			require.Equal(t, !dark, light, path)
		}
	}
}

// The search, a link of the picture and the form are reached by keys.
func TestStudio_ByKeyboard(t *testing.T) {
	s := newShop(t, nil)
	b := s.open(1100, false)
	b.visit("")
	b.run(chromedp.KeyEvent("/"))
	require.Equal(t, "text", evaluate[string](b, `document.activeElement.id`))
	b.set("text", "") // the protocol sends the character of a key that the page has taken
	b.loaded(func() { b.run(chromedp.KeyEvent("ann@example.org\r")) })
	require.Contains(t, b.text(), "Ann")
	for range 60 {
		b.run(chromedp.KeyEvent("\t"))
		name := evaluate[string](b, `document.activeElement.querySelector("title")?.textContent ?? ""`)
		if strings.HasPrefix(name, "current") {
			b.run(chromedp.KeyEvent("\r"))
			return
		}
	}
	require.Fail(t, "no state of the picture gets the focus")
}

// hostile are values that would run a script, leave their place, or load something.
var hostile = []string{
	`<script>window.broken=1</script>`, `"><script>window.broken=1</script>`, `'><img src=x onerror="window.broken=1">`, `<svg onload=window.broken=1>`, `</title><script>window.broken=1</script>`, `</dd></dl></main><h1>injected</h1>`,
	`<style>*{display:none}</style>`, `<iframe src="javascript:window.broken=1"></iframe>`, `javascript:window.broken=1`, `data:text/html,<script>window.broken=1</script>`, `{{.Form}}`, `{{template "layout"}}`, `<!--`, `-->`, `]]>`,
	`<![CDATA[<script>window.broken=1</script>]]>`, `&lt;script&gt;window.broken=1&lt;/script&gt;`, `&amp;amp;`, "\u202e reversed", "\u2066isolated", "a\u0000b", "\x1b[31mred\x1b[0m", "line\nbreak\r\nmore", "tab\there", "\u2028\u2029", "\ufeffbom",
	"e\u0301\u0301\u0301\u0301\u0301", strings.Repeat("x", 5000), strings.Repeat("wide ", 1000), strings.Repeat("字", 1500), "👩‍👩‍👧‍👦", `' OR 1=1 --`, `../../etc/passwd`, `%00%0d%0aSet-Cookie: a=b`, "\r\nSet-Cookie: a=b", `"`, `'`, "`", `\`,
	`#a?b&c=d+e%20f`, `<a href="https://evil.example">click</a>`, `<meta http-equiv="refresh" content="0;url=https://evil.example">`, `<form action="https://evil.example"><button>Show</button></form>`, `<base href="https://evil.example/">`,
}

// No hostile value runs, loads something, leaves its place, or makes a page wider than the window.
func TestStudio_HostileValues(t *testing.T) {
	require.GreaterOrEqual(t, len(hostile), 40)
	s := newShop(t, func(app *demo.App, client *dynamodb.Client, table string) {
		ctx := demo.As(t.Context(), demo.By{Actor: "<b>actor</b>", Reason: `<script>window.broken=1</script>`})
		for i, text := range hostile {
			_, err := app.Customers.Create(ctx, demo.Customer{CustomerID: fmt.Sprintf("h-%02d", i), Name: text, Email: fmt.Sprintf("%d@example.org", i), City: "Hostile", Address: demo.Address{Street: text, Notes: []string{text, text}}})
			require.NoError(t, err)
		}
		_, err := app.Customers.Create(ctx, demo.Customer{CustomerID: hostile[1], Name: strings.Repeat("<b>", 60_000), Email: "key@example.org", City: "Hostile"})
		require.NoError(t, err)
		key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "$shop#v1#customer#h-00"}, "sk": &types.AttributeValueMemberS{Value: "$shop#v1#customer"}}
		got, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key})
		require.NoError(t, err)
		for i := range 10_000 {
			got.Item[fmt.Sprintf(`<i>%d"`, i)] = &types.AttributeValueMemberS{Value: "<b>"}
		}
		_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: got.Item})
		require.NoError(t, err)
	})
	for _, width := range []int{390, 1100} {
		b := s.open(width, false)
		look := func(path string) {
			b.visit(path)
			b.fits()
			broken := evaluate[string](b, `[typeof window.broken === "undefined" ? "" : "a script was run", document.querySelectorAll("script").length === 1 ? "" : "scripts", document.querySelectorAll("h1").length === 1 ? "" : "headings",
				document.querySelectorAll("iframe, img, style, base, meta[http-equiv], main b i, bdi *").length ? "elements" : "", document.querySelectorAll('[href*="evil"]:not([href^="item"]), [href^="javascript"], [src*="evil"], form[action*="evil"]').length ? "links" : "",
				document.querySelector("footer").getBoundingClientRect().height > 0 ? "" : "nothing is shown"].join("")`)
			require.Empty(t, broken, path)
		}
		look("browse?entity=Customer&index=byCity&p.city=Hostile")
		look("browse?entity=Customer&index=byCity&p.city=Hostile&desc=1")
		for i := range hostile {
			look(fmt.Sprintf("item?entity=Customer&p.customerId=h-%02d", i))
			if i%8 == 0 {
				look(fmt.Sprintf("edit?entity=Customer&p.customerId=h-%02d&verb=edit", i))
			}
		}
		look("item?entity=Customer&p.customerId=%22%3E%3Cscript%3Ewindow.broken%3D1%3C%2Fscript%3E")
	}
	require.Equal(t, 200, status(t, s.url+"/studio.css"))
}

func status(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	out, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, out.Body.Close())
	return out.StatusCode
}
