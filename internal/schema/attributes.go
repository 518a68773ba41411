package schema

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// Attr is one top-level attribute of the model.
type Attr struct {
	Name    string
	Field   string // Go name, with embedded structs: Base.ID
	Index   []int
	Type    reflect.Type
	Tag     tag.Attribute
	Role    tag.Field
	Options string // codec options for single values: ",stringset"
	Rule    *Rule
	Time    bool           // the type is time.Time or a pointer to it
	Format  key.TimeFormat // of a Time, and of an Epoch
	Text    bool           // the value marshals itself as text, and is stored as that
	Epoch   bool           // an integer that counts seconds or milliseconds since 1970
	Key     *key.Field     // how it is written as a key part; nil when it cannot be one
	Scalar  types.ScalarAttributeType
	Append  bool   // written by Append only
	Clock   bool   // orderBy of a series: written by Append only
	zero    string // text of the zero value, of a Text
	exact   bool   // finer times are errors
	behind  bool   // inside an embedded pointer, which may be nil

	needing string // index with missing:"error" whose key is made of the attribute
}

// Required reports that items must have the attribute, and that it must not be empty.
func (a *Attr) Required() bool { return a.Role.Has(tag.Required) || a.needing != "" }

// NeededBy is the name of an index with missing:"error" whose key is made of the attribute; "" if absent.
func (a *Attr) NeededBy() string { return a.needing }

// WhyRequired says so, for messages.
func (a *Attr) WhyRequired() string {
	if a.needing != "" && !a.Role.Has(tag.Required) {
		return `the attribute is required: the key of the index ` + a.needing + ` is made of it, which has missing:"error"`
	}
	return "the attribute is required"
}

// Optional reports that a value of the struct can lack the attribute.
func (a *Attr) Optional() bool { return a.Nilable() || a.behind }

// WriteOnce reports that the attribute keeps the first value that is stored.
func (a *Attr) WriteOnce() bool { return a.Role.Has(tag.SetOnce) || a.Role.Has(tag.Immutable) }

// Nilable reports that the attribute can be "not given", which is different from its zero value.
func (a *Attr) Nilable() bool {
	switch a.Type.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// Owned reports that the library sets the attribute itself: whole values' content is replaced, changes are refused.
func (a *Attr) Owned() bool {
	return a.Role.Has(tag.CreatedAt) || a.Role.Has(tag.UpdatedAt) || a.Role.Has(tag.Version) || a.Role.Has(tag.DeletedAt)
}

// Exact reports that a time finer than the attribute's format is an error, because the attribute is part of a key or
// orders a series.
func (a *Attr) Exact() bool { return a.exact }

// MakeExact is called by features for times that must not lose precision.
func (a *Attr) MakeExact() { a.exact = true }

// AllowsZero reports that the zero value is a real value of this key part.
func (a *Attr) AllowsZero() bool { return a.Role.Has(tag.Zero) }

// Wide reports that the attribute is an integer that holds every time.
func (a *Attr) Wide() bool {
	t := bare(a.Type)
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return !t.Implements(marshalerType) && !reflect.PointerTo(t).Implements(marshalerType)
	}
	return false
}

// Mixed reports that the stored order is not that of the values: equality is all that can be asked.
func (a *Attr) Mixed() bool { return a.Text && !a.Role.Ordered }

// TextField is how a Text is encoded.
func (a *Attr) TextField() *item.TextField {
	return &item.TextField{Index: a.Index, Attr: a.Name, OmitEmpty: a.Tag.OmitEmpty, Zero: a.zero}
}

// becomeText makes a one that is stored as the text that its type marshals itself to.
func (a *Attr) becomeText() {
	a.Text, a.zero, a.Options = true, item.ZeroText(bare(a.Type)), ""
	a.Key, a.Scalar = keyField(a)
}

