package docs_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The entities of the tables of costs. Each has one feature more than costNote, or two.

type costNote struct {
	_ entity.Key `name:"Note" pk:"$#{id}" sk:"$"`

	ID   string    `dynamodbav:"id"`
	Text string    `dynamodbav:"text,omitempty"`
	Hits int       `dynamodbav:"hits"`
	Seen time.Time `dynamodbav:"seen,omitempty"`
}

type costTask struct {
	_ entity.Key `name:"Task" pk:"$#{list}" sk:"$#{id}"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{state}#{kind}" project:"keys"`

	List  string `dynamodbav:"list"`
	ID    string `dynamodbav:"id"`
	Owner string `dynamodbav:"owner,omitempty"`
	State string `dynamodbav:"state,omitempty"`
	Kind  string `dynamodbav:"kind,omitempty"`
	Text  string `dynamodbav:"text,omitempty"`
}

type costUser struct {
	_ entity.Key        `name:"User" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"{email|lower}"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email,omitempty"`
	Text  string `dynamodbav:"text,omitempty"`
}

type costDoc struct {
	_ entity.Key       `name:"Doc" pk:"$#{id}" sk:"$"`
	_ versioned.Retain `ttl:"90d"`

	ID      string    `dynamodbav:"id"`
	Text    string    `dynamodbav:"text,omitempty"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

type costLocked struct {
	_ entity.Key `name:"Locked" pk:"$#{id}" sk:"$"`
	_ versioned.Lock

	ID      string `dynamodbav:"id"`
	Text    string `dynamodbav:"text,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

type costBin struct {
	_ entity.Key           `name:"Bin" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text,omitempty"`
}

type costMember struct {
	_ entity.Key           `name:"Member" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email,omitempty"`
	Text    string `dynamodbav:"text,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

type costPass struct {
	_ entity.Key        `name:"Pass" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL     `attr:"expires" after:"8h"`
	_ unique.Constraint `name:"badge" fields:"badge"`

	ID    string    `dynamodbav:"id"`
	Badge string    `dynamodbav:"badge,omitempty"`
	Text  string    `dynamodbav:"text,omitempty"`
	Ends  time.Time `dynamodbav:"expires,omitempty" entity:"time=unix"`
}

type costSession struct {
	_ entity.Key    `name:"Session" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL `attr:"expires" after:"8h"`

	ID   string    `dynamodbav:"id"`
	Text string    `dynamodbav:"text,omitempty"`
	Ends time.Time `dynamodbav:"expires,omitempty" entity:"time=unix"`
}

type costReading struct {
	_ entity.Key        `name:"Reading" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	ID    string    `dynamodbav:"id"`
	At    time.Time `dynamodbav:"at"`
	Value *int      `dynamodbav:"value,omitempty" entity:"append"`
	Owner string    `dynamodbav:"owner,omitempty"`
}

type costLine struct {
	_ entity.Key        `name:"Line" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" current:"none" shards:"2"`

	ID   string    `dynamodbav:"id"`
	At   time.Time `dynamodbav:"at"`
	Text string    `dynamodbav:"text" entity:"append"`
}

type costRecorded struct {
	_ entity.Key        `name:"Recorded" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	ID    string    `dynamodbav:"id"`
	At    time.Time `dynamodbav:"at"`
	Value *int      `dynamodbav:"value,omitempty" entity:"append"`
}

// costs returns the table of costs of each page that has one.
func costs(t *testing.T) map[string]string {
	t.Helper()
	at := noon
	b, db := billed(t, &at)
	notes, tasks := entity.Must(entity.New[costNote](db)), entity.Must(entity.New[costTask](db))
	users, docs := entity.Must(entity.New[costUser](db)), entity.Must(entity.New[costDoc](db))
	locked, bins := entity.Must(entity.New[costLocked](db)), entity.Must(entity.New[costBin](db))
	members, passes := entity.Must(entity.New[costMember](db)), entity.Must(entity.New[costPass](db))
	sessions, readings := entity.Must(entity.New[costSession](db)), entity.Must(timeseries.New[costReading](db))
	lines, recorded := entity.Must(timeseries.New[costLine](db)), entity.Must(timeseries.New[costRecorded](db))
	leases := entity.Must(lease.New(db, lease.Options{}))
	view := entity.Must(timeline.New(db, costProjection()))
	ctx := t.Context()
	require.NoError(t, tables.Create(ctx, db))

	return map[string]string{
		"indexes":      b.costTable(t, indexCosts(ctx, tasks)),
		"changes":      b.costTable(t, changeCosts(ctx, notes)),
		"reading":      b.costTable(t, readCosts(ctx, db, notes, tasks)),
		"transactions": b.costTable(t, transactionCosts(ctx, db, notes, users)),
		"unique":       b.costTable(t, uniqueCosts(ctx, users)),
		"versions":     b.costTable(t, versionCosts(ctx, docs, locked)),
		"soft-delete":  b.costTable(t, deleteCosts(ctx, bins, members)),
		"expiry":       b.costTable(t, expiryCosts(ctx, &at, sessions, passes)),
		"series":       b.costTable(t, seriesCosts(ctx, readings, recorded, lines)),
		"leases":       b.costTable(t, leaseCosts(ctx, db, leases)),
		"timelines":    b.costTable(t, viewCosts(ctx, view)),
	}
}

func indexCosts(ctx context.Context, tasks *entity.Store[costTask]) []costRow {
	k := entity.Fields[costTask]()
	in := func(id string) error {
		return err(tasks.Create(ctx, costTask{List: "l", ID: id, Owner: "o", State: "s", Kind: "k"}))
	}
	update := func(change entity.ChangeOption) func(id string) error {
		return func(id string) error { return err(tasks.Update(ctx, costTask{List: "l", ID: id}, change)) }
	}
	return []costRow{
		{"`Create` outside the index, `Update` of what it does not carry", nil, func(id string) error { return err(tasks.Create(ctx, costTask{List: "l", ID: id})) }},
		{"", in, update(entity.Set(&k.Text, "x"))},
		{"`Create`, `Delete` in it", nil, in},
		{"", in, func(id string) error { return tasks.Delete(ctx, costTask{List: "l", ID: id}) }},
		{"`Update` of its whole key", in, update(entity.Set(&k.Owner, "x"))},
		{"`Update` of a part of a key: read first", in, update(entity.Set(&k.State, "x"))},
		{"`Update` that removes a part of a key: read first", in, update(entity.Remove(&k.Owner))},
	}
}

func changeCosts(ctx context.Context, notes *entity.Store[costNote]) []costRow {
	n := entity.Fields[costNote]()
	create := func(id string) error { return err(notes.Create(ctx, costNote{ID: id})) }
	return []costRow{
		{"`Create`, `Put`, `Upsert`, `Update`, `Touch`, `Delete`", nil, create},
		{"", create, func(id string) error { return err(notes.Put(ctx, costNote{ID: id, Text: "x"})) }},
		{"", create, func(id string) error {
			_, _, err := notes.Upsert(ctx, costNote{ID: id, Text: "x"})
			return err
		}},
		{"", create, func(id string) error { return err(notes.Update(ctx, costNote{ID: id}, entity.Add(&n.Hits, 1))) }},
		{"", create, func(id string) error { return err(notes.Touch(ctx, costNote{ID: id}, &n.Seen, time.Hour)) }},
		{"", create, func(id string) error { return notes.Delete(ctx, costNote{ID: id}) }},
		{"`Modify`", create, func(id string) error {
			return err(notes.Modify(ctx, costNote{ID: id}, func(n *costNote) error { n.Text = "x"; return nil }))
		}},
		{"`Modify` that changes nothing", create, func(id string) error {
			return err(notes.Modify(ctx, costNote{ID: id}, func(*costNote) error { return nil }))
		}},
		{"`Create` with `Idempotent`", nil, func(id string) error { return err(notes.Create(ctx, costNote{ID: id}, entity.Idempotent())) }},
		{"`Update`, `Put`, `Upsert` with `Idempotent`", create, func(id string) error {
			return err(notes.Update(ctx, costNote{ID: id}, entity.Add(&n.Hits, 1), entity.Idempotent()))
		}},
		{"", create, func(id string) error { return err(notes.Put(ctx, costNote{ID: id, Text: "x"}, entity.Idempotent())) }},
		{"", create, func(id string) error {
			_, _, err := notes.Upsert(ctx, costNote{ID: id, Text: "x"}, entity.Idempotent())
			return err
		}},
	}
}

func readCosts(ctx context.Context, db *entity.DB, notes *entity.Store[costNote], tasks *entity.Store[costTask]) []costRow {
	three := func(id string) error {
		for i := range 3 {
			if e := err(tasks.Create(ctx, costTask{List: id, ID: fmt.Sprint(i), Owner: id, State: "s", Kind: "k"})); e != nil {
				return e
			}
		}
		return nil
	}
	byOwner := entity.Must(tasks.Index("byOwner"))
	note := func(id string) error { return err(notes.Create(ctx, costNote{ID: id})) }
	return []costRow{
		{"`Get`; for each MB read: `Query`, also of an index, `Count`, `GetCollection`", note, func(id string) error {
			return err(notes.Get(ctx, costNote{ID: id}))
		}},
		{"", three, func(id string) error { return err(tasks.Query(costTask{List: id}).Collect(ctx)) }},
		{"", three, func(id string) error { return err(tasks.Query(costTask{List: id}).Count(ctx)) }},
		{"", three, func(id string) error { return err(byOwner.Query(costTask{Owner: id}).Collect(ctx)) }},
		{"", three, func(id string) error {
			var a, b []costTask
			return db.GetCollection(ctx, tasks.Query(costTask{List: id, ID: "0"}).Into(&a), tasks.Query(costTask{List: id, ID: "1"}).Into(&b))
		}},
		{"`Get`, `Query` with `Consistent`", note, func(id string) error { return err(notes.Get(ctx, costNote{ID: id}, entity.Consistent())) }},
		{"", three, func(id string) error { return err(tasks.Query(costTask{List: id}, entity.Consistent()).Collect(ctx)) }},
		{"`GetMany` of 3", three, func(id string) error {
			return err(tasks.GetMany(ctx, []costTask{{List: id, ID: "0"}, {List: id, ID: "1"}, {List: id, ID: "2"}}))
		}},
		{"`QueryAny` of 2 partitions", three, func(id string) error {
			return err(tasks.QueryAny([]costTask{{List: id}, {List: "l"}}, entity.Limit(3)).Collect(ctx))
		}},
		{"`Query` with `Hydrate`, 3 items", three, func(id string) error {
			return err(byOwner.Query(costTask{Owner: id}, entity.Hydrate()).Collect(ctx))
		}},
	}
}

func transactionCosts(ctx context.Context, db *entity.DB, notes *entity.Store[costNote], users *entity.Store[costUser]) []costRow {
	n := entity.Fields[costNote]()
	two := func(id string) error {
		return all(err(notes.Create(ctx, costNote{ID: id + "a"})), err(notes.Create(ctx, costNote{ID: id + "b"})))
	}
	many := func(id string) (values []costNote) {
		for i := range 25 {
			values = append(values, costNote{ID: fmt.Sprint(id, i)})
		}
		return values
	}
	stored := func(id string) error { return err(notes.PutMany(ctx, many(id), entity.Unconditional())) }
	return []costRow{
		{"`Transact` of 2 operations, writes or `CheckExists`", nil, func(id string) error {
			return db.Transact(ctx, notes.Op().Create(costNote{ID: id + "a"}), notes.Op().Create(costNote{ID: id + "b"}))
		}},
		{"", two, func(id string) error {
			return db.Transact(ctx, notes.Op().CheckExists(costNote{ID: id + "a"}), notes.Op().Update(costNote{ID: id + "b"}, entity.Add(&n.Hits, 1)))
		}},
		{"the same, one with `Returning`", two, func(id string) error {
			var old costNote
			return db.Transact(ctx, notes.Op().Update(costNote{ID: id + "a"}, entity.Add(&n.Hits, 1), entity.Returning(&old)),
				notes.Op().Update(costNote{ID: id + "b"}, entity.Add(&n.Hits, 1)))
		}},
		{"the same, one claims a unique value", nil, func(id string) error {
			return db.Transact(ctx, notes.Op().Create(costNote{ID: id}), users.Op().Create(costUser{ID: id, Email: id + "@t.org"}))
		}},
		{"`TransactFunc`: a `Get`, and two operations on what it read", two, func(id string) error {
			return db.TransactFunc(ctx, func(ctx context.Context) ([]entity.Op, error) {
				a, err := notes.Get(ctx, costNote{ID: id + "a"})
				return []entity.Op{
					notes.Op().Update(a, entity.Set(&n.Hits, a.Hits+1), entity.If(entity.Or(entity.NotExists(&n.Hits), entity.Eq(&n.Hits, a.Hits)))),
					notes.Op().Create(costNote{ID: id + "c"}),
				}, err
			})
		}},
		{"`TransactGet` of 2", two, func(id string) error {
			a, b := costNote{ID: id + "a"}, costNote{ID: id + "b"}
			return db.TransactGet(ctx, notes.Op().GetInto(&a), notes.Op().GetInto(&b))
		}},
		{"`GetMany` of 25", stored, func(id string) error { return err(notes.GetMany(ctx, many(id))) }},
		{"`PutMany`, `DeleteMany` of 25", nil, stored},
		{"", stored, func(id string) error { return err(notes.DeleteMany(ctx, many(id), entity.Unconditional())) }},
	}
}

func uniqueCosts(ctx context.Context, users *entity.Store[costUser]) []costRow {
	u := entity.Fields[costUser]()
	email := entity.Must(unique.Of(users, "email"))
	create := func(id string) error { return err(users.Create(ctx, costUser{ID: id, Email: id + "@x.org"})) }
	return []costRow{
		{"`Create` with a value", nil, create},
		{"`Update` of another field", create, func(id string) error {
			return err(users.Update(ctx, costUser{ID: id}, entity.Set(&u.Text, "x")))
		}},
		{"`Update` of the value", create, func(id string) error {
			return err(users.Update(ctx, costUser{ID: id}, entity.Set(&u.Email, id+"@y.org")))
		}},
		{"`Update` that gives the value up", create, func(id string) error {
			return err(users.Update(ctx, costUser{ID: id}, entity.Remove(&u.Email)))
		}},
		{"`Put` with the same value", create, func(id string) error {
			return err(users.Put(ctx, costUser{ID: id, Email: id + "@x.org", Text: "x"}))
		}},
		{"`Delete`", create, func(id string) error { return users.Delete(ctx, costUser{ID: id}) }},
		{"`Find`", create, func(id string) error { return err(email.Find(ctx, costUser{Email: id + "@x.org"})) }},
	}
}

func versionCosts(ctx context.Context, docs *entity.Store[costDoc], locked *entity.Store[costLocked]) []costRow {
	d, l := entity.Fields[costDoc](), entity.Fields[costLocked]()
	past := entity.Must(versioned.Of(docs))
	create := func(id string) error { return err(docs.Create(ctx, costDoc{ID: id})) }
	change := func(id string) error { return err(docs.Update(ctx, costDoc{ID: id}, entity.Set(&d.Text, "x"))) }
	twice := func(id string) error { return all(create(id), change(id)) }
	return []costRow{
		{"`Create` with Retain", nil, create},
		{"`Update`, `Put`, `Modify` with Retain", create, change},
		{"`Delete` with Retain", create, func(id string) error { return docs.Delete(ctx, costDoc{ID: id}) }},
		{"`History.Get` of the current version", twice, func(id string) error { return err(past.Get(ctx, costDoc{ID: id}, 2)) }},
		{"`History.Get` of an earlier one, `History.At`", twice, func(id string) error { return err(past.Get(ctx, costDoc{ID: id}, 1)) }},
		{"", twice, func(id string) error { return err(past.At(ctx, costDoc{ID: id}, noon)) }},
		{"`History.List`, for each MB", twice, func(id string) error { return err(past.List(costDoc{ID: id}, versioned.WithCurrent()).Collect(ctx)) }},
		{"`Diff`", twice, func(id string) error { return err(past.Diff(ctx, costDoc{ID: id}, 1, 2)) }},
		{"`Revert`", twice, func(id string) error { return err(past.Revert(ctx, costDoc{ID: id}, 1)) }},
		{"`Update` with Lock alone", func(id string) error { return err(locked.Create(ctx, costLocked{ID: id})) }, func(id string) error {
			return err(locked.Update(ctx, costLocked{ID: id, Version: 1}, entity.Set(&l.Text, "x")))
		}},
	}
}

func deleteCosts(ctx context.Context, bins *entity.Store[costBin], members *entity.Store[costMember]) []costRow {
	m, trash, gone := entity.Fields[costMember](), entity.Must(lifecycle.Of(bins)), entity.Must(lifecycle.Of(members))
	create := func(id string) error { return err(bins.Create(ctx, costBin{ID: id})) }
	remove := func(id string) error { return bins.Delete(ctx, costBin{ID: id}) }
	deleted := func(id string) error { return all(create(id), remove(id)) }
	member := func(id string) error { return err(members.Create(ctx, costMember{ID: id, Email: id + "@x.org"})) }
	leave := func(id string) error { return members.Delete(ctx, costMember{ID: id}) }
	return []costRow{
		{"`Create`", nil, create},
		{"`Delete`", create, remove},
		{"`Deleted.Get`", deleted, func(id string) error { return err(trash.Get(ctx, costBin{ID: id})) }},
		{"`Deleted.List`, for each MB", deleted, func(id string) error { return err(trash.List(costBin{ID: id}).Collect(ctx)) }},
		{"`Restore`", deleted, func(id string) error { return err(trash.Restore(ctx, costBin{ID: id})) }},
		{"`Deleted.Purge`", deleted, func(id string) error { return trash.Purge(ctx, costBin{ID: id}) }},
		{"with Retain and a reserved unique value: `Create`", nil, member},
		{"`Update` of another field", member, func(id string) error {
			return err(members.Update(ctx, costMember{ID: id}, entity.Set(&m.Text, "x")))
		}},
		{"`Update` of the unique value", member, func(id string) error {
			return err(members.Update(ctx, costMember{ID: id}, entity.Set(&m.Email, id+"@y.org")))
		}},
		{"`Delete`", member, leave},
		{"`Restore`", func(id string) error { return all(member(id), leave(id)) }, func(id string) error { return err(gone.Restore(ctx, costMember{ID: id})) }},
		{"`Purge` of the item and all that belongs to it", member, func(id string) error { return members.Purge(ctx, costMember{ID: id}) }},
	}
}

func expiryCosts(ctx context.Context, at *time.Time, sessions *entity.Store[costSession], passes *entity.Store[costPass]) []costRow {
	s, p := entity.Fields[costSession](), entity.Fields[costPass]()
	session := func(id string) error { return err(sessions.Create(ctx, costSession{ID: id})) }
	pass := func(id string) error { return err(passes.Create(ctx, costPass{ID: id, Badge: id})) }
	return []costRow{
		{"`Create`", nil, session},
		{"`Update` that moves the end", session, func(id string) error {
			return err(sessions.Update(ctx, costSession{ID: id}, entity.Set(&s.Ends, at.Add(20*time.Hour))))
		}},
		{"with a unique value: `Create`", nil, pass},
		{"`Update` of another field", pass, func(id string) error { return err(passes.Update(ctx, costPass{ID: id}, entity.Set(&p.Text, "x"))) }},
		{"`Update` that moves the end", pass, func(id string) error {
			return err(passes.Update(ctx, costPass{ID: id}, entity.Set(&p.Ends, at.Add(20*time.Hour))))
		}},
	}
}

func seriesCosts(ctx context.Context, readings *timeseries.Series[costReading], recorded *timeseries.Series[costRecorded], lines *timeseries.Series[costLine]) []costRow {
	append1 := func(id string, s int) error {
		return err(readings.Append(ctx, costReading{ID: id, At: event.Add(time.Duration(s) * time.Second), Value: ptr(s)}))
	}
	one := func(id string) error { return append1(id, 5) }
	var ten []costReading
	for s := range 10 {
		ten = append(ten, costReading{At: event.Add(time.Duration(s-20) * time.Second), Value: ptr(s)})
	}
	line := func(id string) error { return err(lines.Append(ctx, costLine{ID: id, At: event, Text: "x"})) }
	late := func(id string, s int) error {
		return err(recorded.Append(ctx, costRecorded{ID: id, At: event.Add(time.Duration(s) * time.Second), Value: ptr(s)}))
	}
	return []costRow{
		{"`Append`: applied", one, func(id string) error { return append1(id, 6) }},
		{"`Append`: late, dropped", one, func(id string) error { return append1(id, 4) }},
		{"`Append`: late, recorded (`late:\"record\"`)", func(id string) error { return late(id, 5) }, func(id string) error { return late(id, 4) }},
		{"`Append`: a duplicate", one, one},
		{"`Append` without a current item", nil, line},
		{"`AppendAll` of 10 events of a series", nil, func(id string) error {
			for i := range ten {
				ten[i].ID = id
			}
			return err(readings.AppendAll(ctx, ten))
		}},
		{"`Upsert`, `Update` (enrichment)", one, func(id string) error {
			_, _, err := readings.Upsert(ctx, costReading{ID: id, Owner: "x"})
			return err
		}},
		{"`Get`", one, func(id string) error { return err(readings.Get(ctx, costReading{ID: id})) }},
		{"`At`", one, func(id string) error { return err(readings.At(ctx, costReading{ID: id}, noon)) }},
		{"`History`, for each MB", one, func(id string) error { return err(readings.History(costReading{ID: id}).Collect(ctx)) }},
		{"`History` with 2 shards", line, func(id string) error { return err(lines.History(costLine{ID: id}).Collect(ctx)) }},
		{"`Remove` of the newest of 2 events", func(id string) error { return errors.Join(append1(id, 4), append1(id, 5)) }, func(id string) error {
			return readings.Remove(ctx, costReading{ID: id, At: event.Add(5 * time.Second)})
		}},
		{"`Purge` of a series with 1 event", one, func(id string) error { return readings.Purge(ctx, costReading{ID: id}) }},
	}
}

