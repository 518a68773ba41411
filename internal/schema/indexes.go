package schema

import (
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// Index is a secondary index.
type Index struct {
	Name    string // accessor
	Index   string // physical name
	Local   bool
	PK, SK  *KeyDef
	Shards  []*KeyDef // partition keys of the partitions that each of PK's is spread over, in the order of their numbers; nil if it is one
	Project Projection
	codec   *item.Codec // of items in the index; nil if it carries everything
	keys    []*KeyDef   // see Keys; nil while the schema is built

	Complete bool // a write of an item that lacks a part of the key is an error
}

// Projection lists the attributes that an index carries: all, or the keys and those of Include.
type Projection struct {
	All     bool
	Include []string
}

// Clause is a part of the condition of an index: the attribute has one of the values or, if there are none, is present.
type Clause struct {
	Attr   *Attr
	Values []types.AttributeValue
	Not    bool // the attribute is absent; there are no values
}

// Holds reports whether the clause holds if its attribute is av. NULL and the empty string count as absent, as in keys.
func (c *Clause) Holds(av types.AttributeValue) bool {
	if c.Values == nil {
		return item.Absent(av) == c.Not
	}
	return slices.ContainsFunc(c.Values, func(v types.AttributeValue) bool { return item.Equal(v, av) })
}

// Admits reports whether the condition of the key's index holds for it.
func (k *KeyDef) Admits(it item.Item) bool {
	for i := range k.When {
		if !k.When[i].Holds(it[k.When[i].Attr.Name]) {
			return false
		}
	}
	return true
}

// Keys returns the keys of the index, without the partition key that a local index shares with the table. The caller must
// not change the list.
func (x *Index) Keys() []*KeyDef {
	if x.keys != nil {
		return x.keys
	}
	var keys []*KeyDef
	if !x.Local {
		keys = append(keys, x.PK)
	}
	if x.SK != nil {
		keys = append(keys, x.SK)
	}
	return keys
}

// Spread spreads each partition of x over n partitions. table are the keys of the table.
func (x *Index) Spread(n int, table ...*KeyDef) {
	infix := "#"
	if x.PK.Prefixed {
		infix = "" // it is between all segments
	}
	x.Shards, x.PK.Template.Shards = x.PK.spread(n, infix), &key.Shards{N: n}
	for _, k := range table {
		if k != nil {
			x.PK.Template.Shards.By = append(x.PK.Template.Shards.By, key.TableKey{Attr: k.Attr, Template: k.Template})
		}
	}
}

// Global reads entity.GSI's tag: name, index, pk, sk, project ("all", the default, "keys", or names of attributes), missing, shards and when.
func (d *Decl) Global() {
	x := d.newIndex()
	if text, ok := d.Need("pk"); ok {
		x.PK = d.keyDef("pk", text, x.Index+d.Schema.Options.PK, MaxNative)
	}
	if text, ok := d.Tag("sk"); ok {
		x.SK = d.keyDef("sk", text, x.Index+d.Schema.Options.SK, MaxNative)
	}
	n, pk, sk := d.Shards(CodeIndexShards, "items"), d.Schema.PK, d.Schema.SK
	several := func(k *KeyDef) bool {
		return k != nil && k.Native != nil && k.Type == types.ScalarAttributeTypeN && k.Native[0].Key == nil
	}
	switch {
	case n == 0 || x.PK == nil || pk == nil:
	case !x.PK.Written():
		d.Problem(CodeShardedKey, "the number of a partition ends the text of pk, and %s is stored as it is; write it as $#{…} or attr={…}", x.PK)
	case several(pk) || several(sk):
		d.Problem(CodeShardedBy, "the primary key decides the partition of an item, and a number that is no integer has several texts")
	default:
		x.Spread(n, pk, sk)
	}
	switch text, ok := d.Tag("project"); {
	case !ok || text == "all":
		x.Project.All = true
	case text != "keys":
		for _, name := range strings.Split(text, ",") {
			if a := d.Attribute("project", strings.TrimSpace(name)); a != nil {
				x.Project.Include = append(x.Project.Include, a.Name)
			}
		}
	}
	if !x.Project.All {
		d.Check(func() { // key parts that an item read from the index would lack
			s, seen := d.Schema, map[*Attr]bool{}
			known := keyParts(s.PK, s.SK, x.PK, x.SK)
			for _, k := range []*KeyDef{s.PK, s.SK, x.PK, x.SK} {
				if k == nil {
					continue
				}
				for _, a := range k.Parts {
					if seen[a] || s.Carries(x, a.Name) || slices.ContainsFunc(known, func(p item.KeyPart) bool { return p.Attr == a.Name }) {
						continue
					}
					seen[a] = true
					d.Problem(CodeProjectedPart, "the index does not carry the attribute %q, and it cannot be read back from %s, where it is in lower case; name it in project", a.Name, k)
				}
			}
		})
	}
	d.missing(x)
	d.when(x)
	if x.PK != nil && x.Index != "" {
		d.Schema.Indexes = append(d.Schema.Indexes, x)
	}
}

// LocalIndex reads entity.LSI's tag: name, index, sk, missing and when.
func (d *Decl) LocalIndex() {
	x := d.newIndex()
	x.Local, x.Project, x.PK = true, Projection{All: true}, d.Schema.PK
	if d.Schema.SK == nil {
		d.Problem(CodeTableKey, "a local index needs a table with a sort key")
	}
	if text, ok := d.Need("sk"); ok {
		if x.SK = d.keyDef("sk", text, "", 1); x.SK != nil && x.SK.Prefixed {
			d.Problem(CodeMalformed, "the sort key of a local index is an attribute or attr={template}")
			return
		}
	}
	d.missing(x)
	d.when(x)
	if x.SK != nil && x.PK != nil && x.Index != "" {
		d.Schema.Indexes = append(d.Schema.Indexes, x)
	}
}

func (d *Decl) newIndex() *Index {
	x := &Index{}
	x.Name, _ = d.Need("name")
	x.Index, _ = d.Need("index")
	if x.Name != "" {
		if err := Name(x.Name); err != nil {
			d.Problem(CodeMalformed, "name %q: %v", x.Name, err)
		}
		for _, other := range d.Schema.Indexes {
			if other.Name == x.Name {
				d.Problem(CodeDuplicateName, "there is already an index with the name %q", x.Name)
			}
			if other.Index == x.Index {
				d.Problem(CodeDuplicateName, "the index %q is declared twice", x.Index)
			}
		}
	}
	return x
}

// missing reads missing. An item that lacks a part of the key is not in the index; with "error", the parts are required.
func (d *Decl) missing(x *Index) {
	text, ok := d.Tag("missing")
	switch {
	case !ok:
		return
	case text != "error":
		d.Problem(CodeMalformed, `missing:%q: write missing:"error", or leave it out: an item that lacks a part of the key is then not in the index`, text)
		return
	}
	x.Complete = true
	for _, k := range []*KeyDef{x.PK, x.SK} {
		if k == nil || k == d.Schema.PK || k == d.Schema.SK {
			continue
		}
		for _, a := range k.Parts {
			switch {
			case a == d.Schema.DeletedAt:
				d.Problem(CodeMissingPart, `missing:"error": %s is absent as long as the item is not deleted`, a.Field)
			case !a.Owned() && a.needing == "":
				a.needing = x.Name
			}
		}
	}
}

// when reads when: the clauses under which an item is in the index. They are those of one key, which other items lack.
func (d *Decl) when(x *Index) {
	clauses, ok := d.Tag("when")
	_, sorted := d.Tag("sk")
	if !ok || x.PK == nil || sorted && x.SK == nil { // a mistake in a key is reported
		return
	}
	k := x.PK
	if x.Local || !k.Written() {
		k = x.SK
	}
	switch {
	case !k.Written():
		d.Problem(CodeWhen, "the keys of the index are attributes of the struct, which an item keeps while it is not in the index; write one as attr={attribute}")
		return
	case d.Schema.Profile.shared:
		d.Problem(CodeWhen, "effect-dynamodb, which writes the tables too, puts items into an index whatever their state")
		return
	case x.Complete:
		d.Problem(CodeWhen, `missing:"error" refuses items that are not in the index, and when leaves items out of it`)
		return
	}
	for text := range strings.SplitSeq(clauses, ",") {
		name, constants, equal := strings.Cut(text, "=")
		name, not := strings.CutPrefix(strings.TrimSpace(name), "!")
		if name == "" || equal && not {
			d.Problem(CodeMalformed, "a clause of when is attribute=constant, with | between several constants, or attribute, or !attribute; between clauses is a comma")
			continue
		}
		a := d.Attribute("when", name)
		switch {
		case a == nil:
			continue
		case slices.ContainsFunc(k.When, func(c Clause) bool { return c.Attr == a }):
			d.Problem(CodeWhenTwice, "two clauses of when are about %q; write | between constants, one of which it must have", name)
			continue
		case a.IsSecret():
			d.Problem(CodeWhenAttr, "when: whether an item is in the index would show what the secret %q is", name)
		case a.Owned():
			d.Problem(CodeWhenAttr, "when: the library sets %q, so the state of an item is not known by it", name)
		case !equal && d.always(a):
			d.Problem(CodeWhenAttr, "when: every item has %q, also with the zero value; give it omitempty, or use a pointer", name)
		}
		c := Clause{Attr: a, Not: not}
		if equal {
			for constant := range strings.SplitSeq(constants, "|") {
				d.value(&c, constant)
			}
		}
		k.When = append(k.When, c)
		d.Check(func() {
			if d.Schema.Expires && name == d.Schema.Options.TTL {
				d.Problem(CodeWhenAttr, "when: lifecycle.TTL sets %q, so the state of an item is not known by it", name)
			}
		})
	}
}

// value adds the constant in text to c, in the form in which it is stored.
func (d *Decl) value(c *Clause, text string) {
	if strings.HasPrefix(text, "=") || strings.TrimSpace(text) != text {
		d.Problem(CodeMalformed, "when: write a constant right behind the one = of its clause, and without spaces around it")
		return
	}
	v, problem := constant(Bare(c.Attr.Type), text)
	if problem == "" {
		av, err := d.build.store(c.Attr, v)
		switch empty := c.Attr.Tag.OmitEmpty && c.Attr.Type.Kind() != reflect.Pointer && !c.Attr.Given(v); {
		case err != nil:
			problem = "cannot be stored in the field"
		case empty, item.Absent(av):
			problem = "is the empty value, which is not stored: write !attribute"
		case c.Values != nil && c.Holds(av):
			d.Problem(CodeWhenTwice, "when has a constant of %q twice", c.Attr.Name)
		}
		c.Values = append(c.Values, av)
	}
	if problem != "" {
		why, _, _ := strings.Cut(string(problem), ";") // without what is for defaults
		d.Problem(CodeWhenConstant, "when: a constant of %q %s", c.Attr.Name, why)
	}
}

// always reports whether every item has a, because it is a key part or required, or its zero value is stored.
func (d *Decl) always(a *Attr) bool {
	if d.Schema.PK != nil && d.Schema.KeyPart(a) || a.Role.Has(Required) || a.Role.Has(NotNull) {
		return true
	}
	av, err := d.build.store(a, reflect.Zero(a.Type))
	return !a.Tag.OmitEmpty && !a.Behind && err == nil && !item.Absent(av)
}
