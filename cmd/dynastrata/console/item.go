package console

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A Kind classifies a stored item.
type Kind string

// The kinds of items.
const (
	KindCurrent    Kind = "current"
	KindEvent      Kind = "event"
	KindVersion    Kind = "version"
	KindDeleted    Kind = "deleted copy"
	KindSentinel   Kind = "sentinel"
	KindCheckpoint Kind = "checkpoint"
	KindRow        Kind = "timeline row"
	KindPages      Kind = "timeline pages"
	KindParts      Kind = "timeline parts"
	KindManifest   Kind = "timeline manifest"
	KindUnknown    Kind = "unknown" // of no entity of the model, or of a kind of a later version
)

var relatedKinds = map[string]Kind{
	layout.CurrentKind: KindCurrent, layout.EventKind: KindEvent, layout.SnapshotKind: KindVersion, layout.CopyKind: KindDeleted,
}

// hidden is printed instead of a secret.
const hidden = layout.HiddenValue

// field is a named value as it is printed.
type field struct {
	Name  string
	Type  string // S, N, BOOL…; "" of a key part
	Value string
	Plain any  // for JSON
	Odd   bool // not declared
}

// stored is an item as it is shown. Secrets are hidden in everything but raw and owner.
type stored struct {
	Table    string
	Entity   string // "" if unknown
	Kind     Kind
	Problem  string  // why it does not belong, "" if it does
	Parts    []field // of the key of the current item that it is or belongs to
	Of       string  // what distinguishes a related item: the version, orderBy and id, the time of the delete, the constraint
	Attrs    []field // by name, without the primary key
	Size     int     // in bytes, as DynamoDB counts
	Expires  time.Time
	Expired  bool
	Deleted  bool // the version of a deleted state
	Restored bool

	raw   item.Item
	model *entityModel
	owner item.Item
}

// decode says what an item of a table is. It accepts any item.
func (m *model) decode(table string, it item.Item, now time.Time) stored {
	x := stored{Table: table, Kind: KindUnknown, raw: it, Size: item.Size(it)}
	for _, e := range m.on(table) {
		id := identify.Of(e.s, it)
		if id.Role == identify.Foreign {
			continue
		}
		x.model, x.Entity, x.owner = e, e.s.Name, id.Owner
		m.describe(&x, id, now)
		return x
	}
	x.Problem = "of no declared entity"
	for _, name := range slices.Sorted(maps.Keys(it)) {
		f := fieldOf(name, it[name])
		if name != schema.EntityAttr && name != schema.KindAttr {
			f.Value, f.Plain = hidden, hidden
		}
		x.Attrs = append(x.Attrs, f)
	}
	return x
}

// describe completes an item of the entity x.model.
func (m *model) describe(x *stored, id identify.Identity, now time.Time) {
	e, it := x.model, x.raw
	switch {
	case id.Role == identify.Sentinel:
		x.Kind, x.Of = KindSentinel, item.Text(id.Name)
		if !slices.ContainsFunc(e.uniques, func(c constraint) bool { return c.name == id.Name }) {
			x.Problem = "of a constraint that is not declared"
		}
	case id.Role == identify.Checkpoint:
		x.Kind = KindCheckpoint
	case !id.Known:
		x.Problem = "related item of an unknown kind"
	case e.derived != "":
		x.Kind = e.derived
	default:
		x.Kind = relatedKinds[id.Kind]
	}
	if x.owner != nil && x.Kind != KindCheckpoint {
		m.keyParts(x)
	}
	if x.Kind != KindSentinel && x.Kind != KindCheckpoint && x.Problem == "" {
		x.Of = m.distinction(x)
		x.Problem = m.misfit(x)
	}
	if end, ok := numberOf(it[e.s.Options.TTL]); ok && (e.s.UsesTTL || e.s.Expires) {
		if end >= firstSecond && end <= lastSecond { // other times have no text
			x.Expires = time.Unix(end, 0).UTC()
		}
		x.Expired = layout.Expired(e.s, it, now)
	}
	x.Deleted = x.Kind == KindVersion && layout.IsDeletedState(e.s, it)
	_, x.Restored = it[schema.OpAttr]
	primary := layout.KeyOf(e.s, it)
	for _, name := range slices.Sorted(maps.Keys(it)) {
		if _, key := primary[name]; key {
			continue
		}
		f := fieldOf(name, m.withoutPositions(x, name))
		if m.hides(e, name) || x.Kind == KindCheckpoint && name != schema.EntityAttr && m.hidesUnknown(x.Table) || x.Kind == KindSentinel && (name == schema.OwnerPKAttr && m.hides(e, e.s.PK.Attribute()) ||
			name == schema.OwnerSKAttr && e.s.SK != nil && m.hides(e, e.s.SK.Attribute())) {
			f.Value, f.Plain = hidden, hidden
		}
		f.Odd = e.undeclared(name)
		x.Attrs = append(x.Attrs, f)
	}
}

