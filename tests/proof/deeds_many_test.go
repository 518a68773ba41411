package proof_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

// series opens a series.
func series[T any](db *entity.DB) *timeseries.Series[T] {
	s := entity.Must(timeseries.New[T](db))
	calm(s)
	return s
}

func dropped(id string, at int64, a int) Dropping {
	return Dropping{Reading: Reading{ID: id, At: at, A: a}}
}

func recorded(id string, at int64, a int) Recording {
	return Recording{Reading: Reading{ID: id, At: at, A: a}}
}

// reported appends events, undisturbed.
func reported(times ...int64) func(*bench) error {
	return func(b *bench) error {
		for _, at := range times {
			if _, err := series[Dropping](b.look).Append(b.ctx, dropped(b.id, at, int(at))); err != nil {
				return err
			}
			if _, err := series[Recording](b.look).Append(b.ctx, recorded(b.id, at, int(at))); err != nil {
				return err
			}
		}
		return nil
	}
}

func seriesDeeds() []deed {
	appending := func(at int64, a int) func(b *bench) error {
		return func(b *bench) error {
			_, err := series[Dropping](b.db).Append(b.ctx, dropped(b.id, at, a))
			return err
		}
	}
	return []deed{
		{name: "Append, first", before: nothing, do: appending(1, 1)},
		{name: "Append", before: reported(1, 3), do: appending(5, 5)},
		{name: "Append, older", before: reported(1, 3), do: appending(2, 2)},
		{name: "Append, duplicate", before: reported(1, 3), do: appending(3, 3)},
		{name: "Append, collision", before: reported(1, 3), do: appending(1, 7)},
		{name: "Append, recorded", before: reported(1, 3), do: func(b *bench) error {
			_, err := series[Recording](b.db).Append(b.ctx, recorded(b.id, 2, 2))
			return err
		}},
		{name: "AppendAll, one series", before: reported(1, 3), do: func(b *bench) error {
			_, err := series[Dropping](b.db).AppendAll(b.ctx, []Dropping{dropped(b.id, 7, 7), dropped(b.id, 2, 2), dropped(b.id, 5, 5)})
			return err
		}},
		{name: "AppendAll, recorded", before: reported(1, 3), do: func(b *bench) error {
			_, err := series[Recording](b.db).AppendAll(b.ctx, []Recording{recorded(b.id, 7, 7), recorded(b.id, 2, 2), recorded(b.id, 3, 9)})
			return err
		}, pieces: true, reports: true},
		{name: "AppendAll, two series", before: reported(1, 3), do: func(b *bench) error {
			_, err := series[Dropping](b.db).AppendAll(b.ctx, []Dropping{dropped(b.id, 7, 7), dropped(b.id+"-b", 2, 2), dropped(b.id, 5, 5)})
			return err
		}, pieces: true, reports: true},
		{name: "Purge, series", before: reported(1, 3), do: func(b *bench) error {
			return series[Dropping](b.db).Purge(b.ctx, dropped(b.id, 0, 0))
		}, pieces: true},
	}
}

// some are n values of one id.
func some(id string, n int) []Bare {
	vs := make([]Bare, n)
	for i := range vs {
		vs[i] = Bare{Body: Body{ID: fmt.Sprintf("%s-%d", id, i), Text: "one"}}
	}
	return vs
}

func stored(n int) func(*bench) error {
	return func(b *bench) error {
		_, err := bare.store(b.look).PutMany(b.ctx, some(b.id, n))
		return err
	}
}

// manyDeeds are writes of several items.
func manyDeeds() []deed {
	changed := func(id string, n int) []Bare {
		vs := some(id, n)
		for i := range vs {
			vs[i].Text = "two"
		}
		return vs
	}
	f := bare.fields()
	ready := func(b *bench) error {
		if err := full.living(b); err != nil {
			return err
		}
		return stored(2)(b)
	}
	return []deed{
		{name: "PutMany", before: stored(2), do: func(b *bench) error { _, err := bare.store(b.db).PutMany(b.ctx, changed(b.id, 3)); return err }, pieces: true},
		{name: "PutMany, two batches", before: stored(2), do: func(b *bench) error { _, err := bare.store(b.db).PutMany(b.ctx, changed(b.id, 28)); return err }, pieces: true},
		{name: "DeleteMany", before: stored(3), do: func(b *bench) error { _, err := bare.store(b.db).DeleteMany(b.ctx, some(b.id, 3)); return err }, pieces: true},
		{name: "BatchWrite", before: stored(2), do: func(b *bench) error {
			put := bare.store(b.db).Op().BatchPut(some(b.id, 3)[2])
			gone := bare.store(b.db).Op().BatchDelete(some(b.id, 1)[0])
			other := numbered.store(b.db).Op().BatchPut(numbered.make(b.id, "one"), entity.Unconditional())
			_, err := b.db.BatchWrite(b.ctx, put, gone, other)
			return err
		}, pieces: true},
		{name: "Transact", before: ready, do: func(b *bench) error {
			return b.db.Transact(b.ctx,
				bare.store(b.db).Op().Update(some(b.id, 1)[0], entity.Add(&f.N, 1)),
				bare.store(b.db).Op().Create(some(b.id, 3)[2]),
				full.store(b.db).Op().Update(full.make(b.id, ""), entity.Set(&full.fields().Email, b.id+"@three")),
			)
		}},
		{name: "Transact with checks", before: ready, do: func(b *bench) error {
			return b.db.Transact(b.ctx,
				bare.store(b.db).Op().CheckExists(some(b.id, 1)[0]), bare.store(b.db).Op().CheckNotExists(some(b.id, 4)[3]),
				full.store(b.db).Op().Delete(full.make(b.id, "")),
			)
		}},
		{name: "Transact of one", before: ready, do: func(b *bench) error {
			return b.db.Transact(b.ctx, bare.store(b.db).Op().Update(some(b.id, 1)[0], entity.Set(&f.Text, "two")))
		}},
		{name: "Transact with Append", before: reported(1, 3), do: func(b *bench) error {
			return b.db.Transact(b.ctx, series[Dropping](b.db).Op().Append(dropped(b.id, 5, 5)), bare.store(b.db).Op().Create(some(b.id, 1)[0]))
		}},
		{name: "TransactWithToken", before: stored(2), do: func(b *bench) error {
			token := entity.Token{ID: strings.ToLower(b.table[len(b.table)-12:]) + b.id, At: b.now}
			return b.db.TransactWithToken(b.ctx, token, bare.store(b.db).Op().Update(some(b.id, 1)[0], entity.Add(&f.N, 1)), bare.store(b.db).Op().Create(some(b.id, 3)[2]))
		}},
		{name: "Repair, sentinel missing", before: bereft, do: repair, pieces: true, reports: true},
		{name: "Repair, item gone", before: orphaned, do: repair, pieces: true, reports: true},
	}
}