// emptyOf is the value that a nil attribute with the role notnull has: an empty map or an empty list.
func emptyOf(a *Attr) (types.AttributeValue, bool) {
	switch {
	case encodesItself(a.Type) || a.Tag.Set != "":
	case a.Type.Kind() == reflect.Map:
		return &types.AttributeValueMemberM{Value: item.Item{}}, true
	case a.Type.Kind() == reflect.Slice && !bytesOf(a.Type) && !bytesOf(a.Type.Elem()):
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{}}, true
	}
	return nil, false
}

// Stored is av, or the empty value that stands for NULL where the attribute has the role notnull.
func (a *Attr) Stored(av types.AttributeValue) types.AttributeValue {
	if _, null := av.(*types.AttributeValueMemberNULL); null && a.Role.Has(tag.NotNull) {
		av, _ = emptyOf(a)
	}
	return av
}

// keyField returns how an attribute is written inside a key template and as a key of its own; nil, "" when it cannot.
func keyField(a *Attr) (*key.Field, types.ScalarAttributeType) {
	f := &key.Field{Attr: a.Name}
	if a.Time {
		f.Kind, f.Time = key.Time, a.Format
		if a.Format.Text() {
			return f, types.ScalarAttributeTypeS
		}
		return f, types.ScalarAttributeTypeN
	}
	t := bare(a.Type)
	if t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType) || a.Tag.Set != "" {
		return nil, ""
	}
	if a.Text {
		f.Kind = key.String
		return f, types.ScalarAttributeTypeS
	}
	scalar := types.ScalarAttributeTypeN
	switch t.Kind() {
	case reflect.String:
		if numeric(t) { // its text has many forms for one number
			if a.Tag.String {
				return nil, types.ScalarAttributeTypeS
			}
			return nil, types.ScalarAttributeTypeN
		}
		f.Kind, scalar = key.String, types.ScalarAttributeTypeS
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.Kind = key.Int
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.Kind = key.Uint
	case reflect.Bool:
		f.Kind, scalar = key.Bool, ""
	case reflect.Float32, reflect.Float64:
		return nil, types.ScalarAttributeTypeN
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil, types.ScalarAttributeTypeB
		}
		return nil, ""
	default:
		return nil, ""
	}
	if a.Tag.String && t.Kind() != reflect.String {
		return nil, types.ScalarAttributeTypeS
	}
	return f, scalar
}

// walk collects the attributes of struct type t and its declarations. Fields of embedded structs are attributes of
// the outer struct, as for attributevalue; an embedded struct's declarations are a mistake.
func (b *builder) walk(t reflect.Type, index []int, goName string) {
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(index[:len(index):len(index)], i)
		name := goName + f.Name
		if f.Type.Implements(declarationType) {
			b.declaration(f, index, name)
			continue
		}
		_, hasRole := f.Tag.Lookup("entity")
		if f.Name == "_" || f.PkgPath != "" && !f.Anonymous {
			if hasRole {
				b.add(CodeMalformed, name, "an unexported field cannot have an entity tag")
			}
			continue
		}
		// reflect stops in silence at the first malformed pair of a tag; what follows it would be lost.
		if _, err := tag.Pairs(string(f.Tag)); err != nil {
			b.add(CodeMalformed, name, "the tag is malformed: %v", err)
			continue
		}
		attrTag, err := attributeTag(f)
		if err != nil {
			b.add(CodeCodecOption, name, "dynamodbav: %v", err)
			continue
		}
		embedded := flattened(f, attrTag)
		switch {
		case (attrTag.Skip || embedded != nil) && hasRole:
			b.add(CodeMalformed, name, "a field that is not stored as an attribute cannot have an entity tag")
		case attrTag.Skip:
		case embedded != nil:
			b.embed(f, embedded, at, name)
		case f.Anonymous && f.PkgPath != "" && f.Type.Kind() != reflect.Struct:
			b.add(CodeUnsupportedType, name, "%s", unreachable)
		case f.PkgPath == "":
			b.attribute(f, attrTag, at, name)
		}
	}
}

