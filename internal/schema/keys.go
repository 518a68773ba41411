package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// KeyDef defines the partition key or the sort key of a table or an index.
type KeyDef struct {
	Attr     string    // name of the key attribute; "" for a native key of several attributes
	Path     expr.Path // of Attr
	Template *key.Template
	Native   []*Attr // instead of Template: attributes of the model that are the key
	Parts    []*Attr // attributes of the model that the key is made of, in order
	Prefixed bool    // a `$` template
	Type     types.ScalarAttributeType
	Whole    *expr.Cond // holds for all keys; nil: it was not found, or needs no condition
	When     []Clause   // all must hold, or an item lacks the key and is not in its index; nil: no condition
}

// EventPartitionSuffix returns what follows the partition key of a series' current item in that of one of the partitions of its events.
func EventPartitionSuffix(number int) string {
	return EventInfix + key.ShardText(number)
}

// MostShards is over how many partitions the events of a series or the items of an index can be spread. A query reads no more.
const MostShards = 100

// Shards reads shards: over how many partitions what is spread. It returns 0 without the key, and after reporting a mistake under code.
func (d *Decl) Shards(code, what string) int {
	text, ok := d.Tag("shards")
	n, err := strconv.Atoi(text)
	switch {
	case !ok:
		return 0
	case err != nil || n < 2 || n > MostShards || text != strconv.Itoa(n):
		d.Problem(code, "shards:%q must be a number from 2 to %d; without it %s are in one partition", text, MostShards, what)
		return 0
	case d.Schema.Profile.PadsNumbers():
		d.Problem(code, "effect-dynamodb, which shares the table, would not find %s in partitions of their own", what)
	}
	return n
}

// SpreadEvents declares that the events of each series are in n partitions. The partition key must be a `$` template.
func (s *Schema) SpreadEvents(n int) {
	s.EventPartitions = s.PK.spread(n, strings.TrimPrefix(EventInfix, "#"))
}

// spread returns k with each of n numbers, after infix, as its last segment.
func (k *KeyDef) spread(n int, infix string) (all []*KeyDef) {
	for i := range n {
		one, t := *k, *k.Template
		t.Segments = append(slices.Clone(t.Segments), key.Segment{Literal: infix + key.ShardText(i)})
		one.Template = &t
		all = append(all, &one)
	}
	return all
}

// Written reports whether the key is composed from a template and stored in an attribute of its own. Writes that change
// a part must change it too.
func (k *KeyDef) Written() bool { return k != nil && k.Template != nil }

// shape describes the texts of the key without the names of its parts: two keys of one shape have the same text for the same values. It is
// "" for a nil key.
func (k *KeyDef) shape() string {
	switch {
	case k == nil:
		return ""
	case k.Template == nil:
		return fmt.Sprint(k.Attributes())
	}
	text := fmt.Sprint(k.Attr, k.Template.Prefix, k.Template.Escaped)
	if k.Template.Shards != nil {
		text += fmt.Sprint(k.Template.Shards.N)
	}
	for _, s := range k.Template.Segments {
		text += fmt.Sprintf("%q", s.Literal)
		if s.Field != nil {
			of := *s.Field
			of.Attr = ""
			text += fmt.Sprint(of)
		}
	}
	return text
}

// Has reports whether a is a part of the key. A nil key has no parts.
func (k *KeyDef) Has(a *Attr) bool {
	if k != nil {
		for _, p := range k.Parts {
			if p == a {
				return true
			}
		}
	}
	return false
}

// Attributes returns the names of the stored key attributes, in order. A nil key has none.
func (k *KeyDef) Attributes() []string {
	switch {
	case k == nil:
		return nil
	case k.Template != nil:
		return []string{k.Attr}
	}
	names := make([]string, len(k.Native))
	for i, a := range k.Native {
		names[i] = a.Name
	}
	return names
}

func (s *Schema) KeyNames() []string { return append(s.PK.Attributes(), s.SK.Attributes()...) }

// Attribute returns the name of the first stored key attribute, which is the only one of a key of a table.
func (k *KeyDef) Attribute() string {
	if k.Template != nil {
		return k.Attr
	}
	return k.Native[0].Name
}

