package proof_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Body is the content of the entities that deeds write.
type Body struct {
	ID    string    `dynamodbav:"id"`
	Text  string    `dynamodbav:"text,omitempty"`
	Email string    `dynamodbav:"email,omitempty"`
	N     int       `dynamodbav:"n,omitempty"`
	Seen  time.Time `dynamodbav:"seen,omitempty"`
}

// Bare has no features.
type Bare struct {
	_ entity.Key `name:"Bare" pk:"$#{id}" sk:"$"`
	Body
}

// Numbered counts versions.
type Numbered struct {
	_ entity.Key `name:"Numbered" pk:"$#{id}" sk:"$"`
	_ versioned.Lock
	Body
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Chronicled keeps its states for a while.
type Chronicled struct {
	_ entity.Key       `name:"Chronicled" pk:"$#{id}" sk:"$"`
	_ versioned.Retain `ttl:"90d"`
	Body
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Binned is deleted softly.
type Binned struct {
	_ entity.Key `name:"Binned" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete
	Body
}

// Named has a unique value.
type Named struct {
	_ entity.Key        `name:"Named" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`
	Body
}

// Full has everything.
type Full struct {
	_ entity.Key           `name:"Full" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byText" index:"gsi1" pk:"$#{text}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Body
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// sort is a kind of entity.
type sort[T any] struct {
	name                         string
	at                           func(*T) *Body
	version, retain, soft, named bool
}

var (
	bare       = sort[Bare]{name: "bare", at: func(v *Bare) *Body { return &v.Body }}
	numbered   = sort[Numbered]{name: "lock", at: func(v *Numbered) *Body { return &v.Body }, version: true}
	chronicled = sort[Chronicled]{name: "retain", at: func(v *Chronicled) *Body { return &v.Body }, version: true, retain: true}
	binned     = sort[Binned]{name: "soft delete", at: func(v *Binned) *Body { return &v.Body }, soft: true}
	named      = sort[Named]{name: "unique", at: func(v *Named) *Body { return &v.Body }, named: true}
	full       = sort[Full]{name: "everything", at: func(v *Full) *Body { return &v.Body }, version: true, retain: true, soft: true, named: true}
)

// declarations declare on a database what deeds write.
var declarations = []func(*entity.DB) error{
	declare[Bare], declare[Numbered], declare[Chronicled], declare[Binned], declare[Named], declare[Full],
	func(db *entity.DB) error {
		series[Dropping](db)
		series[Recording](db)
		series[Spread](db)
		series[Alone](db)
		series[Several](db)
		view(db)
		return nil
	},
}

// declare opens a store, with retries that take no time.
func declare[T any](db *entity.DB) error {
	s, err := entity.New[T](db)
	if err == nil {
		calm(s)
	}
	return err
}

// deeds are all writes, with the features that change what they send.
func deeds() []deed {
	return slices.Concat(
		bare.deeds(), numbered.deeds(), chronicled.deeds(), binned.deeds(), named.deeds(), full.deeds(), seriesDeeds(), manyDeeds(), viewDeeds(),
	)
}

func (k sort[T]) store(db *entity.DB) *entity.Store[T] { return entity.Must(entity.New[T](db)) }

func (k sort[T]) make(id, text string) T {
	var v T
	*k.at(&v) = Body{ID: id, Text: text, Email: id + "@" + text, N: 1}
	if text == "" {
		*k.at(&v) = Body{ID: id}
	}
	return v
}

func (k sort[T]) fields() *Body { return k.at(entity.Fields[T]()) }

// over are the options of a Put that replaces whatever is stored.
func (k sort[T]) over() (opts []entity.WriteOption) {
	if k.version {
		opts = append(opts, versioned.AnyVersion())
	}
	return opts
}

// living makes an item with two states behind it.
func (k sort[T]) living(b *bench) error {
	s := k.store(b.look)
	if _, err := s.Create(b.Ctx, k.make(b.id, "one")); err != nil {
		return err
	}
	b.Clock.Move(time.Minute)
	return failure(s.Put(b.Ctx, k.make(b.id, "two"), k.over()...))
}

// buried makes a deleted one.
func (k sort[T]) buried(b *bench) error {
	if err := k.living(b); err != nil {
		return err
	}
	b.Clock.Move(time.Minute)
	return k.store(b.look).Delete(b.Ctx, k.make(b.id, ""))
}

func nothing(*bench) error { return nil }

// failure is the error of a call whose result does not matter.
func failure[T any](_ T, err error) error { return err }

// deeds are the writes of one item.
func (k sort[T]) deeds() []deed {
	f := k.fields()
	single := !k.retain && !k.named // a write of the item is a single request
	counting := single && k.version
	update := func(b *bench, opts ...entity.UpdateOption) error {
		_, err := k.store(b.db).Update(b.Ctx, k.make(b.id, ""), opts...)
		return err
	}
	all := []deed{
		{name: "Create", before: nothing, do: func(b *bench) error { return failure(k.store(b.db).Create(b.Ctx, k.make(b.id, "one"))) }},
		{name: "Put, new", before: nothing, do: func(b *bench) error { return failure(k.store(b.db).Put(b.Ctx, k.make(b.id, "one"), k.over()...)) }, counts: counting},
		{name: "Put", before: k.living, do: func(b *bench) error { return failure(k.store(b.db).Put(b.Ctx, k.make(b.id, "three"), k.over()...)) }, counts: counting},
		{name: "Upsert, new", before: nothing, do: func(b *bench) error { _, _, err := k.store(b.db).Upsert(b.Ctx, k.make(b.id, "one")); return err }, counts: counting},
		{name: "Upsert", before: k.living, do: func(b *bench) error { _, _, err := k.store(b.db).Upsert(b.Ctx, k.make(b.id, "three")); return err }, counts: counting},
		{name: "Update", before: k.living, do: func(b *bench) error { return update(b, entity.Set(&f.Text, "three")) }, counts: counting},
		{name: "Update with If", before: k.living, do: func(b *bench) error {
			return update(b, entity.Set(&f.Text, "three"), entity.If(entity.Eq(&f.Text, "two")))
		}},
		{name: "Update with Add", before: k.living, do: func(b *bench) error { return update(b, entity.Add(&f.N, 1)) }, counts: !k.retain},
		{name: "Update, Exactly", before: k.living, do: func(b *bench) error { return update(b, entity.Add(&f.N, 1), entity.Idempotent()) }},
		{name: "Modify", before: k.living, do: func(b *bench) error {
			return failure(k.store(b.db).Modify(b.Ctx, k.make(b.id, ""), func(v *T) error { k.at(v).N++; return nil }))
		}},
		{name: "Touch", before: k.living, do: func(b *bench) error {
			return failure(k.store(b.db).Touch(b.Ctx, k.make(b.id, ""), &f.Seen, time.Hour))
		}},
		{name: "Delete", before: k.living, do: func(b *bench) error { return k.store(b.db).Delete(b.Ctx, k.make(b.id, "")) }, counts: single && !k.soft},
		{name: "Delete with If", before: k.living, do: func(b *bench) error {
			return k.store(b.db).Delete(b.Ctx, k.make(b.id, ""), entity.If(entity.Eq(&f.Text, "two")))
		}, counts: single && !k.soft},
		{name: "Purge", before: k.living, do: func(b *bench) error { return k.store(b.db).Purge(b.Ctx, k.make(b.id, "")) }, pieces: true},
		{name: "DeleteAll", before: k.living, do: func(b *bench) error {
			s := k.store(b.db)
			return failure(s.DeleteAll(b.Ctx, s.Query(k.make(b.id, ""), entity.Filter(entity.Eq(&f.Text, "two"))), ""))
		}, counts: single && !k.soft},
		{name: "PurgeAll", before: k.living, do: func(b *bench) error {
			s := k.store(b.db)
			return failure(s.PurgeAll(b.Ctx, s.Query(k.make(b.id, ""), entity.Filter(entity.Eq(&f.Text, "two"))), ""))
		}},
	}
	if k.version {
		all = append(all,
			deed{name: "Update with Expect", before: k.living, do: func(b *bench) error { return update(b, entity.Set(&f.Text, "three"), versioned.Expect(2)) }},
			deed{name: "Put of version 0", before: nothing, do: func(b *bench) error { return failure(k.store(b.db).Put(b.Ctx, k.make(b.id, "one"))) }},
			deed{name: "Put with Expect", before: k.living, do: func(b *bench) error {
				return failure(k.store(b.db).Put(b.Ctx, k.make(b.id, "three"), versioned.Expect(2)))
			}},
			deed{name: "Delete with Expect", before: k.living, do: func(b *bench) error {
				return k.store(b.db).Delete(b.Ctx, k.make(b.id, ""), versioned.Expect(2))
			}, counts: single && !k.soft},
		)
	}
	if k.named {
		all = append(all, deed{name: "Update of a unique value", before: k.living, do: func(b *bench) error { return update(b, entity.Set(&f.Email, b.id+"@three")) }})
	}
	if k.retain {
		all = append(all, deed{name: "Revert", before: k.living, do: func(b *bench) error {
			return failure(entity.Must(versioned.Of(k.store(b.db))).Revert(b.Ctx, k.make(b.id, ""), 1, entity.If(entity.Eq(&f.Text, "two"))))
		}})
	}
	if k.soft {
		all = append(all,
			deed{name: "Restore", before: k.buried, do: func(b *bench) error {
				return failure(entity.Must(lifecycle.Of(k.store(b.db))).Restore(b.Ctx, k.make(b.id, "")))
			}},
			deed{name: "RestoreCopy", before: k.buried, do: func(b *bench) error {
				c, err := entity.Must(lifecycle.Of(k.store(b.look))).Get(b.Ctx, k.make(b.id, ""))
				if err != nil {
					return err
				}
				_, err = entity.Must(lifecycle.Of(k.store(b.db))).RestoreCopy(b.Ctx, c)
				return err
			}},
			deed{name: "Delete with a change", before: k.living, do: func(b *bench) error {
				return k.store(b.db).Delete(b.Ctx, k.make(b.id, ""), entity.Set(&f.Text, "gone"), entity.Add(&f.N, 1))
			}},
			deed{name: "Restore with a change", before: k.buried, do: func(b *bench) error {
				return failure(entity.Must(lifecycle.Of(k.store(b.db))).Restore(b.Ctx, k.make(b.id, ""), entity.Set(&f.Text, "back"), entity.Add(&f.N, 1)))
			}},
			deed{name: "Purge of a copy", before: k.buried, do: func(b *bench) error { return k.store(b.db).Purge(b.Ctx, k.make(b.id, "")) }, pieces: true},
		)
	}
	for i := range all {
		all[i].name = fmt.Sprintf("%s, %s", all[i].name, strings.TrimSpace(k.name))
	}
	return all
}

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

func spreadEvent(id string, at int64, a int) Spread {
	return Spread{Reading: Reading{ID: id, At: at, A: a}}
}

func aloneEvent(id string, at int64, a int) Alone {
	return Alone{Reading: Reading{ID: id, At: at, A: a}}
}

// several is an event of the fourth time, with an id.
func several(id, event string, a int) Several {
	return Several{Event: event, Reading: Reading{ID: id, At: 4, A: a}}
}

// reported appends events, undisturbed.
func reported(times ...int64) func(*bench) error {
	return func(b *bench) error {
		for _, at := range times {
			if _, err := series[Dropping](b.look).Append(b.Ctx, dropped(b.id, at, int(at))); err != nil {
				return err
			}
			if _, err := series[Recording](b.look).Append(b.Ctx, recorded(b.id, at, int(at))); err != nil {
				return err
			}
			if _, err := series[Spread](b.look).Append(b.Ctx, spreadEvent(b.id, at, int(at))); err != nil {
				return err
			}
			if _, err := series[Alone](b.look).Append(b.Ctx, aloneEvent(b.id, at, int(at))); err != nil {
				return err
			}
		}
		return nil
	}
}

// identified appends two events of one time, undisturbed.
func identified(b *bench) error {
	_, err := series[Several](b.look).AppendAll(b.Ctx, []Several{several(b.id, "a", 1), several(b.id, "c", 2)})
	return err
}

// lagging puts the current item back to the first of two events, as a restore from a backup does.
func lagging(b *bench) error {
	if err := reported(1)(b); err != nil {
		return err
	}
	first := b.Item("$app#v1#dropping#"+b.id, "$app#v1#dropping")
	if err := reported(3)(b); err != nil {
		return err
	}
	b.PutItem(first)
	return nil
}

func seriesDeeds() []deed {
	appending := func(at int64, a int) func(b *bench) error {
		return func(b *bench) error {
			return failure(series[Dropping](b.db).Append(b.Ctx, dropped(b.id, at, a)))
		}
	}
	return []deed{
		{name: "Append, first", before: nothing, do: appending(1, 1)},
		{name: "Append, repair", before: lagging, do: appending(3, 3)},
		{name: "Append", before: reported(1, 3), do: appending(5, 5)},
		{name: "Append, older", before: reported(1, 3), do: appending(2, 2)},
		{name: "Append, duplicate", before: reported(1, 3), do: appending(3, 3)},
		{name: "Append, collision", before: reported(1, 3), do: appending(1, 7)},
		{name: "Append, recorded", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Recording](b.db).Append(b.Ctx, recorded(b.id, 2, 2)))
		}},
		{name: "Append, id", before: identified, do: func(b *bench) error {
			return failure(series[Several](b.db).Append(b.Ctx, several(b.id, "d", 7)))
		}},
		{name: "Append, id before another", before: identified, do: func(b *bench) error {
			return failure(series[Several](b.db).Append(b.Ctx, several(b.id, "b", 7)))
		}},
		{name: "Append, id again", before: identified, do: func(b *bench) error {
			return failure(series[Several](b.db).Append(b.Ctx, several(b.id, "c", 2)))
		}},
		{name: "AppendAll, ids", before: identified, do: func(b *bench) error {
			return failure(series[Several](b.db).AppendAll(b.Ctx, []Several{several(b.id, "d", 4), several(b.id, "b", 2), several(b.id, "e", 5)}))
		}, pieces: true, reports: true},
		{name: "AppendAll, one series", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Dropping](b.db).AppendAll(b.Ctx, []Dropping{dropped(b.id, 7, 7), dropped(b.id, 2, 2), dropped(b.id, 5, 5)}))
		}},
		{name: "AppendAll, recorded", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Recording](b.db).AppendAll(b.Ctx, []Recording{recorded(b.id, 7, 7), recorded(b.id, 2, 2), recorded(b.id, 3, 9)}))
		}, pieces: true, reports: true},
		{name: "AppendAll, two transactions", before: reported(5, 20, 500), do: func(b *bench) error {
			evs := make([]Recording, 111) // late, one of them stored, and one another than is stored
			for i := range evs {
				evs[i] = recorded(b.id, int64(len(evs)-i), len(evs)-i)
			}
			evs[len(evs)-20].A = 7
			return failure(series[Recording](b.db).AppendAll(b.Ctx, evs))
		}, pieces: true, reports: true},
		{name: "AppendAll, two series", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Dropping](b.db).AppendAll(b.Ctx, []Dropping{dropped(b.id, 7, 7), dropped(b.id+"-b", 2, 2), dropped(b.id, 5, 5)}))
		}, pieces: true, reports: true},
		{name: "Append, shards", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Spread](b.db).Append(b.Ctx, spreadEvent(b.id, 5, 5)))
		}},
		{name: "AppendAll, shards", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Spread](b.db).AppendAll(b.Ctx, []Spread{spreadEvent(b.id, 7, 7), spreadEvent(b.id, 2, 2), spreadEvent(b.id, 3, 9)}))
		}, pieces: true, reports: true},
		{name: "Purge, shards", before: reported(1, 3), do: func(b *bench) error {
			return series[Spread](b.db).Purge(b.Ctx, spreadEvent(b.id, 0, 0))
		}, pieces: true},
		{name: "Append, no current item", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Alone](b.db).Append(b.Ctx, aloneEvent(b.id, 2, 2)))
		}},
		{name: "Append, no current item, duplicate", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Alone](b.db).Append(b.Ctx, aloneEvent(b.id, 3, 3)))
		}},
		{name: "AppendAll, no current item", before: reported(1, 3), do: func(b *bench) error {
			return failure(series[Alone](b.db).AppendAll(b.Ctx, []Alone{aloneEvent(b.id, 7, 7), aloneEvent(b.id, 2, 2), aloneEvent(b.id, 3, 9)}))
		}, pieces: true, reports: true},
		{name: "Remove", before: reported(1, 3), do: func(b *bench) error {
			return series[Dropping](b.db).Remove(b.Ctx, dropped(b.id, 3, 0))
		}},
		{name: "Remove, not the newest", before: reported(1, 3), do: func(b *bench) error {
			return series[Recording](b.db).Remove(b.Ctx, recorded(b.id, 1, 0))
		}},
		{name: "Remove, the last event", before: reported(1), do: func(b *bench) error {
			return series[Spread](b.db).Remove(b.Ctx, spreadEvent(b.id, 1, 0))
		}},
		{name: "Remove, id", before: identified, do: func(b *bench) error {
			return series[Several](b.db).Remove(b.Ctx, several(b.id, "c", 0))
		}},
		{name: "Remove, no current item", before: reported(1, 3), do: func(b *bench) error {
			return series[Alone](b.db).Remove(b.Ctx, aloneEvent(b.id, 1, 0))
		}},
		{name: "Remove, in a transaction", before: reported(1, 3), do: func(b *bench) error {
			return b.db.Transact(b.Ctx, series[Dropping](b.db).Op().Remove(dropped(b.id, 3, 0)), series[Recording](b.db).Op().Remove(recorded(b.id, 1, 0)))
		}},
		{name: "Purge, series", before: reported(1, 3), do: func(b *bench) error {
			return series[Dropping](b.db).Purge(b.Ctx, dropped(b.id, 0, 0))
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
		return failure(bare.store(b.look).PutMany(b.Ctx, some(b.id, n)))
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
		{name: "PutMany", before: stored(2), do: func(b *bench) error { return failure(bare.store(b.db).PutMany(b.Ctx, changed(b.id, 3))) }, pieces: true},
		{name: "PutMany, two batches", before: stored(2), do: func(b *bench) error { return failure(bare.store(b.db).PutMany(b.Ctx, changed(b.id, 28))) }, pieces: true},
		{name: "DeleteMany", before: stored(3), do: func(b *bench) error { return failure(bare.store(b.db).DeleteMany(b.Ctx, some(b.id, 3))) }, pieces: true},
		{name: "BatchWrite", before: stored(2), do: func(b *bench) error {
			put := bare.store(b.db).Op().BatchPut(some(b.id, 3)[2])
			gone := bare.store(b.db).Op().BatchDelete(some(b.id, 1)[0])
			other := numbered.store(b.db).Op().BatchPut(numbered.make(b.id, "one"), entity.Unconditional())
			_, err := b.db.BatchWrite(b.Ctx, put, gone, other)
			return err
		}, pieces: true},
		{name: "Transact", before: ready, do: func(b *bench) error {
			return b.db.Transact(b.Ctx,
				bare.store(b.db).Op().Update(some(b.id, 1)[0], entity.Add(&f.N, 1)),
				bare.store(b.db).Op().Create(some(b.id, 3)[2]),
				full.store(b.db).Op().Update(full.make(b.id, ""), entity.Set(&full.fields().Email, b.id+"@three")),
			)
		}},
		{name: "TransactFunc", before: ready, do: func(b *bench) error {
			return b.db.TransactFunc(b.Ctx, func(ctx context.Context) ([]entity.Op, error) {
				is, err := bare.store(b.db).Get(ctx, some(b.id, 1)[0])
				return []entity.Op{
					bare.store(b.db).Op().Update(is, entity.Set(&f.N, is.N+1), entity.If(entity.Eq(&f.N, is.N))),
					full.store(b.db).Op().Update(full.make(b.id, ""), entity.Set(&full.fields().Text, fmt.Sprint(is.N))),
				}, err
			})
		}},
		{name: "Transact with checks", before: ready, do: func(b *bench) error {
			return b.db.Transact(b.Ctx,
				bare.store(b.db).Op().CheckExists(some(b.id, 1)[0]), bare.store(b.db).Op().CheckNotExists(some(b.id, 4)[3]),
				full.store(b.db).Op().Delete(full.make(b.id, "")),
			)
		}},
		{name: "Transact of one", before: ready, do: func(b *bench) error {
			return b.db.Transact(b.Ctx, bare.store(b.db).Op().Update(some(b.id, 1)[0], entity.Set(&f.Text, "two")))
		}},
		{name: "Transact with Append", before: reported(1, 3), do: func(b *bench) error {
			return b.db.Transact(b.Ctx, series[Dropping](b.db).Op().Append(dropped(b.id, 5, 5)), bare.store(b.db).Op().Create(some(b.id, 1)[0]))
		}},
		{name: "TransactWithToken", before: stored(2), do: func(b *bench) error {
			token := entity.Token{ID: strings.ToLower(b.Table[len(b.Table)-12:]) + b.id, At: b.Clock.Now()}
			return b.db.TransactWithToken(b.Ctx, token, bare.store(b.db).Op().Update(some(b.id, 1)[0], entity.Add(&f.N, 1)), bare.store(b.db).Op().Create(some(b.id, 3)[2]))
		}},
		{name: "Repair, sentinel missing", before: bereft, do: repair, pieces: true, reports: true},
		{name: "Repair, item gone", before: orphaned, do: repair, pieces: true, reports: true},
	}
}

