package console

import (
	"cmp"
	"encoding/base64"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// inputs returns the fields of the form of the item.
func (c *editing) inputs() (all []studio.Input) {
	for _, a := range c.x.Schema.Attrs {
		if c.x.Schema.KeyPart(a) || a.IsOwned || contextRole(c.e.s.Attr(a.Name)) {
			continue
		}
		in := studio.Input{Name: a.Name, Type: a.Type.String(), Optional: a.Optional() || a.Tag.OmitEmpty}
		av, present := c.seen.raw[a.Name]
		_, null := av.(*types.AttributeValueMemberNULL)
		in.Present = present && !null
		in.Kind = inputKind(a)
		switch {
		case c.d.s.m.hides(c.e, a.Name) && !a.IsSecret():
			in.Why = "made from secrets"
		case a.Append || a.Clock:
			in.Why = "written by Append only"
		case a.IsOnce && in.Present:
			in.Why = "written once"
		case in.Kind == "" || a.IsSecret() && in.Kind == kindSet:
			in.Why = a.Type.String() + ": edited by the program only"
		case a.IsSecret():
			in.Secret, in.Present = true, false // a page must not say whether it has a value
		case in.Present:
			if in.Text, in.Why = inputText(a, in.Kind, av); len(in.Text) > 60 || strings.Contains(in.Text, "\n") {
				in.Kind = cmp.Or(map[string]string{"text": "area"}[in.Kind], in.Kind)
			}
		}
		all = append(all, in)
	}
	return all
}

// Kinds of fields for what is no scalar.
const (
	kindJSON  = "json"  // a struct, map or list, as JSON
	kindSet   = "set"   // a value a line
	kindBytes = "bytes" // base64
)

var timeType = reflect.TypeFor[time.Time]()

// inputKind returns how a form edits an attribute; "" if it cannot.
func inputKind(a *schema.Attr) string {
	t := a.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	encodes := func(t reflect.Type) bool {
		_, own := reflect.PointerTo(t).MethodByName("UnmarshalDynamoDBAttributeValue")
		return own || a.Text
	}
	switch k := t.Kind(); {
	case t == timeType:
		return "time"
	case encodes(t):
		return ""
	case k == reflect.Bool:
		return "bool"
	case k == reflect.String && a.Scalar == types.ScalarAttributeTypeS:
		return "text"
	case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr && a.Scalar == types.ScalarAttributeTypeN:
		return "number"
	case a.Tag.Set != "":
		return kindSet
	case (k == reflect.Slice || k == reflect.Array) && t.Elem().Kind() == reflect.Uint8:
		return kindBytes
	case k == reflect.Struct || k == reflect.Map || k == reflect.Slice || k == reflect.Array || k == reflect.Interface:
		return kindJSON
	}
	return ""
}

// longestInput is how long a value in a form may be.
const longestInput = 100_000

// inputText returns the text of a stored value in a form, or why it has none.
func inputText(a *schema.Attr, kind string, av types.AttributeValue) (text, why string) {
	if kind == kindJSON {
		return fits(strings.TrimSpace(string(jsonText(plain(av)))))
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberB:
		return fits(base64.StdEncoding.EncodeToString(v.Value))
	case *types.AttributeValueMemberSS:
		return linesOf(v.Value)
	case *types.AttributeValueMemberNS:
		return linesOf(v.Value)
	case *types.AttributeValueMemberBS:
		var all []string
		for _, b := range v.Value {
			all = append(all, base64.StdEncoding.EncodeToString(b))
		}
		return linesOf(all)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value), ""
	case *types.AttributeValueMemberN, *types.AttributeValueMemberS:
		if a.Time {
			t, err := a.Format.FromValue(av)
			if err != nil {
				return "", "it is no time"
			}
			return t.UTC().Format(time.RFC3339Nano), ""
		}
		return fits(scalarText(av))
	}
	return "", "it is stored as " + item.TypeName(av)
}

// fits returns a text of a form, or why a form cannot have it.
func fits(text string) (_, why string) {
	switch {
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return "", "it has characters that a form does not keep"
	case len(text) > longestInput:
		return "", "it is too long for a form"
	}
	return text, ""
}

// linesOf returns the text of a set, a value a line, or why a form cannot have it.
func linesOf(set []string) (text, why string) {
	if slices.ContainsFunc(set, func(x string) bool { return strings.Contains(x, "\n") || strings.TrimSpace(x) == "" }) {
		return "", "it has values that are no lines"
	}
	return fits(strings.Join(set, "\n"))
}

// changes reads the texts of a form.
func (c *editing) changes() (all []bind.Change, err error) {
	for _, in := range c.w.Changes {
		a := c.x.Schema.Attr(in.Name)
		if a == nil || c.d.s.m.hides(c.e, in.Name) && !a.IsSecret() {
			return nil, badKey("%s cannot be edited", item.Text(in.Name))
		}
		change := bind.Change{Kind: expr.Remove, Target: bind.Target{Attr: a.Name}}
		if !in.Remove {
			v, err := inputValue(c.x.Schema, a, in.Text)
			switch {
			case err != nil && a.IsSecret():
				return nil, badKey("%s must be a value of its type, %s", item.Text(a.Name), a.Type)
			case errors.As(err, new(*nestedError)):
				return nil, badKey("%v", err)
			case err != nil:
				return nil, badKey("%s must be %v", item.Text(a.Name), err)
			}
			change.Kind, change.Value = expr.Set, v
		}
		all = append(all, change)
	}
	return all, nil
}

// inputValue reads a text as a value of the type of an attribute. The error ends a sentence, or is a *nestedError.
func inputValue(s *schema.Schema, a *schema.Attr, text string) (any, error) {
	if kind := inputKind(a); kind == kindJSON || kind == kindSet || kind == kindBytes {
		return nestedValue(s, a, kind, text)
	}
	t := a.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	v := reflect.New(t).Elem()
	bad := func(err error, what string) error {
		if err != nil {
			return errors.New(what)
		}
		return nil
	}
	var err error
	switch k := t.Kind(); {
	case inputKind(a) == "":
		return nil, errors.New("edited by the program")
	case t == timeType:
		at, wrong := time.Parse(time.RFC3339Nano, strings.TrimSpace(text))
		err = bad(wrong, anInstant)
		v.Set(reflect.ValueOf(at.UTC()))
	case k == reflect.Bool:
		b, wrong := strconv.ParseBool(text)
		err = bad(wrong, "true or false")
		v.SetBool(b)
	case k == reflect.String:
		v.SetString(text)
	case v.CanInt():
		n, wrong := strconv.ParseInt(strings.TrimSpace(text), 10, t.Bits())
		err = bad(wrong, "a whole number that fits "+t.String())
		v.SetInt(n)
	case v.CanUint():
		n, wrong := strconv.ParseUint(strings.TrimSpace(text), 10, t.Bits())
		err = bad(wrong, "a whole number from 0 that fits "+t.String())
		v.SetUint(n)
	default:
		f, wrong := strconv.ParseFloat(strings.TrimSpace(text), t.Bits())
		err = bad(wrong, "a number")
		v.SetFloat(f)
	}
	if err != nil {
		return nil, err
	}
	if a.Type.Kind() == reflect.Pointer {
		return v.Addr().Interface(), nil
	}
	return v.Interface(), nil
}