// String returns the key with placeholders, as in pk=$app#v1#telemetry#{channel}.
func (k *KeyDef) String() string {
	switch {
	case k == nil:
		return ""
	case k.Template == nil:
		text := ""
		for i, a := range k.Native {
			if i > 0 {
				text += "+"
			}
			text += a.Name
		}
		return text
	}
	text := k.Attr + "=" + k.Template.Prefix
	for _, s := range k.Template.Segments {
		if k.Template.Escaped {
			text += "#"
		}
		text += s.Literal
		if s.Field != nil {
			text += "{" + s.Field.Attr + "}"
		}
	}
	return text
}

// keyParts returns the attributes whose values can be read back from the texts of keys, in order.
func keyParts(keys ...*KeyDef) []item.KeyPart {
	var parts []item.KeyPart
	for _, k := range keys {
		if !k.Written() {
			continue
		}
		for _, a := range k.Parts {
			if !k.Template.Determines(a.Name) {
				continue
			}
			i := slices.IndexFunc(parts, func(p item.KeyPart) bool { return p.Attr == a.Name })
			if i < 0 {
				i = len(parts)
				parts = append(parts, item.KeyPart{Attr: a.Name})
			}
			if at := (item.KeyText{Attr: k.Attr, Template: k.Template}); !slices.Contains(parts[i].Keys, at) {
				parts[i].Keys = append(parts[i].Keys, at)
			}
		}
	}
	return parts
}

// keyDef compiles the text of a key. stored is the attribute that holds a `$` key. It returns nil after reporting a mistake.
func (d *Decl) keyDef(option, text, stored string, maxNative int) *KeyDef {
	parsed, err := ParseKey(text)
	if err != nil {
		d.Problem(CodeMalformed, "%s:%q: %v", option, text, err)
		return nil
	}
	if parsed.Form == Native {
		return d.native(option, parsed, maxNative)
	}
	k := &KeyDef{Attr: stored, Type: types.ScalarAttributeTypeS, Prefixed: parsed.Form == Prefixed, Template: &key.Template{}}
	if k.Prefixed {
		k.Template.Prefix, k.Template.Escaped = d.Schema.Prefix, true
	} else {
		k.Attr = parsed.Attr
	}
	k.Path = expr.Attr(k.Attr)
	ok := true
	for _, s := range parsed.Segments {
		segment := key.Segment{Literal: s.Literal}
		if k.Prefixed && d.Schema.Profile.KeysLowerCase() {
			segment.Literal = strings.ToLower(s.Literal)
		}
		if s.Field != nil {
			a := d.Attribute(option, s.Field.Attr)
			if a == nil {
				ok = false
				continue
			}
			segment.Field = d.placeholder(option, a, s.Field)
			if segment.Field == nil {
				ok = false
				continue
			}
			if k.Prefixed {
				segment.Field = d.Schema.Profile.InDollar(segment.Field)
			}
			k.Parts = append(k.Parts, a)
		}
		k.Template.Segments = append(k.Template.Segments, segment)
	}
	if !ok {
		return nil
	}
	return k
}

// placeholder returns how an attribute is written in a template.
func (d *Decl) placeholder(option string, a *Attr, p *Placeholder) *key.Field {
	d.asPart(a)
	if a.Key == nil {
		if d.textOfNumber(option, a) {
			return nil
		}
		d.Problem(CodeKeyPartType, "%s: attribute %q of type %s cannot be part of a key; strings, integers, booleans and times can%s", option, a.Name, a.Type, textHint(a))
		return nil
	}
	f := *a.Key
	f.Width, f.Lower = p.Width, p.Lower
	if f.Width > 0 && f.Kind != key.Int && f.Kind != key.Uint && (f.Kind != key.Time || f.Time.Text()) {
		d.Problem(CodeKeyPartType, "%s: {%s:0%d} needs an integer", option, a.Name, f.Width)
	}
	if f.Lower && f.Kind != key.String {
		d.Problem(CodeKeyPartType, "%s: {%s|lower} needs a string", option, a.Name)
	}
	if f.Kind == key.Time {
		a.Exact = true
	}
	return &f
}

