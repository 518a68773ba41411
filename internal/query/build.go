package query

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// bounds compiles the options that all reads of many items share.
func (b *builder) bounds(spec *bind.Options) error {
	if b.Schema.Unopened != nil {
		return b.Schema.Unopened
	}
	b.Strong, b.Expire, b.Skip, b.Budget = spec.Strong, b.Expire && !spec.Expired, spec.Skip, spec.Budget
	if len(spec.Errs) > 0 {
		return b.fail(bind.CodeOption, nil, "%v", spec.Errs[0])
	}
	switch x := b.Index; {
	case spec.Hydrate && x == nil:
		return b.fail(bind.CodeHydrate, nil, "Hydrate is for queries and scans of an index; this one reads the table itself, which has whole items")
	case spec.Hydrate && x.Project.All:
		return b.fail(bind.CodeHydrate, nil, "the index %s carries whole items, so Hydrate would read them twice; leave it out", x.Name)
	case spec.Hydrate: // whole items are read by the entries of the index
		b.Hydrate, b.Fresh, b.Strong = true, b.Strong, false
	}
	b.Limit, b.Evaluate, b.Requests = spec.Limit, spec.MaxEvaluated, spec.MaxRequests
	if b.Strong && b.Index != nil && !b.Index.Local {
		return b.fail(bind.CodeOption, nil, "DynamoDB has no strongly consistent reads of a global index")
	}
	b.Strong = b.Strong || b.Truth && (b.Index == nil || b.Index.Local)
	return nil
}

// partition encodes the partition key's parts. All must be given.
func (b *builder) partition() error {
	for _, a := range b.PK.Parts {
		av, err := bind.EncodeAttr(b.Schema, a, b.v)
		if err != nil {
			return err
		}
		if err := bind.CheckPart(b.Schema, a, av); err != nil {
			return err
		}
		b.given[a.Name] = av
	}
	return nil
}

// leading encodes the sort-key parts that the value fixes, from left to right. It rejects a value with any other field
// set, which would be ignored otherwise.
func (b *builder) leading() (err error) {
	var parts []*schema.Attr
	if b.SK != nil {
		parts = b.SK.Parts
	}
	if b.Exact {
		parts = b.Schema.SK.Parts
	}
	for i, a := range parts {
		if a.Index == nil { // no field of the value
			break
		}
		var av types.AttributeValue
		fv, absent := b.v.FieldByIndexErr(a.Index)
		filled := absent == nil && (!fv.IsZero() || b.Exact && a.AllowsZero())
		if filled {
			if av, err = bind.EncodeAttr(b.Schema, a, b.v); err != nil {
				return err
			}
			filled = fv.IsZero() || !item.Absent(av)
		}
		switch {
		case b.Exact && !filled:
			return b.fail(bind.CodeKeyPart, a, "the key part is missing or zero")
		case !filled:
			continue
		case i > b.lead:
			return b.fail(schema.CodePartOrder, a, "the part is given but %s, which comes before it in the sort key, is not", parts[b.lead].Field)
		}
		b.given[a.Name] = av
		b.lead++
	}
	if b.Exact {
		return nil
	}
	for _, a := range b.Schema.Attrs {
		if fv, err := b.v.FieldByIndexErr(a.Index); err == nil && !fv.IsZero() && !slices.Contains(b.PK.Parts, a) && !b.SK.Has(a) {
			return b.fail(schema.CodeUnknownTarget, a, "the field is set but is not part of the queried key; %s", b.Other)
		}
	}
	return nil
}

// target returns the attribute of a range condition. It must be the next part of the sort key.
func (b *builder) target(c bind.Cond) (*schema.Attr, error) {
	n, err := bind.Node(b.Schema, c.Target)
	if err != nil {
		return nil, err
	}
	parts := []*schema.Attr{}
	if b.SK != nil {
		parts = b.SK.Parts
	}
	switch {
	case !n.Top || !b.SK.Has(n.Attr) || b.Exact && b.Schema.SK.Has(n.Attr):
		return nil, b.fail(b.Code, n.Attr, "the field cannot have a range condition here; %s", b.Other)
	case b.lead < len(parts) && parts[b.lead] == n.Attr:
		return n.Attr, nil
	case b.lead < len(parts):
		return nil, b.fail(schema.CodePartOrder, n.Attr, "%s comes before it in the sort key and must be fixed first", parts[b.lead].Field)
	}
	return nil, b.fail(schema.CodePartOrder, n.Attr, "the field is fixed already")
}