// withoutPositions returns the value of an attribute. The manifest of a read model has positions in the tables that it is made
// from, which are keys of any item there, and the key of an item that could not be applied; these are hidden.
func (m *model) withoutPositions(x *stored, name string) types.AttributeValue {
	av := x.raw[name]
	if x.Kind != KindManifest || !m.hasSecrets() {
		return av
	}
	if name == "failure" {
		return item.S(hidden)
	}
	return withoutMember(av, "positions")
}

// withoutMember hides the members with a name of all maps in a value.
func withoutMember(av types.AttributeValue, name string) types.AttributeValue {
	switch v := av.(type) {
	case *types.AttributeValueMemberM:
		out := &types.AttributeValueMemberM{Value: item.Item{}}
		for n, e := range v.Value {
			if out.Value[n] = withoutMember(e, name); n == name {
				out.Value[n] = item.S(hidden)
			}
		}
		return out
	case *types.AttributeValueMemberL:
		out := &types.AttributeValueMemberL{}
		for _, e := range v.Value {
			out.Value = append(out.Value, withoutMember(e, name))
		}
		return out
	}
	return av
}

// keyParts sets the parts of the key of the current item that x is or belongs to.
func (m *model) keyParts(x *stored) {
	s, seen := x.model.s, map[string]bool{}
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		if k == nil {
			continue
		}
		values := map[string]types.AttributeValue{}
		if k.Written() {
			text, _ := x.owner[k.Attr].(*types.AttributeValueMemberS)
			if text == nil {
				continue
			}
			vs, err := k.Template.Parse(text.Value)
			for i, f := range k.Template.Fields() {
				if err != nil {
					values[f.Attr] = x.raw[f.Attr]
				} else if av, err := f.Attribute(vs[i]); err == nil {
					values[f.Attr] = av
				}
			}
		} else {
			for _, a := range k.Native {
				values[a.Name] = x.owner[a.Name]
			}
		}
		for _, a := range k.Parts {
			if av := values[a.Name]; av != nil && !seen[a.Name] {
				seen[a.Name] = true
				f := fieldOf(a.Name, av)
				if m.hides(x.model, a.Name) {
					f.Value, f.Plain = hidden, hidden
				}
				x.Parts = append(x.Parts, f)
			}
		}
	}
}

