package console

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// after calls a function once, after a request of a kind whose body has a text.
type after struct {
	dynamodb.HTTPClient
	verb, text string
	call       func()
}

func (a *after) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	out, err := a.HTTPClient.Do(r)
	if a.call != nil && strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+a.verb) && bytes.Contains(body, []byte(a.text)) {
		call := a.call
		a.call = nil
		call()
	}
	return out, err
}

// What is restored is what was listed, and as it was listed: neither what is deleted after the list was made, nor what is another copy since then, also if it changes
// right before its write.
func TestRestore_RestoresOnlyWhatItListed(t *testing.T) {
	t.Parallel()
	o := newOnCall(t)
	ctx, c := as(t.Context(), By{Actor: "shop"}), entity.Fields[Customer]()
	trash := entity.Must(lifecycle.Of(o.customers))
	customer := func(id string) Customer { return Customer{Tenant: "t-1", ID: id} }
	remove := func(id string) {
		o.now = o.now.Add(time.Hour)
		require.NoError(t, o.customers.Delete(ctx, customer(id)))
	}
	again := func(id string) { // another copy
		entity.Must(trash.Restore(ctx, customer(id)))
		entity.Must(o.customers.Update(ctx, customer(id), entity.Set(&c.City, "Ulm")))
		remove(id)
	}
	for _, id := range []string{"listed", "changed", "changes", "later"} {
		entity.Must(o.customers.Create(ctx, Customer{Tenant: "t-1", ID: id, City: "Bonn"}))
	}
	for _, id := range []string{"listed", "changed", "changes"} {
		remove(id)
	}

	app := o.program()
	reads := &after{verb: "GetItem", text: "#changes"}
	app.Client = dynamodb.New(o.client.Options(), func(opts *dynamodb.Options) {
		reads.HTTPClient = opts.HTTPClient
		opts.HTTPClient = reads
	})
	answers := &answer{text: strings.NewReader("y\n"), before: func() {
		again("changed")
		remove("later")
		reads.call = func() { again("changes") } // it was compared with the list before
	}}
	var out strings.Builder
	code := Run(t.Context(), app, Streams{In: answers, Out: &out, Err: &out}, []string{"--table", o.table, "--actor", "ann", "run", "restore", "Customer"})
	require.Equal(t, ExitFailed, code, out.String())
	require.Nil(t, reads.call, out.String())
	for _, want := range []string{"Restore 3 deleted items of Customer?", "Customer: restored 1 item\n", "2 items changed after the list was made"} {
		require.Contains(t, out.String(), want)
	}
	require.Equal(t, "ann", entity.Must(o.customers.Get(t.Context(), customer("listed"))).By)
	for _, id := range []string{"changed", "changes", "later"} {
		_, err := o.customers.Get(t.Context(), customer(id))
		require.ErrorIs(t, err, entity.ErrNotFound, id)
	}
}
