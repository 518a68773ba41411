package layout

import (
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// CurrentKind is the kind of current items, which have no schema.KindAttr.
const CurrentKind = ""

// Kinds of related items, as in schema.KindAttr. docs/entities.md describes them.
const (
	EventKind    = "e"
	SnapshotKind = "v"
	CopyKind     = "d"
)

// RelatedKind is a kind of item that is stored in the partition of a current item.
type RelatedKind struct {
	Kind  string // value of schema.KindAttr
	Infix string // between the sort key of the current item and the rest of its own
}

// RelatedKinds lists the kinds of related items.
var RelatedKinds = []RelatedKind{
	{EventKind, schema.EventInfix},
	{SnapshotKind, schema.SnapshotInfix},
	{CopyKind, schema.CopyInfix},
}

// RelatedKey returns the primary key of the related item whose sort key is that of the current item followed by suffix.
func RelatedKey(s *schema.Schema, primary item.Item, suffix string) item.Item {
	k := item.Clone(primary)
	sk, _ := SortKey(s, primary)
	k[s.SK.Attr] = item.S(sk + suffix)
	return k
}

// Suffix returns what follows the sort key of a current item in the sort key of an item: "" for the item itself. It
// returns false if the sort key of the item does not begin with that of the current one.
func Suffix(s *schema.Schema, primary, it item.Item) (string, bool) {
	own, _ := SortKey(s, primary)
	sk, ok := SortKey(s, it)
	if !ok {
		return "", false
	}
	return strings.CutPrefix(sk, own)
}

// CurrentKey returns the primary key of the current item that a related item under infix belongs to. It returns false if
// the sort key does not contain infix and a suffix, and for an event in the wrong partition.
func CurrentKey(s *schema.Schema, related item.Item, infix string) (item.Item, bool) {
	sk, _ := SortKey(s, related)
	at := strings.LastIndex(sk, infix)
	if s.EventID != nil && infix == schema.EventInfix { // orderBy can be the text of the infix
		at = ownLength(s, sk)
	}
	if at < 0 || !strings.HasPrefix(sk[at:], infix) || at+len(infix) == len(sk) {
		return nil, false
	}
	k := KeyOf(s, related)
	if infix == schema.EventInfix {
		var ok bool
		if k, ok = SeriesPartition(s, k); !ok {
			return nil, false
		}
	}
	k[s.SK.Attr] = item.S(sk[:at])
	return k, true
}

// ownLength returns the length of the current item's sort key in that of a related one: of the prefix and as many segments as the
// template has. It returns -1 if there are fewer.
func ownLength(s *schema.Schema, sk string) int {
	t := s.SK.Template
	rest, ok := strings.CutPrefix(sk, t.Prefix)
	for i := 0; ok && i <= len(t.Segments); i++ {
		_, rest, ok = strings.Cut(rest, "#")
	}
	if !ok {
		return -1
	}
	return len(sk) - len(rest) - len("#")
}

// RelatedSortKey returns the definition of the sort key of the related items under infix: the sort key of the current
// item, infix, and the value of a as f encodes it.
func RelatedSortKey(s *schema.Schema, infix string, a *schema.Attr, f *key.Field) *schema.KeyDef {
	t := *s.SK.Template
	t.Segments = append(slices.Clone(t.Segments), key.Segment{Literal: strings.Trim(infix, "#")}, key.Segment{Field: f})
	return &schema.KeyDef{Attr: s.SK.Attr, Path: s.SK.Path, Template: &t, Parts: append(slices.Clone(s.SK.Parts), a), Prefixed: true, Type: s.SK.Type}
}

// RelatedItem returns a copy of an item as it is stored under the sort key with suffix: without index keys, time to live
// and the mark of a restore, which only current items have.
func RelatedItem(s *schema.Schema, it item.Item, suffix, kind string) item.Item {
	out := item.Clone(it)
	for _, h := range s.IndexKeys() {
		if h.Written() {
			delete(out, h.Attr)
		}
	}
	delete(out, schema.OpAttr)
	delete(out, s.Options.TTL)
	if sk, ok := SortKey(s, it); ok {
		out[s.SK.Attr] = item.S(sk + suffix)
	}
	if s.HasMetadata {
		out[schema.KindAttr] = item.S(kind)
	}
	return out
}

// State returns the state of an item that a stored item holds. A snapshot of an item that expires has a time to live of
// its own, and the expiry of its state in another attribute; State puts that back. It returns any other item as it is.
func State(s *schema.Schema, it item.Item) item.Item {
	if !s.Expires || !item.Equal(it[schema.KindAttr], item.S(SnapshotKind)) {
		return it
	}
	out := item.Clone(it)
	delete(out, s.Options.TTL)
	if end, ok := out[schema.EndsAttr]; ok {
		out[s.Options.TTL] = end
	}
	delete(out, schema.EndsAttr)
	return out
}

// Erased reports whether a stored state is without its content because that was erased, and not because it was too large.
func Erased(it item.Item) bool {
	av, omitted := it[schema.OmittedAttr]
	return omitted && VersionIn(av) == 0
}

// DeletedAttr returns the name and format of the attribute that holds the time of deletion.
func DeletedAttr(s *schema.Schema) (string, key.TimeFormat) {
	if a := s.DeletedAt; a != nil {
		return a.Name, a.Format
	}
	return schema.DeletedAtAttr, s.Options.Precision
}

// IsDeletedState reports whether a stored item is a deleted state: a deleted copy, or the snapshot of a deleted state. In a shared table
// only the time of the deletion shows it. That includes copies that effect-dynamodb keeps after a restore.
func IsDeletedState(s *schema.Schema, it item.Item) bool {
	if _, marked := it[schema.DeletedAttr]; marked || item.Equal(it[schema.KindAttr], item.S(CopyKind)) {
		return true
	}
	name, _ := DeletedAttr(s)
	_, dated := it[name]
	return dated && !s.Profile.MarksItems()
}
