package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/examples/studio/demo"
)

// A struct is edited as JSON, with an error that names the place, and a secret is replaced, which no page has.
func TestStudio_EditsJSONAndReplacesASecret(t *testing.T) {
	s := newShop(t, nil)
	b := s.open(1100, false)
	b.visit("edit?entity=Customer&p.customerId=c-1&verb=edit")
	require.NotContains(t, evaluate[string](b, `document.documentElement.outerHTML`), "4711")
	require.Contains(t, evaluate[string](b, `document.getElementsByName("v.address")[0].value`), `"street": "Harbour Street 1"`)
	b.set("v.address", `{"street":"North Quay 1","notes":["ring",7]}`)
	b.click("Show the plan")
	require.Contains(t, b.text(), "address.notes[1] must be a text, and is a number")
	b.visit("edit?entity=Customer&p.customerId=c-1&verb=edit")
	b.set("v.address", "{\"street\": \"North Quay 1\",\n\"notes\": [\"<b>ring</b>\"]}")
	b.set("secret.pin", "replace")
	b.set("v.pin", "0815-secret")
	b.click("Show the plan")
	b.fits()
	require.Contains(t, b.text(), "North Quay 1")
	require.NotContains(t, evaluate[string](b, `document.documentElement.outerHTML`), "0815")
	b.set("actor", "on call")
	b.click("Change")
	require.NotContains(t, evaluate[string](b, `document.documentElement.outerHTML`), "0815")
	c, err := s.app.Customers.Get(t.Context(), demo.Customer{CustomerID: "c-1"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, demo.Address{Street: "North Quay 1", Notes: []string{"<b>ring</b>"}}, c.Address)
	require.Equal(t, "0815-secret", c.Pin)
}

// A long value is saved as a file: the browser stays on its page, and runs nothing of it.
func TestStudio_SavesALongValue(t *testing.T) {
	long := strings.Repeat("<script>window.broken=1</script>", 200)
	s := newShop(t, func(app *demo.App, _ *dynamodb.Client, _ string) {
		_, err := app.Customers.Create(demo.As(t.Context(), demo.By{Actor: "shop"}), demo.Customer{CustomerID: "long", Name: long, Email: "long@example.org", City: "Oslo"})
		require.NoError(t, err)
	})
	b := s.open(1100, false)
	dir := t.TempDir()
	_, err := chromedp.Call(b.ctx, cdp.SetDownloadBehavior, cdp.SetDownloadBehaviorParams{Behavior: cdp.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir})
	require.NoError(t, err)
	b.set("text", `city=Oslo long@example.org`) // several values
	b.loaded(func() { b.run(chromedp.Click(`//form[@role="search"]/button`)) })
	at := evaluate[string](b, `location.href`)
	require.Contains(t, at, "customerId=long")
	b.fits()
	b.run(chromedp.Click(`//main//a[contains(., "download all of it")]`))
	file := filepath.Join(dir, "Customer-name.txt")
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(file)
		return err == nil && string(text) == long
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, at, evaluate[string](b, `location.href`))
	require.Equal(t, "undefined", evaluate[string](b, `typeof window.broken`))
}
