package query

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// builder compiles one query.
type builder struct {
	p     *Plan
	s     *schema.Schema
	v     reflect.Value
	given item.Item // partition parts and leading sort parts that are fixed
	lead  int       // how many sort parts are fixed
	bound *opt.Cond // condition on the part after those; with an upper end in upper, it is the lower one
	upper *opt.Cond
	next  *schema.Attr // what bound is about
}

// Build compiles the query of src for the partition in v. Mistakes are in the plan's Err.
func Build(src Source, v reflect.Value, spec opt.Query) *Plan {
	b := newBuilder(src, v, spec.Bounded)
	b.p.Desc = spec.Desc
	b.p.Err = b.query(spec)
	return b.p
}

// BuildScan compiles the scan of src. Mistakes are in the plan's Err.
func BuildScan(src Source, spec opt.Scan) *Plan {
	b := newBuilder(src, reflect.Value{}, spec.Bounded)
	b.p.Scan, b.p.Scanned = true, spec.Scanned
	b.p.Err = b.scan(spec)
	return b.p
}

func newBuilder(src Source, v reflect.Value, spec opt.Bounded) *builder {
	p := &Plan{Source: src, Strong: spec.Strong, Expired: spec.Expired}
	return &builder{p: p, s: src.Schema, v: v, given: item.Item{}}
}

func (b *builder) fail(code string, a *schema.Attr, format string, args ...any) error {
	field := ""
	if a != nil {
		field = a.Field
	}
	return &plan.InputError{Code: code, Type: b.s.Type.String(), Field: field, Problem: fmt.Sprintf(format, args...)}
}

// query takes the partition, the conditions on the key and the filters.
func (b *builder) query(spec opt.Query) error {
	if err := b.bounds(spec.Bounded); err != nil {
		return err
	}
	if err := b.partition(); err != nil {
		return err
	}
	if err := b.leading(); err != nil {
		return err
	}
	if err := b.conditions(spec.Range); err != nil {
		return err
	}
	if err := b.keyCondition(); err != nil {
		return err
	}
	return b.filters(spec.Filters)
}

// bounds takes the options of all reads of many items.
func (b *builder) bounds(spec opt.Bounded) error {
	if b.s.Unopened != nil {
		return b.s.Unopened
	}
	if err := spec.Err(); err != nil {
		return b.fail(plan.CodeOption, nil, "%v", err)
	}
	for _, o := range []struct {
		name  string
		given *int
		set   *int
	}{{"Limit", spec.Limit, &b.p.Limit}, {"MaxEvaluated", spec.Evaluate, &b.p.Evaluate}, {"MaxRequests", spec.Requests, &b.p.Requests}} {
		n, err := plan.Bound(b.s, o.name, o.given)
		if err != nil {
			return err
		}
		*o.set = n
	}
	if b.p.Strong && b.p.Index != nil && !b.p.Index.Local {
		return b.fail(plan.CodeOption, nil, "DynamoDB has no strongly consistent reads of a global index")
	}
	return nil
}

// scan takes what a scan can have: filters, on any attribute.
func (b *builder) scan(spec opt.Scan) (err error) {
	if err = b.bounds(spec.Bounded); err != nil {
		return err
	}
	if b.p.Segments, err = plan.Bound(b.s, "Segments", spec.Segments); err != nil {
		return err
	}
	switch {
	case b.p.Segments > maxSegments:
		return b.fail(plan.CodeOption, nil, "at most %d segments are read at the same time", maxSegments)
	case b.p.Segments > 1 && (b.p.Evaluate > 0 || b.p.Requests > 0):
		return b.fail(plan.CodeOption, nil, "MaxEvaluated and MaxRequests need a scan without Segments")
	}
	b.p.User, err = plan.Conditions(b.s, spec.Filters)
	return err
}

