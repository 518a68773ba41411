package schema

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// Attr is one top-level attribute of the model.
type Attr struct {
	Name       string
	Field      string // Go name, with embedded structs: Base.ID
	Path       expr.Path
	Index      []int
	Type       reflect.Type
	Tag        Attribute
	Role       Field
	Options    string // codec options for single values: ",stringset"
	Rule       *Rule
	Node       *Node          // the attribute as a whole
	Time       bool           // the type is time.Time or a pointer to it
	Format     key.TimeFormat // of a Time or an Epoch
	Text       bool           // stored as the text that the value marshals to
	Epoch      bool           // an integer that counts seconds or milliseconds since 1970
	Key        *key.Field     // how it is written as a key part; nil if it cannot be one
	Scalar     types.ScalarAttributeType
	Append     bool // written by Append only
	Clock      bool // orderBy or id of a series: written by Append only
	Exact      bool // a time that is finer than Format is an error: the attribute is part of a key or orders a series
	Free       bool // an update may change it in every way
	IsOwned    bool // see Owned; Build sets this and the next two
	IsOnce     bool // see WriteOnce
	IsRequired bool // see Required
	IsZero     bool // see AllowsZero
	Basic      bool // of a predeclared type without methods: a bool, a number or a string
	AnyText    bool // as a key part: every text but "" is a value
	Plain      bool // Free and Basic, no key of an index, and no Validator checks it: setting or removing it needs only its value
	// IsUnique is set for an attribute of a unique constraint.
	IsUnique bool
	// IndexPart is set for an attribute that is itself a key attribute of an index.
	IndexPart bool
	zero      string // of a Text: text of the zero value
	// Custom is what the zero value of a key part encodes itself as, if its type does so: a string, number or binary, as every value of the
	// part must be. It counts as missing, as other zeros do.
	Custom types.AttributeValue
	Behind bool // in an embedded pointer, which may be nil
	asPart *key.Field

	needing string // index with missing:"error" that has the attribute in its key
}

// Required reports whether items must have the attribute with a value that is not empty.
func (a *Attr) Required() bool { return a.Role.Has(Required) || a.needing != "" }

// NeededBy returns the name of an index with missing:"error" that has the attribute in its key, or "".
func (a *Attr) NeededBy() string { return a.needing }

func (a *Attr) WhyRequired() string {
	if a.needing != "" && !a.Role.Has(Required) {
		return `the attribute is required: the key of the index ` + a.needing + ` is made of it, which has missing:"error"`
	}
	return "the attribute is required"
}

// Optional reports whether a value of the struct can lack the attribute.
func (a *Attr) Optional() bool { return a.Nilable() || a.Behind }

// WriteOnce reports whether the attribute keeps the first value that is stored.
func (a *Attr) WriteOnce() bool { return a.Role.Has(SetOnce) || a.Role.Has(Immutable) }

// Nilable reports whether the attribute can be nil, which means "not given" and differs from its zero value.
func (a *Attr) Nilable() bool { return Nilable(a.Type) }

// ownedRoles are the roles of the attributes that the library sets.
var ownedRoles = [...]Role{CreatedAt, UpdatedAt, DeletedAt, Version}

// Owned reports whether the library sets the attribute. It replaces the value in a given struct and rejects changes.
func (a *Attr) Owned() bool {
	return a.Role.Context != "" || slices.ContainsFunc(ownedRoles[:], a.Role.Has)
}

// AllowsZero reports whether the zero value is a value of this key part, and not a missing one.
func (a *Attr) AllowsZero() bool { return a.Role.Has(Zero) }

// Wide reports whether the attribute is an integer of 64 bits, which can hold every time.
func (a *Attr) Wide() bool {
	t := Bare(a.Type)
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint64:
		return !item.EncodesItself(t)
	}
	return false
}

// IsSecret reports whether no message may hold a value of the attribute.
func (a *Attr) IsSecret() bool { return a.Role.Has(Secret) }

func (s *Schema) HasSecret() bool { return slices.ContainsFunc(s.Attrs, (*Attr).IsSecret) }

