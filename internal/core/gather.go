package core

import (
	"fmt"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/query"
)

// CollectionPart is one query of entity.DB.GetCollection and the slice that its items go to; it implements entity.CollectionPart.
type CollectionPart interface {
	fmt.Stringer
	gathered() Gathered
}

// Gathered is an opened Part.
type Gathered struct {
	Core *Core
	Plan *query.Plan // nil: the query is none that can be gathered
	Into any         // the pointer to the slice; nil when it is nil
	// Collect begins a group: add decodes an item, and fill assigns the slice.
	Collect func() (add func(item.Item) error, fill func())
}

// PartOf opens a part.
func PartOf(p CollectionPart) Gathered { return p.gathered() }

// part is a Part of a query.
type part struct {
	fmt.Stringer
	Gathered
}

func (p *part) gathered() Gathered { return p.Gathered }

// Into makes q a part of entity.DB.GetCollection.
func (q *Query[T]) Into(dst *[]T) CollectionPart {
	p := &part{q, q.r.Gathered()}
	if dst != nil {
		p.Into = dst
	}
	p.Collect = func() (func(item.Item) error, func()) {
		var group []T
		return func(it item.Item) error { return q.add(&group, it) }, func() { *dst = group }
	}
	return p
}
