package schema

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// A Declaration reads the tag of a blank field that declares a feature. The type of that field, such as entity.Key, is a struct with one
// blank field, whose type is the Declaration: so no type that programs see has a method for this package.
type Declaration interface{ Declare(*Decl) }

// PrimaryKey is implemented by the declaration of entity.Key, the one that every entity needs.
type PrimaryKey interface {
	Declaration
	PrimaryKey()
}

// declarationOf returns what a field of type t, or a pointer to t, declares; nil if t declares nothing.
func declarationOf(t reflect.Type) Declaration {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.NumField() != 1 || t.Field(0).Name != "_" {
		return nil
	}
	d, _ := reflect.Zero(t.Field(0).Type).Interface().(Declaration)
	return d
}

// Decl is one declaration while it is read. Tag keys that its Declare method does not ask for are mistakes.
type Decl struct {
	Schema *Schema // keys and indexes are complete only in a Check

	build *builder
	name  string // the declaration's type, for messages
	field int    // number of the declaration's field in the struct
	pairs []item.Pair
	known []string

	primary bool // the declaration is the primary key
}

// Tag returns the value of a tag key, and whether the tag has it. A declaration asks for every key that it knows, also for optional ones.
func (d *Decl) Tag(key string) (string, bool) {
	d.known = append(d.known, key)
	for _, p := range d.pairs {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// Need returns the value of a tag key and reports a key that is missing or empty.
func (d *Decl) Need(key string) (string, bool) {
	v, ok := d.Tag(key)
	if !ok || v == "" {
		d.Problem(CodeMalformed, "tag key %q is missing", key)
		return "", false
	}
	return v, true
}

// Duration returns the duration in a tag key and reports one that is not greater than zero. It returns 0 without the key.
func (d *Decl) Duration(key string) time.Duration {
	text, ok := d.Tag(key)
	if !ok {
		return 0
	}
	v, err := Duration(text)
	switch {
	case err != nil:
		d.Problem(CodeMalformed, "%s:%q: %v", key, text, err)
	case v <= 0:
		d.Problem(CodeBadDuration, "%s must be greater than zero", key)
	}
	return v
}

// Attribute returns the attribute that tag key option names. It returns nil after reporting that the struct does not have it.
func (d *Decl) Attribute(option, name string) *Attr {
	if a := d.Schema.byName[name]; a != nil {
		return a
	}
	d.Problem(CodeUnknownAttr, "%s names the attribute %q, which the struct does not have%s", option, name, d.Meant(name))
	return nil
}

// Meant returns the end of a message about a name that no attribute has: what may have been meant.
func (d *Decl) Meant(name string) string {
	if a, key := d.NamedOtherwise(name); a != nil {
		return fmt.Sprintf("; %s tags are not read: give field %s the tag dynamodbav:%q", key, a.Field, name)
	}
	if base, _, ok := strings.Cut(name, "|"); ok && d.Schema.byName[base] != nil {
		return fmt.Sprintf("; a transform is in braces: {%s}", name)
	}
	known := make([]string, len(d.Schema.Attrs))
	for i, a := range d.Schema.Attrs {
		known[i] = a.Name
	}
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// NamedOtherwise returns the attribute whose field has that name in a tag of encoding/json or of another library for
// DynamoDB, and the key of that tag; nil without such a field. Fields with a dynamodbav tag do not count.
func (d *Decl) NamedOtherwise(name string) (*Attr, string) {
	for _, a := range d.Schema.Attrs {
		f := d.Schema.Type.FieldByIndex(a.Index)
		if _, tagged := f.Tag.Lookup("dynamodbav"); tagged {
			continue
		}
		for _, key := range []string{"dynamo", "json"} {
			if named, _, _ := strings.Cut(f.Tag.Get(key), ","); named == name {
				return a, key
			}
		}
	}
	return nil, ""
}

func (d *Decl) Problem(code, format string, args ...any) {
	for _, p := range d.pairs { // the type alone does not identify an index
		if p.Key == "name" && p.Value != d.Schema.Name {
			format, args = "%s: "+format, append([]any{p.Value}, args...)
		}
	}
	mistake := d.build.add(code, "_ "+d.name, format, args...)
	if blamed := d.Schema.Options.Blamed; blamed != nil {
		blamed[mistake] = d.field
	}
}

// Keep stores a feature's compiled declaration, which the feature finds with [Feature].
func (d *Decl) Keep(feature any) { d.Schema.Features = append(d.Schema.Features, feature) }

// Check runs f after every declaration has been read. Keys and indexes with mistakes are missing then.
func (d *Decl) Check(f func()) { d.build.checks = append(d.build.checks, f) }

// RelatedItems declares that the feature stores related items, whose sort key is the current item's followed by up to n bytes.
func (d *Decl) RelatedItems(n int) { d.Schema.RelatedSuffix = max(d.Schema.RelatedSuffix, n) }

// builder compiles one type. It collects mistakes, so that all are reported together.
type builder struct {
	problems
	s      *Schema
	decls  []pending
	checks []func()
	keyed  bool
	rule   *Rule // of the struct
	unread bool  // a declaration could not be read

	room []room // for the attributes, together, since they live as long as the schema
}

// room is the memory of one attribute.
type room struct {
	attr Attr
	path [1]expr.Step
	key  key.Field
}

// pending is a declaration that is read after all attributes are known.
type pending struct {
	field reflect.StructField
	value Declaration
}

// newBuilder returns a builder of struct type t. The error names what if t is no struct.
func newBuilder(t reflect.Type, o Options, what string) (*builder, error) {
	b := &builder{problems: problems{typ: t}}
	b.s = &Schema{Type: t, Options: o, Profile: o.Profile, Payload: 1, Reads: 1}
	if t.Kind() != reflect.Struct {
		b.add(CodeNotStruct, "", "%s is a struct, not a %s", what, t.Kind())
	} else {
		n := t.NumField()
		b.room = make([]room, n)
		b.s.Attrs, b.s.byName = make([]*Attr, 0, n), make(map[string]*Attr, n)
	}
	return b, b.err()
}

// Build compiles struct type t. The error joins an *Error for each mistake.
func Build(t reflect.Type, o Options) (*Schema, error) {
	b, err := newBuilder(t, o, "an entity")
	if err != nil {
		return nil, err
	}
	if o.Validator != nil {
		b.rule = &Rule{Type: t}
	}
	if item.EncodesItself(t) || o.Methods.Encodes {
		b.add(CodeUnsupportedType, "", "the struct encodes itself; its attributes could not be kept in step with its keys")
	}
	b.walk(t)
	if b.rule != nil {
		// The Validator reads every tag, with zero values. Such as that of go-playground panic on a tag with an unknown rule, or with one
		// that does not fit the type.
		b.probeFields(b.rule, t, "", map[reflect.Type]bool{})
	}
	s := b.s
	for _, p := range b.decls { // the primary key first, because `$` needs the entity's name
		if k, ok := p.value.(PrimaryKey); ok {
			b.read(p, k)
			b.keyed = true
		}
	}
	if !b.keyed {
		b.add(CodeNoKeyDeclaration, "", "there is no _ entity.Key field")
		s.Name = t.Name()
	}
	for _, p := range b.decls {
		if _, ok := p.value.(PrimaryKey); !ok {
			b.read(p, p.value)
		}
	}

	// What depends on several declarations.
	for _, a := range s.Attrs {
		if Reserved(a.Name) && !o.Own || s.Templated && a.Name == s.Options.TTL && !s.Expires {
			b.add(CodeReservedAttr, a.Field, "the attribute %q belongs to the library", a.Name)
		}
	}
	if s.PK != nil {
		b.keyCollisions()
	}
	if s.Profile.shared && s.Templated {
		b.interop()
	}
	if s.RelatedSuffix > 0 && (s.SK == nil || !s.SK.Prefixed) {
		b.add(CodeRelatedKey, "", "events, snapshots and deleted copies are stored with the current item: they need a sort key that begins with $")
	}
	for _, a := range s.Attrs {
		if a.Append && !b.unread && !slices.Contains(featureNames(s), "timeseries") {
			b.add(CodeRoleType, a.Field, "append is for time series: declare timeseries.Events")
		}
	}
	if s.DeletedAt != nil && !b.unread && !slices.Contains(featureNames(s), "lifecycle") {
		b.add(CodeDeletedAtRole, s.DeletedAt.Field, "deleted_at needs a lifecycle.SoftDelete declaration")
	}
	for _, check := range b.checks {
		check()
	}
	b.filled()
	p := reflect.PointerTo(t)
	s.Prepares = p.Implements(preparerType)
	_, hidden := p.MethodByName("Prepare")
	_, field := t.FieldByName("Prepare")
	if o.Methods.TwoPrepares || !hidden && !field && embedsPreparer(t, map[reflect.Type]bool{}) {
		b.add(CodePrepare, "", "two embedded structs have a Prepare method, so Go promotes neither; write one for %s that calls them", t)
	}
	if err := b.err(); err != nil {
		return nil, err
	}

	// The codec reads back key parts that an item lacks. The parts of the primary key are read from it everywhere, because it never
	// changes. The parts of an index key are read from it only if the index does not carry them: other programs may remove a part and
	// leave the index key behind.
	b.codec()
	s.Codec.Parts = keyParts(s.PK, s.SK)
	for _, x := range s.Indexes {
		x.keys = slices.Clip(x.Keys())
		if !x.Project.All {
			codec := s.Codec
			codec.Parts = keyParts(s.PK, s.SK, x.PK, x.SK)
			if x.codec = &codec; !o.SDKCodec {
				codec.Compile(t)
			}
		}
	}
	if !o.SDKCodec {
		s.Codec.Compile(t)
	}

	s.prototype = Prototype(t)
	s.addresses = make(map[address]*Node, len(s.Attrs))
	nodes := make([]Node, len(s.Attrs)) // together, since they live as long as s
	for i, a := range s.Attrs {
		a.Node = &nodes[i]
		*a.Node = Node{Path: a.Path, Attr: a, Field: a.Field, Type: a.Type, Tag: a.Tag, Options: a.Options, Rule: a.Rule, Top: true}
		if v, err := s.prototype.Elem().FieldByIndexErr(a.Index); err == nil { // else in an embedded pointer to an unexported struct, which callers cannot address
			s.place(v, a.Node)
		}
	}
	s.indexKeys, s.keys = len(s.IndexKeys()), slices.Clip(s.Keys())
	if s.Profile.shared {
		for _, k := range []*KeyDef{s.PK, s.SK} {
			if k == nil || !k.Prefixed {
				continue
			}
			for _, a := range k.Parts {
				if a.Key.Kind == key.String {
					s.Folded = append(s.Folded, a)
				}
			}
		}
	}
	s.facts()
	return s, nil
}

// CodecOf returns the codec of a struct type that is not an entity, such as an earlier shape of one. It ignores
// declarations. The error joins an *Error for each field that cannot be stored.
func CodecOf(t reflect.Type, o Options) (item.Codec, error) {
	b, err := shapeOf(t, o)
	if err != nil {
		return item.Codec{}, err
	}
	return b.s.Codec, nil
}

// shapeOf returns a builder that has compiled the attributes and the codec of a struct type, and has not read its declarations.
func shapeOf(t reflect.Type, o Options) (*builder, error) {
	b, err := newBuilder(t, o, "what is stored as an item")
	if err != nil {
		return nil, err
	}
	b.walk(t)
	if err := b.err(); err != nil {
		return nil, err
	}
	b.codec()
	return b, nil
}

// Subset is a part of an entity that is read into another struct: the attributes to fetch, and how to decode them.
type Subset struct {
	Names []string
	Codec item.Codec
}

// Project compiles struct type t as a subset of s, for items that are read through x, or from the table if x is nil. Key parts that the
// index does not carry are read from the keys instead. The error joins an *Error for each field that s lacks or has with another type.
func Project(t reflect.Type, s *Schema, x *Index) (Subset, error) {
	b, err := newBuilder(t, s.Options, "a projection")
	if err != nil {
		return Subset{}, err
	}
	b.walk(t)
	for _, a := range b.s.Attrs {
		of := s.byName[a.Name]
		switch {
		case of == nil:
			b.add(CodeUnknownAttr, a.Field, "the attribute %q is not in %s", a.Name, s.Type)
			continue
		case Bare(a.Type) != Bare(of.Type):
			b.add(CodeRoleType, a.Field, "the field is a %s in %s", of.Type, s.Type)
		}
		a.Format = of.Format
		if of.Text && !a.Text {
			a.becomeText()
		}
	}
	if len(b.s.Attrs) == 0 {
		b.add(CodeUnknownAttr, "", "the struct has no attributes")
	}
	if err := b.err(); err != nil {
		return Subset{}, err
	}
	b.codec()
	subset := Subset{Codec: b.s.Codec, Names: []string{}}
	for _, p := range s.CodecOf(x).Parts {
		if b.s.byName[p.Attr] != nil {
			subset.Codec.Parts = append(subset.Codec.Parts, p)
		}
	}
	for _, a := range b.s.Attrs {
		known := slices.ContainsFunc(subset.Codec.Parts, func(p item.KeyPart) bool { return p.Attr == a.Name })
		if x == nil || s.Carries(x, a.Name) || !known {
			subset.Names = append(subset.Names, a.Name)
		}
	}
	if s.HasMetadata && (x == nil || x.Project.All) {
		subset.Names = append(subset.Names, PayloadAttr) // items of a later version are refused
	}
	if !s.Options.SDKCodec {
		subset.Codec.Compile(t)
	}
	return subset, nil
}

func (b *builder) read(p pending, value Declaration) {
	d := &Decl{Schema: b.s, build: b, name: p.field.Type.String(), field: p.field.Index[0]}
	pairs, err := item.Pairs(string(p.field.Tag)) // which d keeps
	if err != nil {
		d.Problem(CodeMalformed, "%v", err)
		b.unread = true // checks that depend on it would mislead
		return
	}
	d.pairs = pairs
	if _, ok := value.(PrimaryKey); ok && b.keyed {
		d.Problem(CodeNoKeyDeclaration, "there is more than one primary key declaration")
		return
	}
	value.Declare(d)
	for _, p := range pairs {
		if !slices.Contains(d.known, p.Key) {
			hint := ""
			if near := Nearest(p.Key, d.known); near != "" {
				hint = "; did you mean " + near + "?"
			}
			d.Problem(CodeMalformed, "unknown tag key %q%s", p.Key, hint)
		}
	}
}

// keyCollisions reports attributes that two keys, or a key and the model, would both write.
func (b *builder) keyCollisions() {
	owner := map[string]string{}
	claim := func(k *KeyDef, what string) {
		if !k.Written() {
			return
		}
		if a := b.s.byName[k.Attr]; a != nil {
			b.add(CodeReservedAttr, a.Field, "the attribute %q is written by %s", k.Attr, what)
		}
		if Reserved(k.Attr) || k.Attr == b.s.Options.TTL {
			b.add(CodeReservedAttr, "", "%s cannot be stored in %q, which belongs to the library", what, k.Attr)
		}
		if other, ok := owner[k.Attr]; ok {
			b.add(CodeKeyAttrCollision, "", "%s and %s are both stored in the attribute %q", other, what, k.Attr)
			return
		}
		owner[k.Attr] = what
	}
	claim(b.s.PK, "the partition key")
	claim(b.s.SK, "the sort key")
	for _, x := range b.s.Indexes {
		if !x.Local {
			claim(x.PK, "the partition key of index "+x.Name)
		}
		claim(x.SK, "the sort key of index "+x.Name)
	}
	if d := b.s.Discriminator; d != nil {
		if other, ok := owner[d.Attr]; ok {
			b.add(CodeKeyAttrCollision, "", "kind is stored in %q, which is %s", d.Attr, other)
		}
		if b.s.Templated {
			b.add(CodeMalformed, "", "kind is for verbatim entities: a $ entity is marked by %s", EntityAttr)
		}
	}
}
