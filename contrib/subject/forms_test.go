package subject_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// letter1 is a letter in its first payload version: the subject has another name.
type letter1 struct {
	_ entity.Key `name:"Letter" pk:"$#{id}" sk:"$"`
	_ versioned.Retain

	ID      string `dynamodbav:"id"`
	To      string `dynamodbav:"to"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

type letter struct {
	_ entity.Key `name:"Letter" pk:"$#{id}" sk:"$" payload:"2"`
	_ versioned.Retain

	ID        string `dynamodbav:"id"`
	Recipient string `dynamodbav:"recipient" entity:"subject"`
	Version   int64  `dynamodbav:"version" entity:"version"`
}

var errBad = errors.New("bad")

// letters returns Subjects of letters in today's form, in a table with those that fill stores in the first one.
func letters(t *testing.T, fill func(*dbtest.Bench, *entity.Store[letter1])) (*dbtest.Bench, *entity.Store[letter], *subject.Subjects) {
	t.Helper()
	b, old := dbtest.OpenStore[letter1](t)
	fill(b, old)
	db := b.Open(b.Client)
	now := dbtest.Declare[letter](t, db, entity.Upgrade(1, func(l letter1) (letter, error) {
		if l.To == "bad" {
			return letter{}, errBad
		}
		return letter{ID: l.ID, Recipient: l.To, Version: l.Version}, nil
	}))
	x, err := subject.New(db, subject.Options{})
	require.NoError(t, err)
	return b, now, x
}

func TestErase_ReadsEarlierPayloads(t *testing.T) {
	f := entity.Fields[letter1]()
	b, now, x := letters(t, func(b *dbtest.Bench, old *entity.Store[letter1]) {
		b.OK(old.Create(b.Ctx, letter1{ID: "own", To: ada}))
		b.OK(old.Create(b.Ctx, letter1{ID: "passed", To: ada}))
		b.OK(old.Update(b.Ctx, letter1{ID: "passed"}, entity.Set(&f.To, bob)))
	})
	r, err := x.Erase(b.Ctx, subject.Request{ID: ada})
	require.NoError(t, err)
	assert.Equal(t, counts{"current": 1, "version": 1}, r.Entities[0].Erased)
	assert.Equal(t, counts{"version": 1}, r.Entities[0].Emptied)
	assert.True(t, r.Clean())
	for _, it := range b.Items() {
		assert.False(t, has(it, ada))
	}
	got, err := now.Get(b.Ctx, letter{ID: "passed"})
	require.NoError(t, err)
	assert.Equal(t, bob, got.Recipient)
}

// What cannot be read is not called erased: it stays, and stands in the report.
func TestErase_LeavesWhatItCannotRead(t *testing.T) {
	b, now, x := letters(t, func(b *dbtest.Bench, old *entity.Store[letter1]) {
		b.OK(old.Create(b.Ctx, letter1{ID: "x", To: "bad"}))
		b.OK(old.Create(b.Ctx, letter1{ID: "y", To: "bad"}))
	})
	b.OK(now.Create(b.Ctx, letter{ID: "later", Recipient: ada}))
	b.ChangeItem("$app#v1#letter#later", "$app#v1#letter", dbtest.Item{"_pv": dbtest.N("9")})
	before := b.Items()
	r, err := x.Erase(b.Ctx, subject.Request{ID: "bad"})
	require.NoError(t, err)
	require.Len(t, r.Entities[0].Left, 2)
	assert.Equal(t, 2, r.Entities[0].Left[0].Count)
	assert.Contains(t, r.Entities[0].Left[0].Reason, "cannot be read")
	assert.Empty(t, r.Entities[0].Erased)
	assert.Equal(t, before, b.Items())
	r, err = x.Erase(b.Ctx, subject.Request{ID: ada})
	require.NoError(t, err)
	assert.Equal(t, "current", string(r.Entities[0].Left[0].Kind))
	assert.False(t, r.Clean())
}

// Items of other programs and checkpoints with the id are reported, and stay.
func TestErase_ReportsWhatItDoesNotKnow(t *testing.T) {
	l := newLab(t)
	l.PutItem(dbtest.Item{"pk": dbtest.S("elsewhere"), "sk": dbtest.S("x"), "who": dbtest.S(ada)})
	l.PutItem(dbtest.Item{"pk": dbtest.S("$app#v1#order._rewrite#a"), "sk": dbtest.S("$app#v1#order._rewrite"), "__edd_e__": dbtest.S("Order._rewrite"), "after": dbtest.S(ada)})
	l.PutItem(dbtest.Item{"pk": dbtest.S("elsewhere"), "sk": dbtest.S("y"), "who": dbtest.S(bob)})
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada}))
	l.ChangeItem("$app#v1#order#o", "$app#v1#order#v#0000001", dbtest.Item{"sk": dbtest.S("$app#v1#order#new#1"), "_k": dbtest.S("n")})
	r := l.erase(l.subjects(subject.Options{}), ada)
	require.Len(t, r.Others, 2)
	assert.Contains(t, r.Others[0].Reason, "checkpoint")
	assert.Equal(t, 1, r.Others[1].Count)
	orders := entityOf(t, r, "Order")
	assert.Equal(t, counts{"current": 1, "version": 1}, orders.Erased)
	require.Len(t, orders.Left, 1)
	assert.Contains(t, orders.Left[0].Reason, "unknown kind")
	assert.Len(t, l.naming(ada), 3)
}

// note is stored as another program may: without hidden attributes.
type note struct {
	_ entity.Key `name:"Note" pk:"pk={id}" sk:"sk={page}"`

	ID    string `dynamodbav:"id"`
	Page  string `dynamodbav:"page"`
	About string `dynamodbav:"about" entity:"subject"`
}

// ping is an event of a series without current items.
type ping struct {
	_ entity.Key        `name:"Ping" pk:"$#{host}" sk:"$"`
	_ timeseries.Events `orderBy:"at" current:"none"`

	Host string    `dynamodbav:"host"`
	User string    `dynamodbav:"user" entity:"append,subject"`
	At   time.Time `dynamodbav:"at"`
}

func TestErase_TakesItemsWithoutMarksAndEventsWithoutCurrentItem(t *testing.T) {
	b := dbtest.Open(t)
	notes := dbtest.Declare[note](t, b.DB)
	pings, err := timeseries.New[ping](b.DB)
	require.NoError(t, err)
	b.CreateTables()
	for i, who := range []string{ada, bob} {
		b.OK(notes.Put(b.Ctx, note{ID: "n", Page: who, About: who}))
		b.OK(pings.Append(b.Ctx, ping{Host: "h", User: who, At: dbtest.Start.Add(time.Duration(i) * time.Second)}))
	}
	x, err := subject.New(b.DB, subject.Options{})
	require.NoError(t, err)
	r, err := x.Erase(b.Ctx, subject.Request{ID: ada})
	require.NoError(t, err)
	assert.Equal(t, counts{"current": 1}, r.Entities[0].Erased)
	assert.Equal(t, counts{"event": 1}, r.Entities[1].Erased)
	assert.True(t, r.Clean())
	assert.Len(t, b.Items(), 2)
}

// An item that changes hands between its reading and its removal stays, without the states of the subject.
func TestErase_LeavesWhatBecameAnothers(t *testing.T) {
	l := newLab(t)
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada, Number: "n"}))
	f := entity.Fields[order]()
	x := l.subjects(subject.Options{})
	a := l.bind(l.Open(l.Raw))
	changed := false
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" && !changed {
			changed = true
			l.OK(a.Orders.Update(l.Ctx, order{ID: "o"}, entity.Set(&f.Customer, bob)))
		}
		return faults.None
	})
	r := l.erase(x, ada)
	l.Wire.Inject(nil)
	require.True(t, changed)
	assert.Empty(t, entityOf(t, r, "Order").Erased)
	assert.Equal(t, counts{"version": 1}, entityOf(t, r, "Order").Emptied)
	got, err := l.Orders.Get(l.Ctx, order{ID: "o"})
	require.NoError(t, err)
	assert.Equal(t, bob, got.Customer)
	assert.NotNil(t, l.Sentinel("n"))
}

// recordLate records an event of the device d as programs did that left no trace of it on the current item.
func (l *lab) recordLate(a *app) {
	current := l.Item("$app#v1#device#d", "$app#v1#device")
	l.OK(a.Devices.Append(l.Ctx, device{ID: "d", Level: 0, At: dbtest.Start}))
	l.PutItem(current)
}

// An event that is recorded while its series is purged goes too, since the series was the subject's.
func TestErase_TakesWhatIsRecordedMeanwhile(t *testing.T) {
	l := newLab(t)
	l.OK(l.Devices.Append(l.Ctx, device{ID: "d", Level: 1, At: dbtest.Start.Add(time.Hour)}))
	d := entity.Fields[device]()
	l.OK(l.Devices.Update(l.Ctx, device{ID: "d"}, entity.Set(&d.Owner, ada)))
	a := l.bind(l.Open(l.Raw))
	late := false
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" && !late {
			late = true
			l.recordLate(a)
		}
		return faults.None
	})
	r := l.erase(l.subjects(subject.Options{}), ada)
	l.Wire.Inject(nil)
	require.True(t, late)
	assert.Equal(t, counts{"current": 1, "event": 2}, entityOf(t, r, "Device").Erased)
	assert.Empty(t, l.Items())
}

// Another program writes an item of the subject before each removal: it is left, and the report says so.
func TestErase_GivesUpWhatIsWrittenTooOften(t *testing.T) {
	l := newLab(t, dbtest.Attempts(3))
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada, Number: "n"}))
	a, n := l.bind(l.Open(l.Raw)), 0
	f := entity.Fields[order]()
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			n++
			l.OK(a.Orders.Update(l.Ctx, order{ID: "o"}, entity.Set(&f.Amount, n)))
		}
		return faults.None
	})
	r := l.erase(l.subjects(subject.Options{}), ada)
	l.Wire.Inject(nil)
	assert.Empty(t, entityOf(t, r, "Order").Erased)
	require.NotEmpty(t, entityOf(t, r, "Order").Left)
	assert.Contains(t, entityOf(t, r, "Order").Left[0].Reason, "written too often")
	assert.False(t, r.Clean())
	assert.Greater(t, n, 5)
	assert.True(t, r.Done)
	r = l.erase(l.subjects(subject.Options{}), ada)
	assert.Empty(t, l.naming(ada))
	assert.Positive(t, r.Erased())
}

// A new life begins while what was recorded late is removed: its events are nobody's until it has an owner.
func TestErase_LeavesTheEventsOfANewLife(t *testing.T) {
	l := newLab(t)
	l.OK(l.Devices.Append(l.Ctx, device{ID: "d", Level: 1, At: dbtest.Start.Add(time.Hour)}))
	d := entity.Fields[device]()
	l.OK(l.Devices.Update(l.Ctx, device{ID: "d"}, entity.Set(&d.Owner, ada)))
	a, n := l.bind(l.Open(l.Raw)), 0
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			switch n++; n {
			case 1:
				l.recordLate(a)
			case 2:
				l.OK(a.Devices.Append(l.Ctx, device{ID: "d", Level: 2, At: dbtest.Start.Add(2 * time.Hour)}))
			}
		}
		return faults.None
	})
	r := l.erase(l.subjects(subject.Options{}), ada)
	l.Wire.Inject(nil)
	require.Equal(t, 2, n)
	assert.Equal(t, counts{"current": 1, "event": 1}, entityOf(t, r, "Device").Erased)
	assert.Len(t, l.Items(), 3)
	assert.Empty(t, l.naming(ada))
}

// A past state and a claim that others replace after they were read stay.
func TestErase_LeavesWhatIsReplacedMeanwhile(t *testing.T) {
	l := newLab(t)
	f := entity.Fields[order]()
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada, Number: "n"}))
	l.OK(l.Orders.Update(l.Ctx, order{ID: "o"}, entity.Set(&f.Customer, bob)))
	l.OK(l.Sessions.Create(l.Ctx, session{ID: "s", User: ada}))
	for _, sk := range []string{"$app#v1#session", "$app#v1#session#v#0000001"} {
		l.RemoveItem(l.Item("$app#v1#session#s", sk))
	}
	claim := l.Sentinel(ada)
	require.NotNil(t, claim)
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		switch r.Operation {
		case "PutItem":
			l.ChangeItem("$app#v1#order#o", "$app#v1#order#v#0000001", dbtest.Item{"customer": dbtest.S(bob), "_w": dbtest.S("new")})
		case "DeleteItem":
			claim["_entity_pk"], claim["_w"] = dbtest.S("$app#v1#session#other"), dbtest.S("new")
			l.PutItem(claim)
		}
		return faults.None
	})
	r := l.erase(l.subjects(subject.Options{}), ada)
	l.Wire.Inject(nil)
	assert.Empty(t, entityOf(t, r, "Order").Emptied)
	assert.Empty(t, entityOf(t, r, "Order").Erased)
	assert.Equal(t, bob, dbtest.Text(l.Item("$app#v1#order#o", "$app#v1#order#v#0000001")["customer"]))
	assert.Empty(t, entityOf(t, r, "Session").Erased)
	assert.Equal(t, claim, l.Sentinel(ada))
}

// A value of an expired copy belongs to another item by now.
func TestErase_LeavesTheClaimsOfOthers(t *testing.T) {
	l := newLab(t)
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada, Number: "n"}))
	require.NoError(t, l.Orders.Delete(l.Ctx, order{ID: "o"}))
	l.Clock.Move(31 * 24 * time.Hour)
	l.OK(l.Orders.Create(l.Ctx, order{ID: "other", Customer: bob, Number: "n"}))
	claim := l.Sentinel("n")
	r := l.erase(l.subjects(subject.Options{}), ada)
	assert.Equal(t, counts{"copy": 1, "version": 2}, entityOf(t, r, "Order").Erased)
	assert.Equal(t, claim, l.Sentinel("n"))
}

// What is written behind the back of a pass is found by the next one.
func TestErase_FindsWhatIsWrittenMeanwhile(t *testing.T) {
	l := newLab(t)
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada}))
	x, pages := l.subjects(subject.Options{}), 0
	r, err := x.Erase(l.Ctx, subject.Request{ID: ada, OnProgress: func(p subject.Progress) {
		if pages++; pages <= 2 {
			assert.Equal(t, pages, p.Pass)
			l.OK(l.Orders.Create(l.Ctx, order{ID: string(rune('a' + pages)), Customer: ada}))
		}
	}})
	require.NoError(t, err)
	assert.Equal(t, 4, r.Passes)
	assert.Equal(t, counts{"current": 3, "version": 3}, entityOf(t, r, "Order").Erased)
	assert.Empty(t, l.naming(ada))
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada}))
	r, err = l.subjects(subject.Options{Passes: 2}).Erase(l.Ctx, subject.Request{ID: ada, OnProgress: func(subject.Progress) {
		pages++
		l.OK(l.Orders.Create(l.Ctx, order{ID: string(rune('a' + pages)), Customer: ada}))
	}})
	require.NoError(t, err)
	assert.True(t, r.Done)
	assert.Equal(t, 2, r.LastPass, "an item and its version")
	assert.False(t, r.Clean())
}