// partition takes the partition key's parts, all of which must be there.
func (b *builder) partition() error {
	for _, a := range b.p.PK.Parts {
		av, err := plan.EncodeAttr(b.s, a, b.v)
		if err != nil {
			return err
		}
		if err := plan.Present(b.s, a, av); err != nil {
			return err
		}
		b.given[a.Name] = av
	}
	return nil
}

// leading takes the sort-key parts that the value fixes, from left to right, and refuses a value that fixes anything
// else: it would be ignored in silence.
func (b *builder) leading() error {
	var parts []*schema.Attr
	if b.p.SK != nil {
		parts = b.p.SK.Parts
	}
	if b.p.Most != nil {
		parts = b.p.Most
	}
	must := b.p.Lead
	for i, a := range parts {
		if must != nil && i >= len(must) {
			break
		}
		filled, err := b.filled(a)
		if err != nil {
			return err
		}
		if must != nil && !filled {
			return b.fail(plan.CodeKeyPart, a, "the key part is missing or zero")
		}
		if !filled {
			continue
		}
		if i > b.lead {
			return b.fail(schema.CodePartOrder, a, "the part is given but %s, which comes before it in the sort key, is not", parts[b.lead].Field)
		}
		if b.given[a.Name], err = plan.EncodeAttr(b.s, a, b.v); err != nil {
			return err
		}
		b.lead++
	}
	if must != nil {
		return nil
	}
	for _, a := range b.s.Attrs {
		if b.p.PK.Has(a) || b.p.SK.Has(a) {
			continue
		}
		if fv, err := b.v.FieldByIndexErr(a.Index); err == nil && !fv.IsZero() {
			return b.fail(schema.CodeUnknownTarget, a, "the field is filled in but is no part of the key that is queried; %s", b.p.Other)
		}
	}
	return nil
}

func (b *builder) filled(a *schema.Attr) (bool, error) {
	if fv, err := b.v.FieldByIndexErr(a.Index); err != nil || fv.IsZero() {
		return b.p.Lead != nil && a.AllowsZero() && err == nil, nil
	}
	av, err := plan.EncodeAttr(b.s, a, b.v)
	if err != nil {
		return false, err
	}
	return !item.Absent(av), nil
}

// conditions takes the range conditions: Eq on further leading parts, then at most one condition on the next part, or one
// for each of its ends.
func (b *builder) conditions(list []opt.Cond) error {
	for i := range list {
		c := &list[i]
		switch c.Op {
		case expr.Eq, expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between, expr.BeginsWith:
		default:
			return b.fail(b.p.Code, nil, "%s cannot be a condition on the key; %s", c.Op, b.p.Other)
		}
		a, err := b.target(*c)
		if err != nil {
			return err
		}
		if err := plan.Ordered(b.s, &schema.Node{Attr: a, Top: true}, c.Op); err != nil {
			return err
		}
		if b.bound != nil {
			if !b.otherEnd(c) {
				return b.fail(schema.CodePartOrder, a, "DynamoDB takes one range condition, and %s has one; a range can have two ends, by Between, or one of Gt and Ge with one of Lt and Le; use Filter for other fields", b.next.Field)
			}
			continue
		}
		if c.Op != expr.Eq {
			b.bound, b.next = c, a
			continue
		}
		one, err := plan.KeyCondition(b.s, *c)
		if err != nil {
			return err
		}
		if item.Absent(one.Values[0]) && b.p.SK.Native != nil {
			b.p.Nothing = true // no item has an empty key
		}
		b.given[a.Name] = one.Values[0]
		b.lead++
	}
	return nil
}

// otherEnd takes c if it is the other end of the range that bound has one end of.
func (b *builder) otherEnd(c *opt.Cond) bool {
	low := func(c *opt.Cond) bool { return c.Op == expr.Gt || c.Op == expr.Ge }
	high := func(c *opt.Cond) bool { return c.Op == expr.Lt || c.Op == expr.Le }
	switch {
	case b.upper != nil:
		return false
	case low(b.bound) && high(c):
		b.upper = c
	case high(b.bound) && low(c):
		b.bound, b.upper = c, b.bound
	default:
		return false
	}
	return true
}