// Part returns the attribute that an element of an option names, and how it is written in a `$` key: email, or in braces {email|lower}. They
// are nil after a mistake was reported.
func (d *Decl) Part(option, text string) (*Attr, *key.Field) {
	p, end, err := &Placeholder{Attr: text}, len(text), error(nil)
	if strings.HasPrefix(text, "{") {
		var s Segment
		if s, end, err = parseSegment(text, 0, end); err == nil {
			p = s.Field
		}
	}
	switch {
	case err != nil:
		d.Problem(CodeMalformed, "%s:%q: %v", option, text, err)
	case end < len(text):
		d.Problem(CodeMalformed, "%s:%q: %v", option, text, errorAt(end, "nothing may follow a placeholder"))
	case p.Width > 0:
		d.Problem(CodeKeyPartType, "%s: {%s:0%d} has digits, which make no values equal; leave them out", option, p.Attr, p.Width)
	default:
		if a := d.Attribute(option, p.Attr); a != nil {
			if f := d.placeholder(option, a, p); f != nil {
				return a, d.Schema.Profile.InDollar(f)
			}
		}
	}
	return nil, nil
}

// native compiles a key that consists of up to most attributes of the model.
func (d *Decl) native(option string, parsed Key, most int) *KeyDef {
	if len(parsed.Attrs) > most {
		d.Problem(CodeMalformed, "%s: %d attributes, %d allowed here", option, len(parsed.Attrs), most)
		return nil
	}
	k := &KeyDef{}
	for _, name := range parsed.Attrs {
		a := d.Attribute(option, name)
		if a == nil {
			return nil
		}
		if d.asPart(a); a.Scalar == "" {
			if d.textOfNumber(option, a) {
				return nil
			}
			d.Problem(CodeKeyPartType, "%s: attribute %q of type %s is not stored as a string, number or binary%s", option, name, a.Type, textHint(a))
			return nil
		}
		if a.Time {
			a.Exact = true
		}
		k.Native = append(k.Native, a)
	}
	k.Parts = k.Native
	k.Type = k.Native[0].Scalar
	if len(k.Native) == 1 {
		k.Attr, k.Path = k.Native[0].Name, k.Native[0].Path
	}
	return k
}

// asPart stores a part of the primary key as text if it could not be a key part otherwise. A part of an index key needs
// the role text for that, because items may already store it in another form. A part that encodes itself is what its zero value is.
func (d *Decl) asPart(a *Attr) {
	switch {
	case a.Key != nil || a.Scalar != "" || a.Tag.Set != "":
	case d.primary && item.IsText(Bare(a.Type)):
		a.becomeText()
	case item.EncodesItself(Bare(a.Type)) && reflect.PointerTo(Bare(a.Type)).Implements(unmarshalerType):
		a.asPart.Attr, a.Custom = a.Name, d.Schema.Options.Methods.Zero
		if a.Custom == nil {
			a.Custom = item.OwnZero(Bare(a.Type))
		}
		switch a.Custom.(type) {
		case *types.AttributeValueMemberS:
			a.asPart.Kind, a.Key, a.Scalar = key.String, a.asPart, types.ScalarAttributeTypeS
		case *types.AttributeValueMemberN:
			a.asPart.Kind, a.Key, a.Scalar = key.Int, a.asPart, types.ScalarAttributeTypeN
		case *types.AttributeValueMemberB:
			a.Scalar = types.ScalarAttributeTypeB
		}
	}
}

// textHint returns the end of a message about an attribute that cannot be a key part.
func textHint(a *Attr) string {
	if item.EncodesItself(Bare(a.Type)) {
		return "; a type that encodes itself can if it has both methods of attributevalue and its zero value is a string, a number or, where the attribute is the key, a binary"
	}
	if !a.Role.Has(Text) && item.IsText(Bare(a.Type)) {
		return `; with the role entity:"text" it is stored as its own text, and can`
	}
	return ""
}

// textOfNumber reports a number that is stored as text, which does not sort like a number.
func (d *Decl) textOfNumber(option string, a *Attr) bool {
	if a.Tag.String {
		d.Problem(CodeKeyPartType, "%s: attribute %q cannot be part of a key because its dynamodbav option string stores the number as text, which does not sort; leave the option out", option, a.Name)
	}
	return a.Tag.String
}