// Mixed reports whether the stored order differs from the order of the values, so that only equality can be asked for.
func (a *Attr) Mixed() bool { return a.Text && !a.Role.Ordered }

// TextField returns how an attribute with Text is encoded.
func (a *Attr) TextField() *item.TextField {
	return &item.TextField{Index: a.Index, Attr: a.Name, OmitEmpty: a.Tag.OmitEmpty, Zero: a.zero}
}

// TimeField returns how an attribute with Time is encoded.
func (a *Attr) TimeField() *item.TimeField {
	return &item.TimeField{Index: a.Index, Attr: a.Name, Format: a.Format, OmitEmpty: a.Tag.OmitEmpty, Exact: a.Exact}
}

// becomeText stores the attribute as the text that its type marshals to.
func (a *Attr) becomeText() {
	a.Text, a.zero, a.Options = true, item.ZeroText(Bare(a.Type)), ""
	a.Key, a.Scalar = keyField(a)
}

// namesSubjects reports whether the attribute is stored as a string, or as a set or list of strings.
func namesSubjects(a *Attr) bool {
	t := item.Listed(Bare(a.Type)) // a set can be a map
	switch {
	case a.Text:
		return true
	case item.EncodesItself(t):
		return false
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Array:
		t = t.Elem()
	}
	return t.Kind() == reflect.String && !Numeric(t) && !item.EncodesItself(t) && (a.Tag.Set == "" || a.Tag.Set == "string")
}

// emptyOf returns what an attribute with the role notnull stores for nil: an empty map or an empty list.
func emptyOf(a *Attr) (types.AttributeValue, bool) {
	switch {
	case item.EncodesItself(a.Type) || a.Tag.Set != "":
	case a.Type.Kind() == reflect.Map:
		return &types.AttributeValueMemberM{Value: item.Item{}}, true
	case a.Type.Kind() == reflect.Slice && !BytesOf(a.Type) && !BytesOf(a.Type.Elem()):
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{}}, true
	}
	return nil, false
}

// Stored returns av, or the empty value that an attribute with the role notnull stores instead of NULL.
func (a *Attr) Stored(av types.AttributeValue) types.AttributeValue {
	if _, null := av.(*types.AttributeValueMemberNULL); null && a.Role.Has(NotNull) {
		av, _ = emptyOf(a)
	}
	return av
}