func (b *builder) embed(f reflect.StructField, inner reflect.Type, at []int, name string) {
	switch {
	case b.inside[inner]:
		b.add(CodeUnsupportedType, name, "the struct embeds itself")
	case f.PkgPath != "" && f.Type.Kind() == reflect.Pointer:
		b.add(CodeUnsupportedType, name, "an embedded pointer to an unexported struct cannot be filled when an item is read; embed it by value or export it")
	default:
		outer, rule := b.behind, b.rule
		b.behind = outer || f.Type.Kind() == reflect.Pointer
		b.rule = ruleOf(rule, f)
		b.inside[inner] = true
		b.walk(inner, at, name+".")
		delete(b.inside, inner)
		b.behind, b.rule = outer, rule
	}
}

// attribute adds the attribute of one model field.
func (b *builder) attribute(f reflect.StructField, attrTag tag.Attribute, index []int, name string) {
	a := &Attr{Name: attrTag.Name, Field: name, Index: index, Type: f.Type, Tag: attrTag, Options: codecOptions(attrTag), Rule: ruleOf(b.rule, f), behind: b.behind}
	if a.Name == "" {
		a.Name = f.Name
	}
	if text, ok := f.Tag.Lookup("entity"); ok {
		role, err := tag.ParseField(text)
		if err != nil {
			b.add(CodeMalformed, name, "entity: %v", err)
		}
		a.Role = role
		a.Append = role.Has(tag.Append)
	}
	if other := b.s.byName[a.Name]; other != nil {
		b.add(CodeSharedAttr, name, "the attribute %q belongs to field %s already", a.Name, other.Field)
		return
	}
	b.storage(a)
	b.timeFormat(a)
	a.Key, a.Scalar = keyField(a)
	b.roles(a)
	b.s.Attrs = append(b.s.Attrs, a)
	b.s.byName[a.Name] = a
}

// storage settles whether a is stored as attributevalue does it or as its own text, and checks that it can be.
func (b *builder) storage(a *Attr) {
	code, problem := unsupported(a.Type, true, map[place]bool{})
	wanted := a.Role.Has(tag.Text)
	switch {
	case (wanted || problem != "" && code == CodeUnsupportedType) && item.IsText(bare(a.Type)):
		a.becomeText()
		if o := a.Tag; o.Set != "" || o.String || o.UnixTime || o.NullEmpty || o.OmitEmptyElem || o.NullEmptyElem {
			b.add(CodeCodecOption, a.Field, "only omitempty fits a field that is stored as its own text")
		}
		return
	case wanted:
		b.add(CodeRoleType, a.Field, "text needs a type that marshals and unmarshals itself as text, and has no other way to store itself; times have formats of their own")
	case problem != "":
		b.add(code, a.Field, "%s", problem)
	}
	if problem := optionMisfit(a.Type, a.Tag); problem != "" {
		b.add(CodeCodecOption, a.Field, "%s", problem)
	}
}

// timeFormat settles how a time field is stored, and what an integer counts that stands for a time.
func (b *builder) timeFormat(a *Attr) {
	a.Time = isTime(bare(a.Type))
	if !a.Time {
		if a.Role.Time == "" {
			return
		}
		format, ok := key.ParseTimeFormat(a.Role.Time)
		if !ok || format.Text() || a.Tag.String || !a.Wide() {
			b.add(CodeRoleType, a.Field, "time=%s needs a time.Time; unix and unixms also say what an integer of 64 bits counts", a.Role.Time)
			return
		}
		a.Format, a.Epoch = format, true
		return
	}
	a.Format = b.s.Options.Precision
	if a.Tag.UnixTime {
		a.Format = key.Unix
	}
	if a.Role.Time != "" {
		format, ok := key.ParseTimeFormat(a.Role.Time)
		if !ok || a.Tag.UnixTime && format != key.Unix {
			b.add(CodeMalformed, a.Field, "time=%s does not go with the rest of the tag", a.Role.Time)
		}
		a.Format = format
	}
}