func repair(b *bench) error {
	_, err := migrate.RepairUnique(b.Ctx, entity.Must(unique.Of(named.store(b.db), "email")))
	return err
}

// bereft removes sentinels behind the library's back, orphaned items.
func bereft(b *bench) error   { return damage(b, true) }
func orphaned(b *bench) error { return damage(b, false) }

func damage(b *bench, sentinels bool) error {
	if err := named.living(b); err != nil {
		return err
	}
	if _, err := named.store(b.look).Create(b.Ctx, named.make(b.id+"-b", "one")); err != nil {
		return err
	}
	for _, it := range b.Items() {
		if _, sentinel := it["_entity_pk"]; sentinel == sentinels {
			b.RemoveItem(it)
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
	for row, err := range view(b.look).All(b.Ctx) {
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
				if _, err := series[Dated](b.look).Append(b.Ctx, dated(name, at+1, i+at)); err != nil {
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
		b.Clock.Move(time.Minute)
		if _, err := view(b.look).Rebuild(b.Ctx); err != nil {
			return err
		}
		b.Clock.Move(time.Minute)
		_, err := series[Dated](b.look).Append(b.Ctx, dated("q", 9, 100))
		return err
	}
	rebuild := func(b *bench) error { return failure(view(b.db).Rebuild(b.Ctx, timeline.Segments(1))) }
	return []deed{
		{name: "Rebuild, first", before: readings, do: rebuild, after: rows, pieces: true, reports: true},
		{name: "Rebuild", before: built, do: rebuild, after: rows, pieces: true, reports: true},
		{name: "CatchUp", before: built, do: func(b *bench) error { return failure(view(b.db).CatchUp(b.Ctx)) }, after: rows, pieces: true, reports: true},
	}
}
