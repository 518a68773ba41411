package subject_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// person has the subject in its key.
type person struct {
	_ entity.Key           `name:"Person" pk:"$#{personId}" sk:"$"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete `unique:"reserve"`

	ID        string    `dynamodbav:"personId" entity:"subject"`
	Email     string    `dynamodbav:"email"`
	Phone     string    `dynamodbav:"phone,omitempty" entity:"secret"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// order names the subject in an attribute, which can change.
type order struct {
	_ entity.Key        `name:"Order" pk:"$#{orderId}" sk:"$"`
	_ unique.Constraint `name:"number" fields:"number"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`

	ID        string    `dynamodbav:"orderId"`
	Customer  string    `dynamodbav:"customer" entity:"subject"`
	Number    string    `dynamodbav:"number,omitempty"`
	Amount    int       `dynamodbav:"amount"`
	Note      string    `dynamodbav:"note,omitempty" entity:"secret"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// paper names several subjects, and has no history.
type paper struct {
	_ entity.Key `name:"Paper" pk:"$#{shelf}" sk:"$#{paperId}"`

	Shelf   string   `dynamodbav:"shelf"`
	ID      string   `dynamodbav:"paperId"`
	Author  string   `dynamodbav:"author,omitempty" entity:"subject"`
	Readers []string `dynamodbav:"readers,stringset,omitempty" entity:"subject"`
}

// trip has a subject of its own in each event.
type trip struct {
	_ entity.Key        `name:"Trip" pk:"$#{carId}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Car    string    `dynamodbav:"carId"`
	Driver string    `dynamodbav:"driver" entity:"append,subject"`
	Km     int       `dynamodbav:"km" entity:"append"`
	At     time.Time `dynamodbav:"at"`
}

// device names the subject in its current item: all its events are the subject's.
type device struct {
	_ entity.Key        `name:"Device" pk:"$#{deviceId}" sk:"$"`
	_ timeseries.Events `orderBy:"at" shards:"3" late:"record"`

	ID    string    `dynamodbav:"deviceId"`
	Owner string    `dynamodbav:"owner,omitempty" entity:"subject"`
	Level int       `dynamodbav:"level" entity:"append"`
	At    time.Time `dynamodbav:"at"`
}

// session expires, with its history and its claims.
type session struct {
	_ entity.Key        `name:"Session" pk:"$#{sessionId}" sk:"$"`
	_ lifecycle.TTL     `attr:"_ttl" after:"1h"`
	_ unique.Constraint `name:"user" fields:"user"`
	_ versioned.Retain  `ttl:"24h"`

	ID        string    `dynamodbav:"sessionId"`
	User      string    `dynamodbav:"user" entity:"subject"`
	Page      string    `dynamodbav:"page,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type totals struct {
	Last   string `dynamodbav:"last"`
	Amount int    `dynamodbav:"amount"`
}

type app struct {
	Persons  *entity.Store[person]
	Trash    *lifecycle.Deleted[person]
	Orders   *entity.Store[order]
	Bin      *lifecycle.Deleted[order]
	Past     *versioned.History[order]
	Papers   *entity.Store[paper]
	Trips    *timeseries.Series[trip]
	Devices  *timeseries.Series[device]
	Sessions *entity.Store[session]
	Totals   *timeline.View[string, totals] `entity:"totals"`
}

func byCustomer(a *app) timeline.Projection[string, totals] {
	customer := func(o order) string { return o.Customer }
	add := func(t *totals, e timeline.Event[order]) error {
		t.Last, t.Amount = e.Payload.Customer, t.Amount+e.Payload.Amount
		return nil
	}
	return timeline.Projection[string, totals]{
		Name: "totals", Version: 1, Source: timeline.Versions(a.Past),
		Handlers: []timeline.Handler[string, totals]{
			timeline.On("order.created", customer, add),
			timeline.On("order.updated", customer, add),
		},
	}
}

// lab is a table with an entity of every kind.
type lab struct {
	*dbtest.Bench
	*app
}

func newLab(t testing.TB, configure ...func(*entity.Config)) *lab {
	t.Helper()
	l := &lab{Bench: dbtest.Open(t, configure...)}
	l.app = l.bind(l.DB)
	l.CreateTables()
	return l
}

func (l *lab) bind(db *entity.DB) *app {
	l.T.Helper()
	a, err := entity.Bind[app](db, timeline.Define(byCustomer))
	require.NoError(l.T, err)
	return a
}

// subjects returns the Subjects of the lab's database.
func (l *lab) subjects(o subject.Options) *subject.Subjects {
	l.T.Helper()
	x, err := subject.New(l.DB, o)
	require.NoError(l.T, err)
	return x
}

// other returns the Subjects of another program with a configuration of its own.
func (l *lab) other(client entity.Client, o subject.Options, configure ...func(*entity.Config)) *subject.Subjects {
	l.T.Helper()
	db := l.Open(client, configure...)
	l.bind(db)
	x, err := subject.New(db, o)
	require.NoError(l.T, err)
	return x
}

// erase erases and requires that nothing went wrong.
func (l *lab) erase(x *subject.Subjects, id string) subject.Report {
	l.T.Helper()
	r, err := x.Erase(l.Ctx, subject.Request{ID: id, Reference: "request 17"})
	require.NoError(l.T, err)
	return r
}

// lines exports and returns the lines.
func (l *lab) lines(x *subject.Subjects, req subject.Request) ([]subject.Line, subject.Report) {
	l.T.Helper()
	var b bytes.Buffer
	r, err := x.Export(l.Ctx, req, &b)
	require.NoError(l.T, err)
	return parsed(l.T, &b), r
}

func parsed(t testing.TB, b *bytes.Buffer) (all []subject.Line) {
	t.Helper()
	s := bufio.NewScanner(b)
	for s.Scan() {
		var x subject.Line
		require.NoError(t, json.Unmarshal(s.Bytes(), &x))
		all = append(all, x)
	}
	return all
}

// naming returns the keys of the stored items with the text anywhere, in their order.
func (l *lab) naming(text string) (keys []string) {
	for key, it := range l.ItemsByKey() {
		if has(it, text) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// has reports whether a text is in a key or value of an item.
func has(it dbtest.Item, text string) bool {
	for name, av := range it {
		b, err := json.Marshal(av)
		if err != nil || strings.Contains(string(b), text) || strings.Contains(name, text) {
			return true
		}
	}
	return false
}

// kept returns the stored items without those that name a subject and the rows and manifests of timelines.
func (l *lab) kept(text string) map[string]dbtest.Item {
	all := l.ItemsByKey()
	maps.DeleteFunc(all, func(_ string, it dbtest.Item) bool {
		return has(it, text) || strings.HasPrefix(dbtest.Text(it["__edd_e__"]), "Timeline")
	})
	return all
}

// entityOf returns the report of an entity.
func entityOf(t testing.TB, r subject.Report, name string) subject.EntityReport {
	t.Helper()
	at := slices.IndexFunc(r.Entities, func(e subject.EntityReport) bool { return e.Entity == name })
	require.GreaterOrEqual(t, at, 0)
	return r.Entities[at]
}

const (
	ada = "ada-lovelace"
	bob = "bob-the-other"
)

// live gives two persons lives with every feature. Ada is the subject; nothing of bob's may be lost.
func (l *lab) live(ctx context.Context) {
	for _, who := range []string{ada, bob} {
		p, err := l.Persons.Create(ctx, person{ID: who, Email: who + "@example.org", Phone: "+1"})
		l.OK(p, err)
		f := entity.Fields[person]()
		l.OK(l.Persons.Update(ctx, p, entity.Set(&f.Email, who+"@example.com")))
		l.OK(l.Orders.Create(ctx, order{ID: "o-" + who, Customer: who, Number: "n-" + who, Amount: 5, Note: "n"}))
		l.OK(l.Orders.Create(ctx, order{ID: "gone-" + who, Customer: who, Number: "m-" + who}))
		require.NoError(l.T, l.Orders.Delete(ctx, order{ID: "gone-" + who}))
		l.OK(l.Papers.Create(ctx, paper{Shelf: "s", ID: "by-" + who, Author: who, Readers: []string{"x"}}))
		l.OK(l.Sessions.Create(ctx, session{ID: "s-" + who, User: who}))
		for i := range 3 {
			at := dbtest.Start.Add(time.Duration(i) * time.Minute)
			l.OK(l.Devices.Append(ctx, device{ID: "d-" + who, Level: i, At: at}))
			l.OK(l.Trips.Append(ctx, trip{Car: "own-" + who, Driver: who, Km: i, At: at}))
			l.OK(l.Trips.Append(ctx, trip{Car: "shared", Driver: who, Km: i, At: dbtest.Start.Add(time.Duration(len(who)*100+i) * time.Second)}))
		}
		d := entity.Fields[device]()
		l.OK(l.Devices.Update(ctx, device{ID: "d-" + who}, entity.Set(&d.Owner, who)))
	}
	// An order of ada's becomes bob's, and one of bob's ada's.
	f := entity.Fields[order]()
	l.OK(l.Orders.Create(ctx, order{ID: "passed", Customer: ada, Number: "p-1"}))
	l.OK(l.Orders.Update(ctx, order{ID: "passed"}, entity.Set(&f.Customer, bob)))
	l.OK(l.Orders.Create(ctx, order{ID: "got", Customer: bob, Number: "p-2"}))
	l.OK(l.Orders.Update(ctx, order{ID: "got"}, entity.Set(&f.Customer, ada)))
	l.OK(l.Papers.Create(ctx, paper{Shelf: "s", ID: "both", Author: bob, Readers: []string{ada, bob}}))
}