func repair(b *bench) error {
	_, err := entity.Must(unique.Of(named.store(b.db), "email")).Repair(b.ctx)
	return err
}

// bereft removes sentinels behind the library's back, orphaned items.
func bereft(b *bench) error   { return damage(b, true) }
func orphaned(b *bench) error { return damage(b, false) }

func damage(b *bench, sentinels bool) error {
	if err := named.living(b); err != nil {
		return err
	}
	if _, err := named.store(b.look).Create(b.ctx, named.make(b.id+"-b", "one")); err != nil {
		return err
	}
	out, err := b.raw.Scan(b.ctx, &dynamodb.ScanInput{TableName: &b.table})
	if err != nil {
		return err
	}
	for _, it := range out.Items {
		_, sentinel := it["_entity_pk"]
		if sentinel != sentinels {
			continue
		}
		key := map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]}
		if _, err := b.raw.DeleteItem(b.ctx, &dynamodb.DeleteItemInput{TableName: &b.table, Key: key}); err != nil {
			return err
		}
	}
	return nil
}

// Dated is a series that a view is built of.
type Dated struct {
	_  entity.Key        `name:"Dated" pk:"$#{id}" sk:"$"`
	_  timeseries.Events `orderBy:"at" late:"record"`
	ID string            `dynamodbav:"id"`
	At time.Time         `dynamodbav:"at"`
	A  int               `dynamodbav:"a" entity:"append"`
}

// dated is an event so many seconds after the beginning.
func dated(id string, at, a int) Dated {
	return Dated{ID: id, At: epoch.Add(time.Duration(at) * time.Second), A: a}
}

// view is a read model of the readings.
func view(db *entity.DB) *timeline.View[string, int] {
	return entity.Must(timeline.New(db, timeline.Projection[string, int]{
		Name: "sums", Version: 1, Source: timeline.Series(series[Dated](db), timeline.PartitionKey(func(id string) Dated { return Dated{ID: id} })),
		Handlers: []timeline.Handler[string, int]{
			timeline.On("dated.appended", func(d Dated) string { return d.ID }, func(n *int, e timeline.Event[Dated]) error {
				*n += e.Payload.A
				return nil
			}),
		},
	}))
}

// rows are those that the view serves, undisturbed.
func rows(b *bench) string {
	var text strings.Builder
	for row, err := range view(b.look).All(b.ctx) {
		if err != nil {
			return err.Error()
		}
		fmt.Fprintf(&text, "%s=%d ", row.Key, row.State)
	}
	return text.String()
}

func viewDeeds() []deed {
	readings := func(b *bench) error {
		for i, name := range []string{"p", "q", "r"} {
			for at := range 3 {
				if _, err := series[Dated](b.look).Append(b.ctx, dated(name, at+1, i+at)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	built := func(b *bench) error {
		if err := readings(b); err != nil {
			return err
		}
		b.now = b.now.Add(time.Minute)
		if _, err := view(b.look).Rebuild(b.ctx); err != nil {
			return err
		}
		b.now = b.now.Add(time.Minute)
		_, err := series[Dated](b.look).Append(b.ctx, dated("q", 9, 100))
		return err
	}
	rebuild := func(b *bench) error { _, err := view(b.db).Rebuild(b.ctx, timeline.Segments(1)); return err }
	return []deed{
		{name: "Rebuild, first", before: readings, do: rebuild, after: rows, pieces: true, reports: true},
		{name: "Rebuild", before: built, do: rebuild, after: rows, pieces: true, reports: true},
		{name: "CatchUp", before: built, do: func(b *bench) error { _, err := view(b.db).CatchUp(b.ctx); return err }, after: rows, pieces: true, reports: true},
	}
}
