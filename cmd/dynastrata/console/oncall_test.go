package console

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Customer requires to know who writes it, and why.
type Customer struct {
	_ entity.Key           `name:"Customer" pk:"$#{tenant}#{id}" sk:"$" stream:"both"`
	_ entity.GSI           `name:"byCity" index:"gsi1" pk:"$#{city}" sk:"$#{id}"`
	_ unique.Constraint    `name:"email" fields:"{email|lower}"`
	_ unique.Constraint    `name:"pin" fields:"pin"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	Tenant    string    `dynamodbav:"tenant"`
	ID        string    `dynamodbav:"id"`
	Email     string    `dynamodbav:"email,omitempty"`
	City      string    `dynamodbav:"city,omitempty"`
	Pin       string    `dynamodbav:"pin,omitempty" entity:"secret"`
	By        string    `dynamodbav:"by" entity:"context=actor,required"`
	Why       string    `dynamodbav:"why,omitempty" entity:"context=reason"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=s"`
}

// onCall is a table of customers at a fixed time.
type onCall struct {
	*lab
	customers *entity.Store[Customer]
}

type byKey struct{}

func as(ctx context.Context, by By) context.Context { return context.WithValue(ctx, byKey{}, by) }

// late is a noon at which nothing has expired for the clock of DynamoDB Local, which removes what has.
var late = noon.AddDate(10, 0, 0)

func newOnCall(t *testing.T) onCall {
	t.Helper()
	l := &lab{t: t, now: late, prefix: rand.Text()[:5], lock: "dynastrata.lock"}
	l.client, l.table = localdb.Test(t)
	l.db = entity.Must(entity.Open(l.client, entity.Config{Table: l.table, Clock: func() time.Time { return l.now }, FromContext: func(ctx context.Context, name string) (string, bool) {
		by, ok := ctx.Value(byKey{}).(By)
		return map[string]string{"actor": by.Actor, "reason": by.Reason}[name], ok
	}}))
	o := onCall{l, entity.Must(entity.New[Customer](l.db))}
	require.NoError(t, tables.Create(t.Context(), l.db))
	return o
}

// write writes the customers of a short story: of c-1 whose address changes, and of c-2 who is deleted.
func (o onCall) write() {
	ctx, c := as(o.t.Context(), By{"shop", "sign up"}), entity.Fields[Customer]()
	one := entity.Must(o.customers.Create(ctx, Customer{Tenant: "t-1", ID: "c-1", Email: "ada@example.org", City: "Bonn", Pin: "4711-1"}))
	two := entity.Must(o.customers.Create(ctx, Customer{Tenant: "t-1", ID: "c-2", Email: "Bea@example.org", City: "Bonn", Pin: "4711-2"}))
	o.now = o.now.Add(time.Hour)
	entity.Must(o.customers.Update(as(ctx, By{"ada", "moved"}), one, entity.Set(&c.Email, "ada@example.com"), entity.Set(&c.City, "Köln"), entity.Set(&c.Pin, "4711-3")))
	o.now = o.now.Add(time.Hour)
	require.NoError(o.t, o.customers.Delete(as(ctx, By{"ann", "asked to"}), two))
	o.now = o.now.Add(time.Hour)
}

// program is the program of the shop.
func (o onCall) program() App {
	return App{Context: as, Clock: func() time.Time { return o.now }, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: o.db, Handles: &struct{ Customers *entity.Store[Customer] }{o.customers}}, nil
	}}
}

// do runs the command as the program does.
func (o onCall) do(code int, args string) result {
	o.t.Helper()
	var words []string
	for i, quoted := range strings.Split(args, "'") {
		if i%2 == 1 {
			words = append(words, quoted)
			continue
		}
		words = append(words, strings.Fields(quoted)...)
	}
	r := o.start(o.t.Context(), o.program(), "", append([]string{"--table", o.table}, words...)...)
	require.Equal(o.t, code, r.code, "%s: %s", args, r.out+r.err)
	require.NotContains(o.t, r.out+r.err, "4711", args)
	return r
}

// record runs commands, and compares what they print with a golden file.
func (o onCall) record(name string, commands []string) {
	o.t.Helper()
	var all strings.Builder
	for _, line := range commands {
		var code int
		args := line
		if _, err := fmt.Sscanf(line, "%d ", &code); err == nil {
			_, args, _ = strings.Cut(line, " ")
		}
		r := o.do(code, args)
		all.WriteString("$ shop " + args + "\n" + r.out + r.err + "\n")
	}
	golden(o.t, name, all.String())
}