// distinction returns what a related item has in its sort key after that of the current item.
func (m *model) distinction(x *stored) string {
	infix := infixOf(x.Kind)
	if x.Kind == KindCurrent || infix == "" {
		return ""
	}
	current, ok := layout.CurrentKey(x.model.s, x.raw, infix)
	if !ok {
		return ""
	}
	suffix, _ := layout.Suffix(x.model.s, current, x.raw)
	suffix = suffix[len(infix):]
	switch x.Kind {
	case KindVersion:
		if n, err := strconv.ParseInt(strings.TrimPrefix(suffix, "~"), 10, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	case KindEvent:
		if slices.ContainsFunc(x.model.order, func(name string) bool { return m.hides(x.model, name) }) {
			return hidden
		}
	}
	return item.Text(suffix)
}

// misfit returns why an item is not as the lock says: an attribute of another type, or a key that does not follow from its
// attributes; "" if it is.
func (m *model) misfit(x *stored) string {
	s := x.model.s
	for _, a := range s.Attrs {
		av, has := x.raw[a.Name]
		if _, null := av.(*types.AttributeValueMemberNULL); !has || null || a.Scalar == "" {
			continue
		}
		if item.TypeName(av) != string(a.Scalar) {
			return "attribute " + item.Text(a.Name) + " is stored as " + item.TypeName(av) + ", declared as " + string(a.Scalar)
		}
	}
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		if !k.Written() || !s.HasMetadata {
			continue
		}
		text, missing, err := k.Template.Compose(x.raw)
		if err != nil || len(missing) == 0 && !item.Equal(x.owner[k.Attr], item.S(text)) {
			return "its key does not follow from its attributes"
		}
	}
	return ""
}

// attr returns an attribute as it is printed.
func (x stored) attr(name string) (field, bool) {
	for _, f := range x.Attrs {
		if f.Name == name {
			return f, true
		}
	}
	return field{}, false
}

// keyText returns the key parts on one line.
func (x stored) keyText() string {
	var all []string
	for _, p := range x.Parts {
		all = append(all, p.label()+"="+p.Value)
	}
	return strings.Join(all, " ")
}

// object returns the item for --json.
func (x stored) object() map[string]any {
	out := map[string]any{"table": x.Table, "kind": x.Kind, "bytes": x.Size}
	set := func(name string, v any, ok bool) {
		if ok {
			out[name] = v
		}
	}
	set("entity", x.Entity, x.Entity != "")
	set("problem", x.Problem, x.Problem != "")
	set("of", x.Of, x.Of != "")
	set("expires", x.Expires, !x.Expires.IsZero())
	set("expired", true, x.Expired)
	set("deleted", true, x.Deleted)
	set("restored", true, x.Restored)
	set("key", plainOf(x.Parts), len(x.Parts) > 0)
	set("attributes", plainOf(x.Attrs), len(x.Attrs) > 0)
	var odd []string
	for _, f := range x.Attrs {
		if f.Odd {
			odd = append(odd, f.Name)
		}
	}
	set("undeclared", odd, len(odd) > 0)
	return out
}

func plainOf(fields []field) map[string]any {
	out := map[string]any{}
	for _, f := range fields {
		out[f.Name] = f.Plain
	}
	return out
}

// fieldOf returns a value as it is printed.
func fieldOf(name string, av types.AttributeValue) field {
	text := item.ValueText(av)
	if s, ok := av.(*types.AttributeValueMemberS); ok {
		text = item.Text(s.Value)
	}
	return field{Name: name, Type: item.TypeName(av), Value: text, Plain: plain(av)}
}

// label returns the name as it is printed.
func (f field) label() string { return item.Text(f.Name) }

// plain returns a value for JSON: numbers as they are stored.
func plain(av types.AttributeValue) any {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		if _, err := item.ParseDecimal(v.Value); err != nil || !json.Valid([]byte(v.Value)) {
			return v.Value
		}
		return json.Number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberSS:
		return v.Value
	case *types.AttributeValueMemberNS:
		return v.Value
	case *types.AttributeValueMemberBS:
		return v.Value
	case *types.AttributeValueMemberL:
		out := make([]any, len(v.Value))
		for i, e := range v.Value {
			out[i] = plain(e)
		}
		return out
	case *types.AttributeValueMemberM:
		out := map[string]any{}
		for name, e := range v.Value {
			out[name] = plain(e)
		}
		return out
	}
	return nil
}

func numberOf(av types.AttributeValue) (int64, bool) {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	return v, err == nil
}
