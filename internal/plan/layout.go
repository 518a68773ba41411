package plan

import (
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Kinds of satellites, as schema.KindAttr names them; docs/layout.md describes them.
const (
	EventKind    = "e"
	SnapshotKind = "v"
	CopyKind     = "d"
)

// SatelliteKind is a kind of item that is stored with a current item.
type SatelliteKind struct {
	Kind  string // value of schema.KindAttr
	Infix string // between the current item's sort key and the rest of the satellite's
}

// SatelliteKinds lists the kinds of satellites.
var SatelliteKinds = []SatelliteKind{
	{EventKind, schema.EventInfix},
	{SnapshotKind, schema.SnapshotInfix},
	{CopyKind, schema.CopyInfix},
}

// OwnItems holds for items of s, current or not, among those of other entities in the table.
func OwnItems(s *schema.Schema) expr.Cond {
	switch {
	case s.Templated:
		return expr.Compare(expr.Eq, expr.Attr(schema.EntityAttr), item.S(s.Name))
	case s.Discriminator != nil:
		return expr.Compare(expr.Eq, expr.Attr(s.Discriminator.Attr), item.S(s.Discriminator.Value))
	}
	return expr.Cond{}
}

// InNamespace holds for items of s among those of an entity of the same name in another namespace, as when two versions
// of a program share a table. A query on a `$` partition does not need it.
func InNamespace(s *schema.Schema) expr.Cond {
	h := s.SK
	if h == nil {
		h = s.PK
	}
	if !h.Prefixed {
		return expr.Cond{}
	}
	return expr.Compare(expr.BeginsWith, expr.Attr(h.Attr), item.S(h.Template.Prefix))
}

// IsDeletedState reports that a stored item of s, which has history or soft delete, is a state after a delete.
func IsDeletedState(s *schema.Schema, it item.Item) bool {
	if _, marked := it[schema.DeletedAttr]; marked || item.Equal(it[schema.KindAttr], item.S(CopyKind)) {
		return true
	}
	name, _ := DeletedAttr(s)
	_, dated := it[name]
	return dated && s.Options.Interop // nothing else marks a copy there, nor what effect-dynamodb keeps of one at a restore
}
