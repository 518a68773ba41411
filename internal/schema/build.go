package schema

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/internal/tag"
)

// builder compiles one type. Mistakes are collected, so that all of them are reported together.
type builder struct {
	problems
	s      *Schema
	inside map[reflect.Type]bool
	decls  []pending
	checks []func()
	keyed  bool
	behind bool  // the walk is inside an embedded pointer
	rule   *Rule // of the struct that the walk is in
	unread bool  // a declaration could not be read
}

// pending is a declaration met on the walk; it is read when all attributes are known.
type pending struct {
	field reflect.StructField
	value Declaration
}

// newBuilder returns a builder of struct type t, which what describes in the mistake of another type.
func newBuilder(t reflect.Type, o Options, what string) (*builder, error) {
	b := &builder{problems: problems{typ: t}, inside: map[reflect.Type]bool{t: true}}
	b.s = &Schema{Type: t, Options: o, Profile: o.Profile, Payload: 1, byName: map[string]*Attr{}}
	if t.Kind() != reflect.Struct {
		b.add(CodeNotStruct, "", "%s is a struct, not a %s", what, t.Kind())
	}
	return b, b.err()
}

// Build compiles struct type t. The error joins a *Error for every mistake.
func Build(t reflect.Type, o Options) (*Schema, error) {
	b, err := newBuilder(t, o, "an entity")
	if err != nil {
		return nil, err
	}
	b.rule = &Rule{Type: t}
	if t.Implements(marshalerType) || reflect.PointerTo(t).Implements(marshalerType) {
		b.add(CodeUnsupportedType, "", "the struct encodes itself; its attributes could not be kept in step with its keys")
	}
	b.walk(t, nil, "")
	b.probe()
	b.declare()
	b.finish()
	for _, check := range b.checks {
		check()
	}
	if err := b.err(); err != nil {
		return nil, err
	}
	b.codec()
	b.parts()
	b.s.mapAddresses()
	return b.s, nil
}

// declaration notes a field whose type declares something.
func (b *builder) declaration(f reflect.StructField, index []int, name string) {
	switch {
	case f.Name != "_":
		b.add(CodeMalformed, name, "a declaration is a blank field: _ %s", f.Type)
	case len(index) > 0:
		b.add(CodeMalformed, name, "an embedded struct cannot declare %s; declare it on the entity itself", f.Type)
	default:
		value, ok := reflect.Zero(f.Type).Interface().(Declaration)
		if !ok || f.Type.Kind() == reflect.Pointer {
			b.add(CodeMalformed, name, "declare %s by value", f.Type)
			return
		}
		b.decls = append(b.decls, pending{f, value})
	}
}

// declare reads the declarations: the primary key first, because `$` needs the entity's name.
func (b *builder) declare() {
	for _, p := range b.decls {
		if k, ok := p.value.(PrimaryKey); ok {
			b.read(p, k)
			b.keyed = true
		}
	}
	if !b.keyed {
		b.add(CodeNoKeyDeclaration, "", "there is no _ entity.Key field")
		b.s.Name = b.typ.Name()
	}
	for _, p := range b.decls {
		if _, ok := p.value.(PrimaryKey); !ok {
			b.read(p, p.value)
		}
	}
}

// PrimaryKey is implemented by the one declaration that must be there, entity.Key.
type PrimaryKey interface {
	Declaration
	PrimaryKey()
}

func (b *builder) read(p pending, value Declaration) {
	d := &Decl{Schema: b.s, build: b, name: p.field.Type.String()}
	pairs, err := tag.Pairs(string(p.field.Tag))
	if err != nil {
		d.Problem(CodeMalformed, "%v", err)
		b.unread = true // what the declaration would have said is unknown
		return
	}
	d.pairs = pairs
	if _, ok := value.(PrimaryKey); ok && b.keyed {
		d.Problem(CodeNoKeyDeclaration, "there is more than one primary key declaration")
		return
	}
	value.Declare(d)
	d.finish()
}

// setName settles the entity's name and with it what `$` stands for.
func (b *builder) setName(d *Decl, name string) {
	if b.s.Options.Name != "" {
		name = b.s.Options.Name
	}
	if err := tag.Name(name); err != nil {
		d.Problem(CodeMalformed, "name %q: %v", name, err)
	}
	b.s.Name = name
	namespace := b.s.Options.Namespace
	if b.s.Profile.lowerCase {
		namespace = strings.ToLower(namespace)
	}
	b.s.Prefix = "$" + namespace + "#v" + strconv.Itoa(b.s.Options.NamespaceVersion) + "#" + strings.ToLower(name)
}