// otherEnd accepts c if it is the other end of the range that bound begins or ends.
func (b *builder) otherEnd(c *bind.Cond) bool {
	low := func(c *bind.Cond) bool { return c.Op == expr.Gt || c.Op == expr.Ge }
	high := func(c *bind.Cond) bool { return c.Op == expr.Lt || c.Op == expr.Le }
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

// conditions compiles the range conditions: Eq on further leading parts, then one condition on the next part, or one for
// each end of its range.
func (b *builder) conditions(list []bind.Cond) error {
	for i := range list {
		c := &list[i]
		switch c.Op {
		case expr.Eq, expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between, expr.BeginsWith:
		default:
			return b.fail(b.Code, nil, "%s cannot be a condition on the key; %s", c.Op, b.Other)
		}
		a, err := b.target(*c)
		if err != nil {
			return err
		}
		if err := bind.Ordered(b.Schema, a.Node, c.Op); err != nil {
			return err
		}
		if b.bound != nil {
			if !b.otherEnd(c) {
				return b.fail(schema.CodePartOrder, a, "DynamoDB takes one range condition, and %s has one; a range can have two ends, by Between, or one of Gt and Ge with one of Lt and Le; use Filter for other fields", a.Field)
			}
			continue
		}
		if c.Op != expr.Eq {
			b.bound = c
			continue
		}
		one, err := bind.KeyCondition(b.Schema, *c)
		if err != nil {
			return err
		}
		if item.Absent(one.Values[0]) && b.SK.Native != nil {
			b.Nothing = true // no item has an empty key
		}
		b.given[a.Name] = one.Values[0]
		b.lead++
	}
	return nil
}

// filters compiles the caller's filter. DynamoDB rejects key attributes in it.
func (b *builder) filters(list []bind.Cond) error {
	names := append(b.PK.Attributes(), b.SK.Attributes()...)
	if _, err := bind.Conditions(b.Schema, list); err != nil {
		return err
	}
	for _, c := range list {
		r, err := bind.Condition(b.Schema, c)
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
			return b.fail(bind.CodeKeyFilter, b.Schema.Attr(bad), "DynamoDB does not filter by an attribute of the key; give the condition outside Filter")
		}
		b.User = expr.All(b.User, r)
	}
	return nil
}

// Build compiles the query of src for the partition in v: the conditions on the key, and the filters. Errors are in the plan's Err.
func Build(src Source, v reflect.Value, spec *bind.Options) *Plan {
	b, sort := &builder{Plan: &Plan{Source: src, Desc: spec.Desc}, v: v, given: item.Item{}}, expr.Cond{}
	err := b.bounds(spec)
	if err == nil {
		err = b.partition()
	}
	if err == nil {
		err = b.leading()
	}
	if err == nil && spec.Range != nil {
		err = b.conditions(spec.Range)
	}
	if err == nil {
		b.Partition, err = b.equal(b.PK)
	}
	if err == nil {
		sort, err = b.sortCondition()
	}
	if err == nil {
		b.Key = joinKey(b.Partition, sort)
	}
	if err == nil && spec.Filters != nil {
		err = b.filters(spec.Filters)
	}
	if err == nil && b.Hydrate {
		err = bind.InMemory(b.Schema, b.User, "Hydrate")
	}
	b.Err = err
	return b.Plan
}

// BuildEach compiles the query of src for the partition in v, once for each partition over which that is spread.
func BuildEach(src Source, v reflect.Value, spec *bind.Options) (plans []*Plan) {
	for _, src.PK = range src.Spread {
		plans = append(plans, Build(src, v, spec))
	}
	if plans == nil {
		plans = append(plans, Build(src, v, spec))
	}
	return plans
}

// BuildScan compiles the scan of src, whose filters may name any attribute. Errors are in the plan's Err.
func BuildScan(src Source, spec *bind.Options) *Plan {
	src.Scan = true
	b := &builder{Plan: &Plan{Source: src, Scanned: spec.Scanned, Segments: spec.Segments, Segment: spec.Segment}}
	b.Err = b.bounds(spec)
	switch {
	case b.Err != nil:
	case b.Segments > 0 && b.Segment != nil:
		b.Err = b.fail(bind.CodeOption, nil, "a scan of one segment cannot have Segments")
	case b.Segments > 1 && (b.Evaluate > 0 || b.Requests > 0):
		b.Err = b.fail(bind.CodeOption, nil, "MaxEvaluated and MaxRequests need a scan without Segments")
	default:
		if b.User, b.Err = bind.Conditions(b.Schema, spec.Filters); b.Err == nil && b.Hydrate {
			b.Err = bind.InMemory(b.Schema, b.User, "Hydrate")
		}
	}
	return b.Plan
}

// Under returns the key conditions for all items of the table that begin with the key fields of v, one for each of several
// partition keys over which they are spread, by default for that of the table. The partition key's fields must be set, and those of
// the sort key may be set from the left. If all are set, the condition holds for the item and its related items.
func Under(c *engine.Core, v reflect.Value, spread ...*schema.KeyDef) (conds []expr.Cond, err error) {
	s := c.Schema
	b := &builder{Plan: &Plan{Source: Source{Core: c, PK: s.PK, SK: s.SK}}, v: v, given: item.Item{}}
	if err := b.partition(); err != nil {
		return nil, err
	}
	if b.SK != nil {
		for _, a := range b.SK.Parts {
			av, err := bind.EncodeAttr(b.Schema, a, b.v)
			if err != nil {
				return nil, err
			}
			if bind.CheckPart(b.Schema, a, av) != nil { // the fixed parts end before the first that is absent
				break
			}
			b.given[a.Name] = av
			b.lead++
		}
	}
	sk, err := b.sortCondition()
	if err != nil {
		return nil, err
	}
	if b.Nothing {
		return nil, b.fail(bind.CodeValue, nil, "the sort key is too long")
	}
	if k := s.SK; k != nil && k.Prefixed && s.RelatedSuffix > 0 && b.lead == len(k.Parts) {
		// Sort keys of related items continue with "#". No key of another item sorts between the item's key and the same text with "$".
		text := sk.Values[0].(*types.AttributeValueMemberS).Value
		sk = expr.Compare(expr.Between, k.Path, item.S(text), item.S(text+"$"))
	}
	if spread == nil {
		spread = []*schema.KeyDef{s.PK}
	}
	for _, partition := range spread {
		pk, err := b.equal(partition)
		if err != nil {
			return nil, err
		}
		conds = append(conds, joinKey(pk, sk))
	}
	return conds, nil
}
