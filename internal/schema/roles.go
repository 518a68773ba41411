package schema

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/tag"
)

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