// payload returns the payload version in the text of an option, at least least, which is also its default.
func (d *Decl) payload(option, text string, given bool, least int) int {
	if !given {
		return least
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > 1_000_000 {
		d.Problem(CodeMalformed, "%s:%q must be a whole number from %d", option, text, least)
		return least
	}
	return n
}

// Primary reads entity.Key's tag: name, table, pk, sk, kind, payload, reads and stream.
func (d *Decl) Primary() {
	d.primary = true
	s, o := d.Schema, &d.Schema.Options
	name, ok := d.Need("name")
	if ok || o.Name != "" {
		s.Name = cmp.Or(o.Name, name)
		if err := Name(s.Name); err != nil {
			d.Problem(CodeMalformed, "name %q: %v", s.Name, err)
		}
		namespace := o.Namespace
		if s.Profile.KeysLowerCase() {
			namespace = strings.ToLower(namespace)
		}
		s.Prefix = "$" + namespace + "#v" + strconv.Itoa(o.NamespaceVersion) + "#" + strings.ToLower(s.Name) // what `$` stands for
	}
	table, given := d.Tag("table")
	if s.Table = table; given && table == "" {
		d.Problem(CodeMalformed, `table:"" names no table; leave it out for the table of entity.Config`)
	}
	if t := o.Table; t != "" {
		s.Table = t
	}
	if text, ok := d.Need("pk"); ok {
		s.PK = d.keyDef("pk", text, o.PK, 1)
	}
	if text, ok := d.Tag("sk"); ok {
		s.SK = d.keyDef("sk", text, o.SK, 1)
	}
	if text, ok := d.Tag("kind"); ok {
		attr, value, ok := strings.Cut(text, "=")
		if k, err := ParseKey(attr); !ok || value == "" || err != nil || k.Form != Native || len(k.Attrs) != 1 {
			d.Problem(CodeMalformed, "kind:%q must be attr=value", text)
		} else {
			if Reserved(attr) {
				d.Problem(CodeReservedAttr, "kind writes the attribute %q, which belongs to the library", attr)
			}
			if s.byName[attr] != nil {
				d.Problem(CodeReservedAttr, "kind writes the attribute %q, which the struct has too", attr)
			}
			s.Discriminator = &Discriminator{attr, value}
		}
	}
	text, ok := d.Tag("payload")
	s.Payload = d.payload("payload", text, ok, 1)
	text, ok = d.Tag("reads")
	s.Reads = d.payload("reads", text, ok, s.Payload)
	s.Known = expr.Compare(expr.NotExists, expr.Attr(PayloadAttr))
	if n := s.Reads; n > 1 {
		s.Known = expr.Any(s.Known, expr.Compare(expr.Le, expr.Attr(PayloadAttr), item.N(strconv.Itoa(n))))
	}
	if text, ok := d.Tag("stream"); ok {
		var words []string
		for _, v := range streamViews {
			if words = append(words, v.word); v.word == text {
				s.Stream = v.view
			}
		}
		if s.Stream == "" {
			d.Problem(CodeMalformed, "stream:%q must be one of %s", text, strings.Join(words, ", "))
		}
	}
	pk, sk := s.PK, s.SK
	if pk == nil {
		return
	}
	if len(pk.Parts) == 0 && (sk == nil || len(sk.Parts) == 0) {
		d.Problem(CodeNoKeyPart, "the primary key has no part from the struct: every item would have the same key")
	}
	if sk != nil && pk.Attr == sk.Attr {
		d.Problem(CodeTableKey, "pk and sk are the same attribute %q", pk.Attr)
	}
	for _, k := range []*KeyDef{pk, sk} {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			if a.Append {
				d.Problem(CodeAppendRole, "attribute %q is part of the primary key and cannot have the role append", a.Name)
			}
			if a.Owned() {
				d.Problem(CodeRoleType, "attribute %q is set by the library and cannot be part of the primary key", a.Name)
			}
		}
	}
	// The sort key determines the items of a partition; without one, the partition key does.
	s.Templated = pk.Prefixed && sk == nil || sk != nil && sk.Prefixed
	s.HasMetadata = s.Templated && s.Profile.MarksItems()
}

// streamViews are the words of entity.Key's stream, in the order in which messages list them.
var streamViews = []struct {
	word string
	view types.StreamViewType
}{
	{"new", types.StreamViewTypeNewImage}, {"old", types.StreamViewTypeOldImage},
	{"both", types.StreamViewTypeNewAndOldImages}, {"keys", types.StreamViewTypeKeysOnly},
}
