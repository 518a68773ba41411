package vet

import (
	"context"
	"errors"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A mistake is an error that New would return.
type mistake struct {
	code, field, problem string
	number               int  // of the blank field that it is about; -1 for others
	call                 bool // it is about the call of New
}

// same reports whether m and o are one mistake under two configurations.
func (m mistake) same(o mistake) bool {
	return m.code == o.code && m.field == o.field && m.number == o.number
}

// declaration is an entity of the examined program.
type declaration struct {
	typ     types.Type
	conv    *converter
	made    reflect.Type
	methods schema.Methods

	compiled func() *schema.Schema // for a store of which only the struct is known; nil if it has a mistake
}

func newDeclaration(t types.Type) *declaration {
	d := &declaration{typ: t, conv: newConverter()}
	d.made = d.conv.entity(t)
	d.methods = schema.Methods{Encodes: methodsOf(t).encodes, TwoPrepares: twoPrepares(t)}
	d.compiled = sync.OnceValue(d.schema)
	return d
}

func noContext(context.Context, string) (string, bool) { return "", false }

// configurations are ways to open a database: by default, with other names of attributes, and with a shared table. A mistake that
// one of them does not have depends on the configuration.
func configurations() []schema.Options {
	byDefault := schema.Options{Namespace: "app", NamespaceVersion: 1, PK: "pk", SK: "sk", TTL: "_ttl", Precision: key.Nano, FromContext: noContext}
	renamed, shared := byDefault, byDefault
	renamed.PK, renamed.SK, renamed.TTL = "\x00pk", "\x00sk", "\x00ttl" // names that no struct has
	shared.Profile, shared.Precision = schema.NewProfile(true), key.Milli
	return []schema.Options{byDefault, renamed, shared}
}

// compile compiles the entity for a database and a store. The mistakes of its table are found only if it has no other.
func (d *declaration) compile(o schema.Options, spec *bind.Options) (s *schema.Schema, own, table []mistake) {
	o.Methods.Encodes, o.Methods.TwoPrepares, o.Blamed = d.methods.Encodes, d.methods.TwoPrepares, map[*schema.Error]int{}
	s, err := plan.Declare(d.made, o, spec)
	if err != nil {
		return nil, mistakesOf(err, o.Blamed), nil
	}
	return s, nil, mistakesOf((&schema.Table{}).Add(s), nil)
}

func mistakesOf(err error, blamed map[*schema.Error]int) (all []mistake) {
	switch e := err.(type) {
	case *entitytype.SchemaError:
		number, ok := blamed[e]
		if !ok {
			number = -1
		}
		return []mistake{{e.Code, e.Field, e.Problem, number, e.Code == schema.CodeHandle}}
	case *entitytype.InputError:
		return []mistake{{e.Code, "", e.Problem, -1, true}}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, mistakesOf(one, blamed)...)
		}
		return all
	}
	if inner := errors.Unwrap(err); inner != nil {
		return mistakesOf(inner, blamed)
	}
	return nil
}

// mistakes returns those that every configuration has, with every one of specs.
func (d *declaration) mistakes(specs ...*bind.Options) []mistake {
	if d.conv.unsure != "" {
		return nil
	}
	var owns, tables [][]mistake
	for _, o := range configurations() {
		for _, spec := range specs {
			for _, zero := range d.zeros() {
				o.Methods.Zero = zero
				s, own, table := d.compile(o, spec)
				owns = append(owns, own)
				if s != nil { // otherwise nothing is known of the table
					tables = append(tables, table)
				}
			}
		}
	}
	return append(common(owns), common(tables)...)
}

// common returns the mistakes of the first list that are in all others as well. A list with a mistake that the first does not have
// says nothing: its configuration is not one that the declaration is made for.
func common(lists [][]mistake) []mistake {
	if len(lists) == 0 {
		return nil
	}
	found := lists[0]
	for _, list := range lists[1:] {
		if len(without(list, lists[0])) == 0 {
			found = without(found, without(found, list))
		}
	}
	return found
}

// without returns the mistakes of list that are not in other, as often as they are missing there.
func without(list, other []mistake) (left []mistake) {
	other = slices.Clone(other)
	for _, m := range list {
		if i := slices.IndexFunc(other, m.same); i >= 0 {
			other = slices.Delete(other, i, i+1)
		} else {
			left = append(left, m)
		}
	}
	return left
}

// anyStore is a store of which only the struct is known.
func anyStore() []*bind.Options {
	return []*bind.Options{{Handle: plan.AnyHandle}, {Handle: plan.AnyHandle, NoExpiry: true}}
}

// schema returns the entity compiled, or nil if it has a mistake.
func (d *declaration) schema() *schema.Schema {
	if d.conv.unsure != "" {
		return nil
	}
	o := configurations()[0]
	for _, spec := range anyStore() {
		for _, o.Methods.Zero = range d.zeros() {
			if s, _, _ := d.compile(o, spec); s != nil {
				return s
			}
		}
	}
	return nil
}

// zeros are what the zero values of types that encode themselves may be stored as.
func (d *declaration) zeros() []sdk.AttributeValue {
	if !d.conv.both {
		return []sdk.AttributeValue{none}
	}
	return []sdk.AttributeValue{none, &sdk.AttributeValueMemberN{Value: "0"}, &sdk.AttributeValueMemberB{}}
}

// position returns where a mistake is: at its field if the file is one of pass, else at the outer field, else at the fallback.
func (d *declaration) position(m mistake, here func(token.Pos) bool, otherwise token.Pos) token.Pos {
	var at []token.Pos
	if s, ok := d.typ.Underlying().(*types.Struct); ok && m.number >= 0 && m.number < s.NumFields() {
		at = append(at, s.Field(m.number).Pos())
	}
	for name := m.field; name != "" && m.number < 0; {
		if f, ok := d.conv.fields[name]; ok {
			at = append(at, f.inner.Pos(), f.outer.Pos())
			break
		}
		i := strings.LastIndex(name, ".")
		name = name[:max(i, 0)]
	}
	for _, p := range at {
		if here(p) {
			return p
		}
	}
	return otherwise
}

// longestFirst returns the keys of a map, the longest first.
func longestFirst(m map[string]string) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
}
