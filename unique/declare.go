package unique

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Constraint declares that no two items of a struct have the same values in some fields, in the tag of a blank field:
//
//	_ unique.Constraint `name:"email" fields:"tenantId,email" ttl:"1h"`
//
// fields names one or more attributes: strings, integers, bools or times. {email|lower}, as in keys, makes values equal that differ in case
// only; the item keeps its own spelling. An item in which one of them is absent or empty claims nothing. ttl limits a claim to that time
// after the write that made it, which makes the value an idempotency key; without it, a value is claimed until the item gives it up. The
// claims of items that expire by lifecycle.TTL end with them, and exclude ttl. A struct can have several constraints.
//
// The table's partition key and sort key must both be strings, because the sentinels are stored in the same table.
type Constraint struct{ _ constraintDecl }

// constraint is the compiled declaration.
type constraint struct {
	s      *schema.Schema
	name   string
	fields []*schema.Attr
	ttl    time.Duration // 0: forever
	key    *key.Template // of the sentinel's partition key; its prefix is the sort key
}

// FeatureName shows other declarations that the entity has unique values.
func (*constraint) FeatureName() string { return "unique" }

func (c *constraint) Name() string { return c.name }

// Fields returns the attributes whose values are unique together.
func (c *constraint) Fields() []*schema.Attr { return c.fields }

// Limited reports whether claims end before their items do.
func (c *constraint) Limited() bool { return c.ttl > 0 }

// Names reports whether a is one of the constraint's fields.
func (c *constraint) Names(a *schema.Attr) bool {
	return slices.Contains(c.fields, a)
}

type constraintDecl struct{}

// Unique marks the declaration, which counts in the struct of an earlier payload version too.
func (constraintDecl) Unique() {}

func (constraintDecl) Declare(d *schema.Decl) {
	c := &constraint{s: d.Schema, ttl: d.Duration("ttl")}
	name, ok := d.Need("name")
	if err := schema.Name(name); ok && err != nil {
		d.Problem(schema.CodeMalformed, "name %q: %v", name, err)
	}
	c.name = name
	for _, f := range d.Schema.Features {
		if other, isOne := f.(*constraint); isOne && strings.EqualFold(other.name, name) {
			d.Problem(schema.CodeDuplicateName, "another constraint has the name %q", name)
		}
	}
	c.key = &key.Template{Escaped: true, Prefix: d.Schema.Prefix + "." + strings.ToLower(c.name)}
	if fields, ok := d.Need("fields"); ok {
		c.readFields(d, fields)
	}
	d.Schema.UsesTTL = d.Schema.UsesTTL || c.ttl > 0
	d.Keep(c)
	d.Check(func() { c.finish(d) })
}

func (c *constraint) readFields(d *schema.Decl, list string) {
	for _, text := range strings.Split(list, ",") {
		a, part := d.Part("fields", strings.TrimSpace(text))
		switch {
		case a == nil:
		case c.Names(a):
			d.Problem(schema.CodeMalformed, "fields: attribute %q is named twice", a.Name)
		case a.Owned():
			d.Problem(schema.CodeRoleType, "fields: attribute %q is set by the library", a.Name)
		default:
			c.fields, c.key.Segments = append(c.fields, a), append(c.key.Segments, key.Segment{Field: part})
		}
	}
}

// finish checks the constraint against the keys and the other declarations.
func (c *constraint) finish(d *schema.Decl) {
	s := d.Schema
	if s.PK != nil && (s.SK == nil || s.PK.Type != types.ScalarAttributeTypeS || s.SK.Type != types.ScalarAttributeTypeS) {
		d.Problem(schema.CodeUniqueTable, "sentinels need a table whose partition key and sort key are strings")
	}
	switch {
	case !s.Expires:
	case c.ttl > 0:
		d.Problem(schema.CodeExpiringClaim, "items expire by lifecycle.TTL, and their claims with them: a claim cannot have a ttl of its own too, which a change of the item's expiry would not know")
	case c.shared():
		d.Problem(schema.CodeExpiringClaim, "items expire, but the sentinels that effect-dynamodb writes in a shared table do not: they would keep the values of expired items claimed")
	}
	if s.Handle == "" || s.PK == nil {
		return
	}
	own := 0
	for _, a := range c.fields {
		if a.Append || a.Clock {
			d.Problem(schema.CodeUniqueAppend, "attribute %q is written by appends, which claim no values", a.Name)
		}
		if s.KeyPart(a) {
			own++
		}
	}
	if own == len(c.fields) {
		d.Problem(schema.CodeUniqueAppend, "all fields of the constraint are key parts, which appends write without claiming values")
	}
}

// Record returns the declaration for the schema lock.
func (c *constraint) Record(*schema.Schema) schema.Record {
	r := schema.Record{Name: "unique.Constraint(" + c.name + ")", Settings: []schema.Setting{
		{Key: "key", Value: c.key.Describe()}, {Key: "ttl", Value: schema.DurationText(c.ttl)},
	}}
	if c.s.Expires {
		r.Settings = append(r.Settings, schema.Setting{Key: "expires", Value: "with the item"})
	}
	return r
}
