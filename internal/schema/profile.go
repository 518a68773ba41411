package schema

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// How many digits effect-dynamodb gives a number in a key, and a bigint. The stored number does not tell which it was.
const (
	interopWidth = 16
	bigintWidth  = 38
)

// inDollar is how f is written in a `$` key of this database.
func (o Options) inDollar(f *key.Field) *key.Field {
	g := *f
	g.Lower = g.Lower || o.LowerCase && (g.Kind == key.String || g.Kind == key.Time)
	if o.Interop {
		g.Plain = true
		if g.Width == 0 {
			g.Width = interopWidth
		}
	}
	return &g
}

// InDollar is how an attribute that can be a key part is written in a `$` key.
func (s *Schema) InDollar(a *Attr) *key.Field { return s.Options.inDollar(a.Key) }

// Bigint makes f one that effect-dynamodb has as a bigint.
func (s *Schema) Bigint(f *key.Field) { f.Width = bigintWidth }

// CheckDigits gives a problem when sort key half h composes the key of it with numbers in more or fewer digits than the
// stored text has. Their order is not that of the numbers then, and ranges would miss some of them in silence.
func (s *Schema) CheckDigits(h *KeyDef, it item.Item) (attr, problem string) {
	text, ok := it[h.Attr].(*types.AttributeValueMemberS)
	if !ok || !s.Options.Interop || h.Template.Recomposes(it, text.Value) {
		return "", ""
	}
	other := *h.Template
	other.Segments = slices.Clone(other.Segments)
	for i, seg := range other.Segments {
		if seg.Field != nil && seg.Field.Number() {
			f := *seg.Field
			f.Width = interopWidth + bigintWidth - f.Width
			other.Segments[i].Field, attr = &f, f.Attr
		}
	}
	if attr == "" || !other.Recomposes(it, text.Value) {
		return "", ""
	}
	return attr, "the stored key has it in another number of digits than the declaration: effect-dynamodb writes a number in 16 digits and a bigint in 38"
}

// Cased are the primary key's parts of which the key does not tell the case: what differs from the stored part in case
// only has the same key.
func (s *Schema) Cased() []*Attr {
	if !s.Options.LowerCase {
		return nil
	}
	var cased []*Attr
	for _, h := range []*KeyDef{s.PK, s.SK} {
		if h == nil || !h.Prefixed {
			continue
		}
		for _, a := range h.Parts {
			if a.Key.Kind == key.String {
				cased = append(cased, a)
			}
		}
	}
	return cased
}

// SyncsIndexKeys reports that the halves of x are in an item either both or not at all, as effect-dynamodb has them.
func (s *Schema) SyncsIndexKeys(x *Index) bool {
	return s.Options.Interop && !x.Local && x.PK.Prefixed && (x.SK == nil || x.SK.Prefixed)
}

// Kept reports that appends keep half h in step, so that it does not have to be composed again by other writes.
func (s *Schema) Kept(h *KeyDef) bool {
	written := false
	for _, a := range h.Parts {
		if !s.KeyPart(a) && !a.Append && !a.Clock {
			return false
		}
		written = written || a.Append || a.Clock
	}
	return written
}

// interop refuses what a table that is shared with effect-dynamodb cannot hold.
func (b *builder) interop() {
	s := b.s
	if s.Payload > 1 {
		b.add(CodeInterop, "", "a payload version has no place in a table that is shared with effect-dynamodb")
	}
	for _, a := range s.Attrs {
		if a.Time && a.Format.Text() && a.Format != key.Milli {
			b.add(CodeInterop, a.Field, "effect-dynamodb stores times as text in milliseconds, or as numbers: use time=ms, time=unix or time=unixms")
		}
	}
	if a := s.DeletedAt; a != nil && (a.Name != DeletedAtAttr || !a.Format.Text()) {
		b.add(CodeInterop, a.Field, "effect-dynamodb stores the time of a deletion as text in the attribute %q", DeletedAtAttr)
	}
	for _, x := range s.Indexes {
		if s.OfCopies(x) {
			b.add(CodeInterop, "", "the index %s would hold deleted copies, which effect-dynamodb keeps out of every index", x.Name)
		}
	}
	for _, h := range s.Keys() {
		if h.Template == nil || !h.Prefixed {
			continue
		}
		for _, f := range h.Template.Fields() {
			if f.Width != interopWidth && f.Width != bigintWidth {
				b.add(CodeInterop, s.byName[f.Attr].Field, "effect-dynamodb writes a number in keys in %d digits and a bigint in %d, not in %d", interopWidth, bigintWidth, f.Width)
			}
		}
	}
}
