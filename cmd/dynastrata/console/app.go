package console

import (
	"context"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/unique"
)

// View is a read model: a *timeline.View.
type View interface {
	Rebuild(ctx context.Context, opts ...timeline.BuildOption) (timeline.Meta, error)
	CatchUp(ctx context.Context, opts ...timeline.BuildOption) (timeline.Meta, error)
	Explain(ctx context.Context) (timeline.Explanation, error)
	String() string
}

// Views lists the read models of a [Program].
func Views(views ...View) []View { return views }

// Store is an entity that the command can write: see [Of].
type Store struct {
	holder  engine.Holder
	purge   func(ctx context.Context, key item.Item, opts ...entity.PurgeOption) error
	restore func(ctx context.Context, key item.Item) error // nil without soft delete
	unique  func(name string) (migrate.Lookup, error)
}

// Stores lists the entities of a [Program].
func Stores(stores ...Store) []Store { return stores }

// Writable is the handle of an entity: an *entity.Store[T] or a *timeseries.Series[T].
type Writable[T any] interface {
	engine.Holder
	Get(ctx context.Context, key T, opts ...entity.GetOption) (T, error)
	Purge(ctx context.Context, key T, opts ...entity.PurgeOption) error
}

// Of makes an entity known to the commands that write: run purge, rewrite, and repair and restore if it has unique constraints and
// soft delete. It does no I/O.
func Of[T any](store Writable[T]) Store {
	c := engine.Of(store)
	s := Store{holder: store}
	s.purge = func(ctx context.Context, key item.Item, opts ...entity.PurgeOption) error {
		v, err := engine.Decode[T](c, key)
		if err != nil {
			return err
		}
		return store.Purge(ctx, v, opts...)
	}
	s.unique = func(name string) (migrate.Lookup, error) { return unique.Of(store, name) }
	if plain, ok := any(store).(*entity.Store[T]); ok {
		if deleted, err := lifecycle.Of(plain); err == nil {
			s.restore = func(ctx context.Context, key item.Item) error {
				v, err := engine.Decode[T](c, key)
				if err != nil {
					return err
				}
				_, err = deleted.Restore(ctx, v)
				return err
			}
		}
	}
	return s
}

// name returns the entity's name.
func (s Store) name() string { return engine.Of(s.holder).Schema.Name }

var _ migrate.Store = engine.Holder(nil)
