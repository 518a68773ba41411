package entity

import (
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// GetOp is one read of [DB.TransactGet] or [DB.BatchGet], made by [Ops.GetInto].
type GetOp interface{ load() loading }

// loading is a read, and where its item goes.
type loading struct {
	c      *core.Core
	spec   opt.Get
	key    exec.Key
	parts  item.Item // key parts as given
	text   string
	err    error
	decode func(item.Item) (fill func(), err error) // nil of GetMany
}

func (l loading) load() loading { return l }

// GetInto reads *dst, whose key parts are filled in, in a [DB.TransactGet] or [DB.BatchGet]. Of the options, [Consistent] is
// for BatchGet; a transaction always reads consistently.
func (o Ops[T]) GetInto(dst *T, opts ...GetOption) GetOp {
	c := core.Of(o)
	if dst == nil {
		return loading{c: c, err: &InputError{Code: plan.CodePointer, Type: c.Schema.Type.String(), Problem: "GetInto needs a pointer to read into, not nil"}}
	}
	l := newLoading(c, reflect.ValueOf(*dst), opt.Gets(opts))
	l.decode = func(it item.Item) (func(), error) {
		v := new(T)
		return func() { *dst = *v }, c.Decode(it, v)
	}
	return l
}

// newLoading is a read of the item with the key parts of v.
func newLoading(c *core.Core, v reflect.Value, spec opt.Get) loading {
	primary, parts, text, err := primaryKey(c, v, spec.Read)
	return loading{c: c, spec: spec, key: exec.Key{Table: c.Table, Key: primary}, parts: parts, text: text, err: err}
}

// id is the same for loads of one item.
func (l loading) id() string { return itemID(l.key.Table, l.key.Key) }

func itemID(table string, key item.Item) string { return table + " " + plan.KeyID(key) }

// fits returns it as the load sees it: nil when it is absent, or has expired. An item whose key was given in
// another case is an error.
func (l loading) fits(it item.Item) (item.Item, error) {
	s := l.c.Schema
	if it == nil || s.Expires && !l.spec.Expired && plan.Expired(s, it, l.c.Runner.Clock()) {
		return nil, nil
	}
	return it, plan.SameCase(s, l.parts, it)
}

// kept hands the item to what [KeepImage] names.
func (l loading) kept(it item.Item) {
	if l.spec.Keep != nil {
		l.spec.Keep(it, l.c.Table)
	}
}

// loadings opens loads, which must be of db.
func (db *DB) loadings(loads []GetOp) ([]loading, error) {
	parts := make([]loading, len(loads))
	for i, l := range loads {
		if l == nil {
			return nil, &InputError{Code: plan.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("load %d is nil", i)}
		}
		if parts[i] = l.load(); parts[i].c.DB != core.DatabaseOf(db) {
			return nil, &InputError{Code: plan.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("load %d belongs to another DB", i)}
		}
	}
	return parts, nil
}