func leaseCosts(ctx context.Context, db *entity.DB, leases *lease.Leases) []costRow {
	var held *lease.Held
	acquire := func(id string) (err error) {
		held, err = leases.Acquire(ctx, id)
		return err
	}
	return []costRow{
		{"`Acquire`", nil, acquire},
		{"`Renew`", acquire, func(string) error { return held.Renew(ctx) }},
		{"`Release`", acquire, func(string) error { return held.Release(ctx) }},
		{"`Held.Op` in a transaction of your own: its share", acquire, func(string) error { return db.Transact(ctx, held.Op()) }},
	}
}

// costProjection counts the events of a feed by depot.
func costProjection() timeline.Projection[string, int] {
	type visit struct {
		Depot string `dynamodbav:"depot"`
	}
	feed := timeline.Feed("visits", []string{"visit"}, func(context.Context) iter.Seq2[timeline.Event[visit], error] {
		return func(yield func(timeline.Event[visit], error) bool) {
			for i := range 4 {
				if !yield(timeline.Event[visit]{Name: "visit", Key: fmt.Sprint(i), At: event, AcceptedAt: event, Payload: visit{fmt.Sprint("dock ", i+1)}}, nil) {
					return
				}
			}
		}
	})
	return timeline.Projection[string, int]{
		Name: "depots", Version: 1, Source: feed,
		Handlers: []timeline.Handler[string, int]{timeline.Ensure[visit, string, int]("visit", func(v visit) string { return v.Depot })},
	}
}

func viewCosts(ctx context.Context, view *timeline.View[string, int]) []costRow {
	return []costRow{
		{"`Ensure`, `Rebuild` of 4 rows", nil, func(string) error { return err(view.Ensure(ctx)) }},
		{"`Ensure` of rows that are up to date", nil, func(string) error { return err(view.Ensure(ctx)) }},
		{"`Get`", nil, func(string) error {
			_, _, err := view.Get(ctx, "dock 1")
			return err
		}},
		{"`After`", nil, func(string) error { return err(view.After(ctx, "", 10)) }},
		{"`Page`", nil, func(string) error { return err(view.Page(ctx, 1, 10)) }},
		{"`Meta`", nil, func(string) error { return err(view.Meta(ctx)) }},
	}
}
