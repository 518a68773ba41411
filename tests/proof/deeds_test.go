package proof_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
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
	func(db *entity.DB) error { series[Dropping](db); series[Recording](db); view(db); return nil },
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

// living makes an item with two states behind it.
func (k sort[T]) living(b *bench) error {
	s := k.store(b.look)
	if _, err := s.Create(b.ctx, k.make(b.id, "one")); err != nil {
		return err
	}
	b.now = b.now.Add(time.Minute)
	_, err := s.Put(b.ctx, k.make(b.id, "two"))
	return err
}

// buried makes a deleted one.
func (k sort[T]) buried(b *bench) error {
	if err := k.living(b); err != nil {
		return err
	}
	b.now = b.now.Add(time.Minute)
	return k.store(b.look).Delete(b.ctx, k.make(b.id, ""))
}

func nothing(*bench) error { return nil }

// deeds are the writes of one item.
func (k sort[T]) deeds() []deed {
	f := k.fields()
	single := !k.retain && !k.named // a write of the item is a single request
	counting := single && k.version
	update := func(b *bench, opts ...entity.UpdateOption) error {
		_, err := k.store(b.db).Update(b.ctx, k.make(b.id, ""), opts...)
		return err
	}
	all := []deed{
		{name: "Create", before: nothing, do: func(b *bench) error { _, err := k.store(b.db).Create(b.ctx, k.make(b.id, "one")); return err }},
		{name: "Put, new", before: nothing, do: func(b *bench) error { _, err := k.store(b.db).Put(b.ctx, k.make(b.id, "one")); return err }, counts: counting},
		{name: "Put", before: k.living, do: func(b *bench) error { _, err := k.store(b.db).Put(b.ctx, k.make(b.id, "three")); return err }, counts: counting},
		{name: "Upsert, new", before: nothing, do: func(b *bench) error { _, _, err := k.store(b.db).Upsert(b.ctx, k.make(b.id, "one")); return err }, counts: counting},
		{name: "Upsert", before: k.living, do: func(b *bench) error { _, _, err := k.store(b.db).Upsert(b.ctx, k.make(b.id, "three")); return err }, counts: counting},
		{name: "Update", before: k.living, do: func(b *bench) error { return update(b, entity.Set(&f.Text, "three")) }, counts: counting},
		{name: "Update with If", before: k.living, do: func(b *bench) error {
			return update(b, entity.Set(&f.Text, "three"), entity.If(entity.Eq(&f.Text, "two")))
		}},
		{name: "Update with Add", before: k.living, do: func(b *bench) error { return update(b, entity.Add(&f.N, 1)) }, counts: !k.retain},
		{name: "Update, Exactly", before: k.living, do: func(b *bench) error { return update(b, entity.Add(&f.N, 1), entity.Idempotent()) }},
		{name: "Modify", before: k.living, do: func(b *bench) error {
			_, err := k.store(b.db).Modify(b.ctx, k.make(b.id, ""), func(v *T) error { k.at(v).N++; return nil })
			return err
		}},
		{name: "Touch", before: k.living, do: func(b *bench) error {
			_, err := k.store(b.db).Touch(b.ctx, k.make(b.id, ""), &f.Seen, time.Hour)
			return err
		}},
		{name: "Delete", before: k.living, do: func(b *bench) error { return k.store(b.db).Delete(b.ctx, k.make(b.id, "")) }, counts: single && !k.soft},
		{name: "Delete with If", before: k.living, do: func(b *bench) error {
			return k.store(b.db).Delete(b.ctx, k.make(b.id, ""), entity.If(entity.Eq(&f.Text, "two")))
		}, counts: single && !k.soft},
		{name: "Purge", before: k.living, do: func(b *bench) error { return k.store(b.db).Purge(b.ctx, k.make(b.id, "")) }, pieces: true},
	}
	if k.version {
		all = append(all,
			deed{name: "Update with Expect", before: k.living, do: func(b *bench) error { return update(b, entity.Set(&f.Text, "three"), versioned.Expect(2)) }},
			deed{name: "Put with Expect", before: k.living, do: func(b *bench) error {
				_, err := k.store(b.db).Put(b.ctx, k.make(b.id, "three"), versioned.Expect(2))
				return err
			}},
			deed{name: "Delete with Expect", before: k.living, do: func(b *bench) error {
				return k.store(b.db).Delete(b.ctx, k.make(b.id, ""), versioned.Expect(2))
			}, counts: single && !k.soft},
		)
	}
	if k.named {
		all = append(all, deed{name: "Update of a unique value", before: k.living, do: func(b *bench) error { return update(b, entity.Set(&f.Email, b.id+"@three")) }})
	}
	if k.retain {
		all = append(all, deed{name: "Revert", before: k.living, do: func(b *bench) error {
			_, err := entity.Must(versioned.Of(k.store(b.db))).Revert(b.ctx, k.make(b.id, ""), 1, entity.If(entity.Eq(&f.Text, "two")))
			return err
		}})
	}
	if k.soft {
		all = append(all,
			deed{name: "Restore", before: k.buried, do: func(b *bench) error {
				_, err := entity.Must(lifecycle.Of(k.store(b.db))).Restore(b.ctx, k.make(b.id, ""))
				return err
			}},
			deed{name: "RestoreCopy", before: k.buried, do: func(b *bench) error {
				c, err := entity.Must(lifecycle.Of(k.store(b.look))).Get(b.ctx, k.make(b.id, ""))
				if err != nil {
					return err
				}
				_, err = entity.Must(lifecycle.Of(k.store(b.db))).RestoreCopy(b.ctx, c)
				return err
			}},
			deed{name: "Purge of a copy", before: k.buried, do: func(b *bench) error { return k.store(b.db).Purge(b.ctx, k.make(b.id, "")) }, pieces: true},
		)
	}
	for i := range all {
		all[i].name = fmt.Sprintf("%s, %s", all[i].name, strings.TrimSpace(k.name))
	}
	return all
}