// roles records the attribute's roles and checks that its Go type can bear them.
func (b *builder) roles(a *Attr) {
	once := func(slot **Attr, role tag.Role) {
		if *slot != nil {
			b.add(CodeRoleTwice, a.Field, "field %s has the role %s already", (*slot).Field, role)
			return
		}
		*slot = a
	}
	timeRole := func(slot **Attr, role tag.Role) {
		if !a.Role.Has(role) {
			return
		}
		if !a.Time {
			b.add(CodeRoleType, a.Field, "%s needs a time.Time", role)
		}
		once(slot, role)
	}
	timeRole(&b.s.CreatedAt, tag.CreatedAt)
	timeRole(&b.s.UpdatedAt, tag.UpdatedAt)
	timeRole(&b.s.DeletedAt, tag.DeletedAt)
	if a.Role.Has(tag.Version) {
		switch a.Type.Kind() {
		case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		default:
			b.add(CodeRoleType, a.Field, "version needs an integer of at least 32 bits")
		}
		if a.Tag.String {
			b.add(CodeRoleType, a.Field, "version cannot be stored as a string")
		}
		once(&b.s.Version, tag.Version)
	}
	if a.Role.Has(tag.Zero) && a.Key == nil && a.Scalar == "" && !item.IsText(bare(a.Type)) {
		b.add(CodeRoleType, a.Field, "zero is for key parts")
	}
	if a.Append && a.Tag.OmitEmpty && !a.Nilable() {
		b.add(CodeAppendOmitEmpty, a.Field, "append with omitempty needs a pointer, slice or map: zero and not reported must differ")
	}
	if a.Role.Has(tag.NotNull) {
		b.notNull(a)
	}
	owned := 0
	for _, r := range []tag.Role{tag.CreatedAt, tag.UpdatedAt, tag.DeletedAt, tag.Version} {
		if a.Role.Has(r) {
			owned++
		}
	}
	if owned > 1 {
		b.add(CodeRoleType, a.Field, "one field cannot have two of created_at, updated_at, deleted_at and version")
	}
	if a.Owned() {
		for _, r := range []tag.Role{tag.Append, tag.Immutable, tag.Required, tag.SetOnce} {
			if a.Role.Has(r) {
				b.add(CodeRoleType, a.Field, "%s makes no sense on a field that the library sets", r)
			}
		}
	}
}

// notNull checks that a nil value of the attribute would be NULL, and can be an empty map or list instead.
func (b *builder) notNull(a *Attr) {
	_, ok := emptyOf(a)
	switch {
	case !ok:
		b.add(CodeRoleType, a.Field, "notnull needs a map or a slice that is stored as a list")
	case a.Tag.OmitEmpty || a.Tag.NullEmpty:
		b.add(CodeRoleType, a.Field, "notnull stores an empty value, which omitempty leaves out and nullempty makes NULL")
	case a.Append || a.WriteOnce():
		b.add(CodeRoleType, a.Field, "notnull stores a value for none, which append, set_once and immutable must tell apart")
	}
}

// codec lists the times that the codec must write itself, and the sets that are absent when they are empty. An append
// distinguishes a set that was reported empty from one that was not reported.
func (b *builder) codec() {
	b.s.Codec = item.Codec{Default: b.s.Options.Precision}
	for _, a := range b.s.Attrs {
		if a.Tag.Set != "" && a.Tag.OmitEmpty && !a.Append {
			b.s.Codec.Sets = append(b.s.Codec.Sets, a.Name)
		}
		if a.Role.Has(tag.NotNull) {
			b.s.Codec.Stored = append(b.s.Codec.Stored, item.StoredField{Attr: a.Name, As: a.Stored})
		}
		if a.Text {
			b.s.Codec.Texts = append(b.s.Codec.Texts, *a.TextField())
		}
		if a.Time {
			b.s.Codec.Times = append(b.s.Codec.Times, item.TimeField{
				Index: a.Index, Attr: a.Name, Format: a.Format, OmitEmpty: a.Tag.OmitEmpty, Exact: a.exact,
			})
		}
	}
}
