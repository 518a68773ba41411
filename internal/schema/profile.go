package schema

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// The digits that effect-dynamodb gives a number in a key, and a bigint. Both are stored as the same type of number.
const (
	numberDigits = 16
	bigintDigits = 38
)

// Profile describes how the keys and items of `$` entities are written. The zero Profile is that of a database of its own. In
// tables that effect-dynamodb uses too, keys and items are as it writes them.
type Profile struct {
	shared bool // with effect-dynamodb
}

// NewProfile returns a Profile: whether tables are shared with effect-dynamodb.
func NewProfile(shared bool) Profile { return Profile{shared} }

func (p Profile) KeysLowerCase() bool { return p.shared }

// MarksItems reports whether items carry a write id and, if they are related items, their kind.
func (p Profile) MarksItems() bool { return !p.shared }

// SharesSentinels reports whether effect-dynamodb writes sentinels too, in its own form.
func (p Profile) SharesSentinels() bool { return p.shared }

// VersionsRestart reports whether a write of effect-dynamodb can start the versions of an existing item at 1 again, so that
// a version does not identify a state.
func (p Profile) VersionsRestart() bool { return p.shared }

// CopiesLag reports whether a deleted copy can have the version of the state before it, as effect-dynamodb writes it.
func (p Profile) CopiesLag() bool { return p.shared }

// PadsNumbers reports whether every number in a `$` key has 16 digits, or 38 for a bigint.
func (p Profile) PadsNumbers() bool { return p.shared }

// SyncsIndexKeys reports whether an item always has both keys of x or neither.
func (p Profile) SyncsIndexKeys(x *Index) bool {
	return p.shared && !x.Local && x.PK.Prefixed && (x.SK == nil || x.SK.Prefixed)
}

// InDollar returns f as it is written in a `$` key.
func (p Profile) InDollar(f *key.Field) *key.Field {
	g := *f
	if p.shared {
		g.Lower = g.Lower || g.Kind == key.String || g.Kind == key.Time
		g.Plain = true
		if g.Width == 0 {
			g.Width = numberDigits
		}
	}
	return &g
}

// Bigint gives f the digits of a bigint of effect-dynamodb.
func (p Profile) Bigint(f *key.Field) { f.Width = bigintDigits }

// CheckDigits returns the attribute and the problem if the stored key k of an item has a number in the digits of a bigint
// where k is declared with those of a number, or the reverse. Such keys are not in the order of the declared ones, so a
// range would silently miss some of them.
func (p Profile) CheckDigits(k *KeyDef, it item.Item) (attr, problem string) {
	text, ok := it[k.Attr].(*types.AttributeValueMemberS)
	if !ok || !p.shared || k.Template.Recomposes(it, text.Value) {
		return "", ""
	}
	other := *k.Template
	other.Segments = slices.Clone(other.Segments)
	for i, seg := range other.Segments {
		if seg.Field != nil && seg.Field.Number() {
			f := *seg.Field
			f.Width = numberDigits + bigintDigits - f.Width
			other.Segments[i].Field, attr = &f, f.Attr
		}
	}
	if attr == "" || !other.Recomposes(it, text.Value) {
		return "", ""
	}
	return attr, "the stored key has it in another number of digits than the declaration: effect-dynamodb writes a number in 16 digits and a bigint in 38"
}

// interop reports what a table that is shared with effect-dynamodb cannot hold.
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
		if s.HoldsCopies(x) {
			b.add(CodeInterop, "", "the index %s would hold deleted copies, which effect-dynamodb keeps out of every index", x.Name)
		}
	}
	for _, k := range s.Keys() {
		if k.Template == nil || !k.Prefixed {
			continue
		}
		for _, f := range k.Template.Fields() {
			if f.Width != numberDigits && f.Width != bigintDigits {
				b.add(CodeInterop, s.byName[f.Attr].Field, "effect-dynamodb writes a number in keys in %d digits and a bigint in %d, not in %d", numberDigits, bigintDigits, f.Width)
			}
		}
	}
}