// keyField returns how an attribute is written in a key template, or nil, and its type as a key attribute, or "".
func keyField(a *Attr) (*key.Field, types.ScalarAttributeType) {
	if a.asPart == nil {
		a.asPart = new(key.Field)
	}
	f := a.asPart
	*f = key.Field{Attr: a.Name}
	if a.Time {
		f.Kind, f.Time = key.Time, a.Format
		if a.Format.Text() {
			return f, types.ScalarAttributeTypeS
		}
		return f, types.ScalarAttributeTypeN
	}
	t := Bare(a.Type)
	if item.EncodesItself(t) || a.Tag.Set != "" {
		return nil, ""
	}
	if a.Text {
		f.Kind = key.String
		return f, types.ScalarAttributeTypeS
	}
	scalar := types.ScalarAttributeTypeN
	switch t.Kind() {
	case reflect.String:
		if Numeric(t) { // one number has several texts
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
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 && t.Len() > 0 && !item.IsText(t) { // else it becomes its text; see asPart
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

// walk collects the attributes and declarations of struct type t. As in attributevalue, fields of embedded structs are
// attributes of the outer struct. An embedded struct cannot have declarations.
func (b *builder) walk(t reflect.Type) {
	for _, f := range ruledFields(t, b.rule) {
		_, hasRole := f.Tag.Lookup("entity")
		value := declarationOf(f.Type)
		switch {
		case value != nil:
			switch {
			case f.StructField.Name != "_":
				b.add(CodeMalformed, f.Path, "a declaration is a blank field: _ %s", f.Type)
			case len(f.Index) > 1:
				b.add(CodeMalformed, f.Path, "an embedded struct cannot declare %s; declare it on the entity itself", f.Type)
			case f.Type.Kind() == reflect.Pointer:
				b.add(CodeMalformed, f.Path, "declare %s by value", f.Type)
			default:
				b.decls = append(b.decls, pending{f.StructField, value})
			}
		case f.Problem != "":
			b.add(ruleCode(f.Rule), f.Path, "%s", f.Problem)
		case f.Use == item.Stored:
			b.attribute(f)
		case hasRole:
			b.add(CodeMalformed, f.Path, "a field that is not stored as an attribute cannot have an entity tag")
		}
	}
}

// attribute adds the attribute of one field.
func (b *builder) attribute(f ruled) {
	if len(b.room) == 0 { // of embedded structs
		b.room = make([]room, 8)
	}
	own := &b.room[0]
	b.room = b.room[1:]
	a := &own.attr
	*a = Attr{Name: f.Attr.Name, Field: f.Path, Index: f.Index, Type: f.Type, Tag: f.Attr, Options: codecOptions(f.Tag), Rule: f.rule, Behind: f.Behind, asPart: &own.key}
	own.path[0].Name = a.Name
	a.Path = own.path[:]
	if text, ok := f.Tag.Lookup("entity"); ok {
		var err error
		if a.Role, err = ParseField(text); err != nil {
			b.add(CodeMalformed, a.Field, "entity: %v", err)
		}
	}
	role := a.Role
	a.Append = role.Has(Append)

	// It is stored as attributevalue does it, or as text.
	stored := a.Type
	if a.Tag.Set != "" {
		stored = item.Listed(a.Type)
	}
	m := unsupported(stored, true, map[place]bool{})
	wanted := role.Has(Text)
	switch {
	case (wanted || m != nil && m.code == CodeUnsupportedType) && item.IsText(Bare(a.Type)):
		a.becomeText()
		if o := a.Tag; o.Set != "" || o.String || o.UnixTime || o.NullEmpty || o.OmitEmptyElem || o.NullEmptyElem {
			b.add(CodeCodecOption, a.Field, "only omitempty fits a field that is stored as its own text")
		}
	case wanted:
		b.add(CodeRoleType, a.Field, "text needs a type that marshals and unmarshals itself as text, and has no other way to store itself; times have formats of their own")
	case m != nil && m.in != nil:
		b.add(m.code, a.Field, "field %s%s of %s: %s", a.Field, m.place, m.in, m.problem)
	case m != nil:
		b.add(m.code, a.Field, "%s", m.problem)
	}
	if problem := optionMisfit(stored, a.Tag); problem != "" && !a.Text {
		b.add(CodeCodecOption, a.Field, "%s", problem)
	}

	format, known := key.ParseTimeFormat(role.Time)
	a.Time = IsTime(Bare(a.Type))
	switch {
	case a.Time:
		a.Format = b.s.Options.Precision
		if a.Tag.UnixTime {
			a.Format = key.Unix
		}
		if role.Time != "" {
			if !known || a.Tag.UnixTime && format != key.Unix {
				b.add(CodeMalformed, a.Field, "time=%s does not go with the rest of the tag", role.Time)
			}
			a.Format = format
		}
	case role.Time == "":
	case !known || format.Text() || a.Tag.String || !a.Wide():
		b.add(CodeRoleType, a.Field, "time=%s needs a time.Time; unix and unixms also say what an integer of 64 bits counts", role.Time)
	default:
		a.Format, a.Epoch = format, true
	}
	a.Key, a.Scalar = keyField(a)
	b.roles(a)
	b.s.Attrs = append(b.s.Attrs, a)
	b.s.byName[a.Name] = a
}

// roles records the attribute's roles and checks that its Go type can have them.
func (b *builder) roles(a *Attr) {
	once := func(slot **Attr, role Role) {
		if *slot != nil {
			b.add(CodeRoleTwice, a.Field, "field %s already has the role %s", (*slot).Field, role)
			return
		}
		*slot = a
	}
	timeRole := func(slot **Attr, role Role) {
		if !a.Role.Has(role) {
			return
		}
		if !a.Time {
			b.add(CodeRoleType, a.Field, "%s needs a time.Time", role)
		}
		once(slot, role)
	}
	timeRole(&b.s.CreatedAt, CreatedAt)
	timeRole(&b.s.UpdatedAt, UpdatedAt)
	timeRole(&b.s.DeletedAt, DeletedAt)
	if a.Role.Has(Version) {
		switch a.Type.Kind() {
		case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		default:
			b.add(CodeRoleType, a.Field, "version needs an integer of at least 32 bits")
		}
		if a.Tag.String {
			b.add(CodeRoleType, a.Field, "version cannot be stored as a string")
		}
		once(&b.s.Version, Version)
	}
	if a.Role.Has(Zero) && a.Key == nil && a.Scalar == "" && !item.IsText(Bare(a.Type)) && !item.EncodesItself(Bare(a.Type)) {
		b.add(CodeRoleType, a.Field, "zero is for key parts")
	}
	if a.Append && a.Tag.OmitEmpty && !a.Nilable() {
		b.add(CodeAppendOmitEmpty, a.Field, "append with omitempty needs a pointer, slice or map: zero and not reported must differ")
	}
	if a.Role.Has(Subject) {
		if !namesSubjects(a) {
			b.add(CodeRoleType, a.Field, "subject needs a string, a value that is stored as text, or a set or list of strings")
		}
		b.s.Subjects = append(b.s.Subjects, a)
	}
	if a.Role.Has(NotNull) {
		switch _, ok := emptyOf(a); {
		case !ok:
			b.add(CodeRoleType, a.Field, "notnull needs a map or a slice that is stored as a list")
		case a.Tag.OmitEmpty || a.Tag.NullEmpty:
			b.add(CodeRoleType, a.Field, "notnull stores an empty value, which omitempty leaves out and nullempty makes NULL")
		case a.Append || a.WriteOnce():
			b.add(CodeRoleType, a.Field, "notnull stores a value for nil, which append, set_once and immutable must distinguish from others")
		}
	}
	owned := 0
	for _, r := range ownedRoles {
		if a.Role.Has(r) {
			owned++
		}
	}
	if a.Role.Context != "" {
		owned++
		b.s.Contexts = append(b.s.Contexts, a)
	}
	if owned > 1 {
		b.add(CodeRoleType, a.Field, "one field cannot have two of created_at, updated_at, deleted_at, version and context")
	}
	if a.Owned() {
		for _, r := range []Role{Append, Immutable, Required, SetOnce} {
			if a.Role.Has(r) && (r != Required || a.Role.Context == "") {
				b.add(CodeRoleType, a.Field, "%s makes no sense on a field that the library sets", r)
			}
		}
	}
}

// codec lists the attributes that attributevalue would not encode as declared. It leaves out sets with the role append:
// an append distinguishes an empty set from one that was not reported.
func (b *builder) codec() {
	b.s.Codec = item.Codec{Default: b.s.Options.Precision}
	special := new(item.Special)
	expiry, expires := Feature[interface{ Stamps() string }](b.s)
	for _, a := range b.s.Attrs {
		if a.Owned() || a.WriteOnce() || a.Append || a.Clock || a.Role.Has(NotNull) || expires && a.Name == expiry.Stamps() {
			b.s.Codec.Kept = append(b.s.Codec.Kept, a.Name)
		}
		if a.Tag.Set != "" && a.Tag.OmitEmpty && !a.Append {
			special.Sets = append(special.Sets, a.Name)
		}
		if a.Role.Has(NotNull) {
			special.Stored = append(special.Stored, item.StoredField{Attr: a.Name, As: a.Stored})
		}
		if a.Text {
			special.Texts = append(special.Texts, *a.TextField())
		}
		if a.Time {
			special.Times = append(special.Times, *a.TimeField())
		}
	}
	if special.Sets != nil || special.Stored != nil || special.Texts != nil || special.Times != nil {
		b.s.Codec.Special = special
	}
}
