package schema

import (
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/tag"
)

var (
	timeType      = reflect.TypeFor[time.Time]()
	marshalerType = reflect.TypeFor[attributevalue.Marshaler]()
)

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

// flattened returns the struct type of an embedded field whose fields are attributes of the outer struct, else nil.
func flattened(f reflect.StructField, attrTag tag.Attribute) reflect.Type {
	if attrTag.Skip {
		return nil
	}
	return item.Flattened(f)
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

func attributeTag(f reflect.StructField) (tag.Attribute, error) {
	text, ok := f.Tag.Lookup("dynamodbav")
	if !ok {
		return tag.Attribute{}, nil
	}
	return tag.ParseAttribute(text)
}

func isTime(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.ConvertibleTo(timeType) && !reflect.PointerTo(t).Implements(marshalerType)
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

// Wide reports that the attribute is an integer that holds every time.
func (a *Attr) Wide() bool {
	t := bare(a.Type)
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return !t.Implements(marshalerType) && !reflect.PointerTo(t).Implements(marshalerType)
	}
	return false
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

// codecOptions rebuilds the tag options that change how a single value is encoded; omitempty is decided by the caller.
func codecOptions(t tag.Attribute) string {
	var b strings.Builder
	for _, o := range []struct {
		on   bool
		name string
	}{
		{t.OmitEmptyElem, "omitemptyelem"}, {t.NullEmpty, "nullempty"}, {t.NullEmptyElem, "nullemptyelem"}, {t.String, "string"},
		{t.UnixTime, "unixtime"}, {t.Set == "string", "stringset"}, {t.Set == "number", "numberset"}, {t.Set == "binary", "binaryset"},
	} {
		if o.on {
			b.WriteString("," + o.name)
		}
	}
	return b.String()
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
