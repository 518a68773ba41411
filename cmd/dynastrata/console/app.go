package console

import (
	"context"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeline"
)

// view is a read model: a *timeline.View.
type view interface {
	Rebuild(ctx context.Context, opts ...timeline.BuildOption) (timeline.Meta, error)
	CatchUp(ctx context.Context, opts ...timeline.BuildOption) (timeline.Meta, error)
	Explain(ctx context.Context) (timeline.Explanation, error)
	String() string
}

// store is an entity that the command can write.
type store struct{ *engine.Core }

// handlesOf returns the entities and read models of a struct that entity.Bind has filled, in its order. Each entity is in it once, whatever
// handles of it there are.
func handlesOf(app any) (stores []store, views []view, err error) {
	if app == nil {
		return nil, nil, nil
	}
	v := reflect.ValueOf(app)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, nil, invalid(bind.CodeConsoleProgram, "Handles is what entity.Bind returns, a pointer to a struct, and not a %T", app)
	}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Kind() == reflect.Struct {
				visit(f)
			}
			if !f.CanInterface() || f.Kind() != reflect.Pointer || f.IsNil() {
				continue
			}
			switch h := f.Interface().(type) {
			case view:
				views = append(views, h)
			case engine.Holder:
				c := engine.Of(h)
				if c.Err() == nil && !slices.ContainsFunc(stores, func(s store) bool { return s.Schema == c.Schema }) {
					stores = append(stores, store{c})
				}
			}
		}
	}
	visit(v.Elem())
	return stores, views, nil
}

func (s store) name() string { return s.Schema.Name }

// keyOf returns a value of the entity with the attributes of a key.
func (s store) keyOf(key item.Item) (reflect.Value, error) {
	v := reflect.New(s.Schema.Type)
	err := s.Decode(key, v.Interface())
	return v.Elem(), err
}

// purge removes an item and everything that belongs to it.
func (s store) purge(ctx context.Context, key item.Item, opts ...entity.PurgeOption) error {
	v, err := s.keyOf(key)
	if err != nil {
		return err
	}
	return s.PurgeItem(ctx, v, bind.Collect(opts))
}

// restoring is the feature of entities with deleted copies.
type restoring interface {
	RestoreOp(c *engine.Core, key reflect.Value, spec *bind.Options) *plan.Op
}

// restores reports whether the entity has deleted copies.
func (s store) restores() bool {
	_, ok := schema.Feature[restoring](s.Schema)
	return ok
}

// restore makes the newest deleted copy the item, if it is still the one that was shown.
func (s store) restore(ctx context.Context, key item.Item, shown stored) error {
	f, _ := schema.Feature[restoring](s.Schema)
	v, err := s.keyOf(key)
	if err != nil {
		return err
	}
	op := f.RestoreOp(s.Core, v, &bind.Options{})
	name, _ := layout.DeletedAttr(s.Schema)
	op.If = expr.Compare(expr.Eq, expr.Attr(name), shown.raw[name])
	return s.run(ctx, op)
}

// reverting is the feature of entities with versions.
type reverting interface {
	RevertOp(c *engine.Core, key reflect.Value, n int64, spec *bind.Options) *plan.Op
}

// reverts reports whether the entity has versions.
func (s store) reverts() bool {
	_, ok := schema.Feature[reverting](s.Schema)
	return ok
}

// revert gives the item the content of version n, if it still has the version that was shown.
func (s store) revert(ctx context.Context, key item.Item, n, shown int64) error {
	f, _ := schema.Feature[reverting](s.Schema)
	v, err := s.keyOf(key)
	if err != nil {
		return err
	}
	return s.run(ctx, f.RevertOp(s.Core, v, n, &bind.Options{Terms: bind.Terms{Expect: &shown}}))
}

// run runs a write that is guarded by what was shown.
func (s store) run(ctx context.Context, op *plan.Op) error {
	_, err := engine.Operation{Core: s.Core, Op: op}.Run(ctx, reflect.New(s.Schema.Type).Interface())
	return asShown(err)
}

// handle is the store for functions that take one.
func (s store) handle() engine.Holder { return engine.NewHandle(s.Core) }

// lookup is a unique constraint of an entity, for package migrate.
type lookup struct {
	engine.Holder
	name string
}

func (c lookup) Constraint() string { return c.name }
