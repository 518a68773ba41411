package schema

import (
	"context"
	"encoding"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Preparer is implemented by pointers to entities that complete their own values before these are written.
type Preparer interface{ Prepare(context.Context) error }

// FromContext returns the value that a context has under a name, and whether it has one.
type FromContext func(ctx context.Context, name string) (string, bool)

var (
	preparerType = reflect.TypeFor[Preparer]()
	durationType = reflect.TypeFor[time.Duration]()
)

// misfit is a constant that a type does not take: the rest of a sentence that begins with "the default".
type misfit string

// constant reads the constant of a default as a value of type t. It never quotes the text, which may be of a secret field.
func constant(t reflect.Type, text string) (reflect.Value, misfit) {
	v := reflect.New(t).Elem()
	if IsTime(t) {
		at, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return v, "is not a time such as 2026-01-02T15:04:05Z"
		}
		return reflect.ValueOf(at.UTC()).Convert(t), ""
	}
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if u.UnmarshalText([]byte(text)) != nil {
			return v, "is refused by the UnmarshalText method of " + misfit(t.String())
		}
		return v, ""
	}
	if t == durationType {
		d, err := time.ParseDuration(text)
		if err != nil {
			return v, "is not a duration such as 1h30m"
		}
		v.SetInt(int64(d))
		return v, ""
	}
	switch k := t.Kind(); {
	case k == reflect.String:
		if _, err := item.ParseDecimal(text); err != nil && Numeric(t) {
			return v, "is not a number that DynamoDB can store"
		}
		v.SetString(text)
	case k == reflect.Bool:
		if text != "true" && text != "false" {
			return v, "is neither true nor false"
		}
		v.SetBool(text == "true")
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, t.Bits())
		if err != nil {
			return v, "is not an integer that fits " + misfit(t.String())
		}
		v.SetInt(n)
	case v.CanUint() && k != reflect.Uintptr:
		n, err := strconv.ParseUint(text, 10, t.Bits())
		if err != nil {
			return v, "is not an integer that fits " + misfit(t.String())
		}
		v.SetUint(n)
	case v.CanFloat():
		f, err := strconv.ParseFloat(text, t.Bits())
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return v, "is not a number that fits " + misfit(t.String())
		}
		v.SetFloat(f)
	default:
		return v, "needs a string, number, bool, duration or time, a type that unmarshals itself from text, or a pointer to one of these; set other fields in a Prepare method"
	}
	return v, ""
}

// SetDefault sets fv, the attribute's field in a struct, to the attribute's default.
func (a *Attr) SetDefault(fv reflect.Value) {
	v, _ := constant(Bare(a.Type), a.Role.Default) // filled has checked it
	if a.Type.Kind() == reflect.Pointer {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p
	}
	fv.Set(v)
}

// Given reports whether fv, the attribute's field in a struct, has a value. Zero is one behind a pointer only.
func (a *Attr) Given(fv reflect.Value) bool {
	if a.Time && fv.Kind() != reflect.Pointer {
		return !fv.Convert(timeType).Interface().(time.Time).IsZero()
	}
	return !fv.IsZero() && (fv.Kind() != reflect.Slice || fv.Len() > 0)
}

// filled collects and checks the attributes with a default or a generated id, and checks those with the role context.
func (b *builder) filled() {
	for _, a := range b.s.Attrs {
		if a.Role.Default == "" && a.Role.ID == "" {
			continue
		}
		b.s.Filled = append(b.s.Filled, a)
		what := "default"
		if a.Role.ID != "" {
			what = "id"
		}
		keyPart := b.s.PK != nil && b.s.KeyPart(a)
		problem := ""
		switch {
		case a.Role.Default != "" && a.Role.ID != "":
			problem = "a field has a default or a generated id, not both"
		case a.Owned():
			problem = what + " makes no sense on a field that the library sets"
		case a.Append || a.Clock:
			problem = what + " makes no sense on a field that only appends write: they store what was reported"
		case b.s.Handle != "" && (keyPart || a.Role.ID != ""):
			problem = what + " makes no sense on this field of a time series: appends find the item by its key and write no other field"
		case a.Role.Has(Zero) && a.Type.Kind() != reflect.Pointer:
			problem = what + " and zero exclude each other: one takes zero for no value, the other for a value"
		case a.Behind:
			problem = what + " is for fields that every value of the struct has; this one is in an embedded pointer"
		case b.s.Expires && a.Name == b.s.Options.TTL:
			problem = what + " makes no sense on the time when the item expires, which lifecycle.TTL sets"
		case a.Role.ID != "" && !(a.Type.Kind() == reflect.String && !Numeric(a.Type) || a.Type.Kind() == reflect.Array && a.Type.Len() == 16 && a.Type.Elem() == reflect.TypeFor[byte]()):
			problem = "id needs a string or a [16]byte"
		}
		if problem != "" {
			b.add(CodeFillRole, a.Field, "%s", problem)
			continue
		}
		if a.Role.Default == "" {
			continue
		}
		v, misfit := constant(Bare(a.Type), a.Role.Default)
		switch {
		case misfit != "":
		case a.Type.Kind() != reflect.Pointer && !a.Given(v):
			misfit = "is the zero value, so it changes nothing"
		default:
			if _, err := b.store(a, v); err != nil {
				misfit = "cannot be stored in the field"
			}
		}
		if misfit != "" {
			b.add(CodeDefault, a.Field, "the default %s", misfit)
		}
	}
	// Whether a write has a value of the context is known only when it runs, so no key can be made of it.
	for _, a := range b.s.Contexts {
		switch {
		case a.Type.Kind() != reflect.String || Numeric(a.Type) || item.EncodesItself(a.Type) || a.Text:
			b.add(CodeContextRole, a.Field, "context=%s needs a string", a.Role.Context)
		case b.s.Options.FromContext == nil:
			b.add(CodeContextRole, a.Field, "context=%s needs a Config.FromContext", a.Role.Context)
		case slices.ContainsFunc(b.s.IndexKeys(), func(k *KeyDef) bool { return k.Has(a) }):
			b.add(CodeContextRole, a.Field, "a field with context=%s cannot be part of the key of an index", a.Role.Context)
		}
	}
}

// store encodes v, a constant for a, as a write does.
func (b *builder) store(a *Attr, v reflect.Value) (types.AttributeValue, error) {
	codec := item.Codec{Default: b.s.Options.Precision}
	switch {
	case a.Time:
		f := item.TimeField{Attr: a.Name, Format: a.Format, Exact: true}
		return f.Encode(v, nil)
	case a.Text:
		return a.TextField().Encode(v)
	}
	return codec.EncodeValue(nil, v, a.Options)
}

// embedsPreparer reports whether a struct embedded in t has a Prepare method.
func embedsPreparer(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t.Kind() != reflect.Struct || seen[t] {
		return false
	}
	seen[t] = true
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			inner := Bare(f.Type)
			if reflect.PointerTo(inner).Implements(preparerType) || embedsPreparer(inner, seen) {
				return true
			}
		}
	}
	return false
}