// Writes of one item print what they would do, who they are by, and ask; a write that requires an actor is refused before the question.
func TestWrites_SayWhoAndWhat(t *testing.T) {
	t.Parallel()
	o := newOnCall(t)
	o.write()
	o.record("writes.txt", []string{
		"2 undelete Customer tenant=t-1 id=c-2",
		"undelete --dry-run --actor ann Customer tenant=t-1 id=c-2",
		"5 undelete --actor ann Customer tenant=t-1 id=c-2",
		"--yes undelete --actor ann --reason 'a mistake' Customer tenant=t-1 id=c-2",
		"4 --yes undelete --actor ann Customer tenant=t-1 id=c-2",
		"4 --yes undelete --actor ann Customer tenant=t-1 id=c-9",
		"2 revert --actor ann Customer tenant=t-1 id=c-1",
		"2 revert --actor ann Customer tenant=t-1 id=c-1 9",
		"revert --dry-run --actor ann --reason 'moved back' Customer tenant=t-1 id=c-1 1",
		"--json revert --dry-run --actor ann Customer tenant=t-1 id=c-1 1",
		"--yes revert --actor ann --reason 'moved back' Customer tenant=t-1 id=c-1 1",
		"--yes revert --actor ann Customer tenant=t-1 id=c-1 1",
		"get Customer tenant=t-1 id=c-1",
	})
	got := entity.Must(o.customers.Get(t.Context(), Customer{Tenant: "t-1", ID: "c-2"}))
	require.Equal(t, []string{"ann", "a mistake"}, []string{got.By, got.Why})
}

// A write is refused if something else was shown.
func TestWrites_AreGuardedByWhatWasShown(t *testing.T) {
	t.Parallel()
	o := newOnCall(t)
	o.write()
	ctx, c := as(t.Context(), By{Actor: "shop"}), entity.Fields[Customer]()
	two := Customer{Tenant: "t-1", ID: "c-2"}
	race := func(other func(), args string) {
		t.Helper()
		app := o.program()
		answers := &answer{before: other, text: strings.NewReader("y\n")}
		var out strings.Builder
		app.Client = o.client
		code := Run(t.Context(), app, Streams{In: answers, Out: &out, Err: &out}, append([]string{"--table", o.table, "--actor", "ann"}, strings.Fields(args)...))
		require.Equal(t, ExitFailed, code, out.String())
		require.Contains(t, out.String(), "it was changed after it was shown; nothing was written")
	}
	trash := entity.Must(lifecycle.Of(o.customers))
	race(func() {
		entity.Must(trash.Restore(ctx, two))
		o.now = o.now.Add(time.Hour)
		require.NoError(t, o.customers.Delete(ctx, two))
	}, "undelete Customer tenant=t-1 id=c-2")
	race(func() { entity.Must(trash.Restore(ctx, two)) }, "undelete Customer tenant=t-1 id=c-2")
	race(func() {
		entity.Must(o.customers.Update(ctx, Customer{Tenant: "t-1", ID: "c-1"}, entity.Set(&c.City, "Ulm")))
	}, "revert Customer tenant=t-1 id=c-1 1")
}

// answer calls a function before a text is read.
type answer struct {
	before func()
	text   *strings.Reader
}

func (a *answer) Read(p []byte) (int, error) {
	if a.before != nil {
		a.before()
		a.before = nil
	}
	return a.text.Read(p)
}

// A program without App.Context takes no actor, and says what is missing.
func TestActor_NeedsAppContext(t *testing.T) {
	t.Parallel()
	o := newOnCall(t)
	o.write()
	app := App{Clock: func() time.Time { return o.now }, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: o.db, Handles: &struct{ Customers *entity.Store[Customer] }{o.customers}}, nil
	}}
	r := o.start(t.Context(), app, "", "--actor", "ann", "undelete", "Customer", "tenant=t-1", "id=c-2")
	require.Equal(t, ExitUsage, r.code)
	require.Contains(t, r.err, "sets App.Context")
	r = o.start(t.Context(), app, "", "undelete", "Customer", "tenant=t-1", "id=c-2")
	require.Equal(t, ExitUsage, r.code)
	require.Contains(t, r.err, "EDD-9251")
	require.Contains(t, r.err, "the program has to set App.Context")
}

// A dry run of restores names what it would restore, and what it cannot: a value that is taken, also by another of the same run.
func TestRestore_DoesWhatItsDryRunSays(t *testing.T) {
	t.Parallel()
	o := newOnCall(t)
	ctx := as(t.Context(), By{Actor: "shop"})
	for i, email := range []string{"a@x", "a@x", "b@x", "c@x"} {
		v := entity.Must(o.customers.Create(ctx, Customer{Tenant: "t-1", ID: fmt.Sprint("c-", i), Email: email}))
		require.NoError(t, o.customers.Delete(ctx, v))
	}
	entity.Must(o.customers.Create(ctx, Customer{Tenant: "t-1", ID: "c-9", Email: "b@x"}))
	dry := o.do(ExitOK, "--actor ann run restore --dry-run Customer")
	for _, want := range []string{"would restore Customer tenant=t-1 id=c-3, deleted at 2036-04-22T12:00:01", "not restored Customer tenant=t-1 id=c-2: email is taken by Customer tenant=t-1 id=c-9", "email is that of another that is restored", "would restore 2 items, and not 2 others"} {
		require.Contains(t, dry.out, want)
	}
	require.Contains(t, o.do(ExitOK, "--json --actor ann run restore --dry-run Customer").out, `"items":2`)
	r := o.do(ExitFailed, "--yes --actor ann run restore Customer")
	require.Contains(t, r.out, "restored 2 items")
	require.Contains(t, r.err, "2 items could not be restored")
}