// target is the attribute that a range condition is about; it must be the next part of the sort key.
func (b *builder) target(c opt.Cond) (*schema.Attr, error) {
	n, err := plan.Node(b.s, c.Target)
	if err != nil {
		return nil, err
	}
	parts := []*schema.Attr{}
	if b.p.SK != nil {
		parts = b.p.SK.Parts
	}
	switch {
	case !n.Top || !b.p.SK.Has(n.Attr) || b.p.Lead != nil && n.Attr != parts[len(parts)-1]:
		return nil, b.fail(b.p.Code, n.Attr, "the field cannot have a range condition here; %s", b.p.Other)
	case b.lead < len(parts) && parts[b.lead] == n.Attr:
		return n.Attr, nil
	case b.lead < len(parts):
		return nil, b.fail(schema.CodePartOrder, n.Attr, "%s comes before it in the sort key and must be fixed first", parts[b.lead].Field)
	}
	return nil, b.fail(schema.CodePartOrder, n.Attr, "the field is fixed already")
}

// filters resolves the caller's filter. DynamoDB refuses key attributes in it.
func (b *builder) filters(list []opt.Cond) error {
	names := append(b.p.PK.Attributes(), b.p.SK.Attributes()...)
	if _, err := plan.Conditions(b.s, list); err != nil {
		return err
	}
	for _, c := range list {
		r, err := plan.Condition(b.s, c)
		if err != nil {
			return err
		}
		bad := ""
		r.Roots(func(name string) {
			if slices.Contains(names, name) {
				bad = name
			}
		})
		if bad != "" { // a composed key has no field
			return b.fail(plan.CodeKeyFilter, b.s.Attr(bad), "DynamoDB does not filter by an attribute of the key; give the condition outside Filter")
		}
		b.p.User = expr.All(b.p.User, r)
	}
	return nil
}

// value is the given attribute as a key part.
func (b *builder) value(f *key.Field) (key.Value, error) {
	v, present, err := f.FromAttribute(b.given[f.Attr])
	if err != nil || !present {
		return v, b.fail(plan.CodeKeyPart, b.s.Attr(f.Attr), "the key part is missing or malformed")
	}
	return v, nil
}

// Under returns the key condition for everything in s's table under the key fields of v: the partition key's, which must be
// set, and as many of the sort key's, from the left, as are set. With all of them it holds for the item and its satellites.
func Under(s *schema.Schema, v reflect.Value) (expr.Cond, error) {
	b := newBuilder(Source{Schema: s, PK: s.PK, SK: s.SK}, v, opt.Bounded{})
	if err := b.partition(); err != nil {
		return expr.Cond{}, err
	}
	if err := b.present(); err != nil {
		return expr.Cond{}, err
	}
	pk, err := b.fixed(s.PK)
	if err != nil {
		return expr.Cond{}, err
	}
	sk, err := b.sortCondition()
	if err != nil {
		return expr.Cond{}, err
	}
	if b.p.Nothing {
		return expr.Cond{}, b.fail(plan.CodeValue, nil, "the sort key is too long")
	}
	if h := s.SK; h != nil && h.Prefixed && s.RelatedSuffix > 0 && b.lead == len(h.Parts) {
		// Satellites continue with "#". No key of another item sorts between the item's and the same text with "$".
		text := sk.Values[0].(*types.AttributeValueMemberS).Value
		sk = expr.Compare(expr.Between, expr.Attr(h.Attr), item.S(text), item.S(text+"$"))
	}
	return flat(pk, sk), nil
}

// present takes the leading sort-key parts that are set in v.
func (b *builder) present() error {
	if b.p.SK == nil {
		return nil
	}
	for _, a := range b.p.SK.Parts {
		av, err := plan.EncodeAttr(b.s, a, b.v)
		if err != nil {
			return err
		}
		if plan.Present(b.s, a, av) != nil {
			return nil
		}
		b.given[a.Name] = av
		b.lead++
	}
	return nil
}
