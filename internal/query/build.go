package query

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// bounds compiles the options that all reads of many items share.
func (b *builder) bounds(spec *bind.Options) error {
	if b.s.Unopened != nil {
		return b.s.Unopened
	}
	b.p.Strong, b.p.Expired, b.p.Skip, b.p.Budget = spec.Strong, spec.Expired, spec.Skip, spec.Budget
	if len(spec.Errs) > 0 {
		return b.fail(bind.CodeOption, nil, "%v", spec.Errs[0])
	}
	switch x := b.p.Index; {
	case spec.Hydrate && x == nil:
		return b.fail(bind.CodeHydrate, nil, "Hydrate is for queries and scans of an index; this one reads the table itself, which has whole items")
	case spec.Hydrate && x.Project.All:
		return b.fail(bind.CodeHydrate, nil, "the index %s carries whole items, so Hydrate would read them twice; leave it out", x.Name)
	case spec.Hydrate: // whole items are read by the entries of the index
		b.p.Hydrate, b.p.Fresh, b.p.Strong = true, b.p.Strong, false
	}
	for _, o := range []struct {
		name  string
		given *int
		set   *int
	}{{"Limit", spec.Limit, &b.p.Limit}, {"MaxEvaluated", spec.MaxEvaluated, &b.p.Evaluate}, {"MaxRequests", spec.MaxRequests, &b.p.Requests}} {
		if o.given == nil {
			continue
		}
		n, err := bind.CountOption(b.s, o.name, o.given)
		if err != nil {
			return err
		}
		*o.set = n
	}
	if b.p.Strong && b.p.Index != nil && !b.p.Index.Local {
		return b.fail(bind.CodeOption, nil, "DynamoDB has no strongly consistent reads of a global index")
	}
	b.p.Strong = b.p.Strong || b.p.Truth && (b.p.Index == nil || b.p.Index.Local)
	return nil
}

// partition encodes the partition key's parts. All must be given.
func (b *builder) partition() error {
	for _, a := range b.p.PK.Parts {
		av, err := bind.EncodeAttr(b.s, a, b.v, nil)
		if err != nil {
			return err
		}
		if err := bind.CheckPart(b.s, a, av); err != nil {
			return err
		}
		b.given[a.Name] = av
	}
	return nil
}

func (b *builder) filled(a *schema.Attr) (bool, error) {
	if fv, err := b.v.FieldByIndexErr(a.Index); err != nil || fv.IsZero() {
		return b.p.Required != nil && a.AllowsZero() && err == nil, nil
	}
	av, err := bind.EncodeAttr(b.s, a, b.v, nil)
	if err != nil {
		return false, err
	}
	return !item.Absent(av), nil
}

// leading encodes the sort-key parts that the value fixes, from left to right. It rejects a value with any other field
// set, which would be ignored otherwise.
func (b *builder) leading() error {
	var parts []*schema.Attr
	if b.p.SK != nil {
		parts = b.p.SK.Parts
	}
	if b.p.Optional != nil {
		parts = b.p.Optional
	}
	must := b.p.Required
	for i, a := range parts {
		if must != nil && i >= len(must) {
			break
		}
		filled, err := b.filled(a)
		if err != nil {
			return err
		}
		if must != nil && !filled {
			return b.fail(bind.CodeKeyPart, a, "the key part is missing or zero")
		}
		if !filled {
			continue
		}
		if i > b.lead {
			return b.fail(schema.CodePartOrder, a, "the part is given but %s, which comes before it in the sort key, is not", parts[b.lead].Field)
		}
		if b.given[a.Name], err = bind.EncodeAttr(b.s, a, b.v, nil); err != nil {
			return err
		}
		b.lead++
	}
	if must != nil {
		return nil
	}
	for _, a := range b.s.Attrs {
		if fv, err := b.v.FieldByIndexErr(a.Index); err == nil && !fv.IsZero() && !slices.Contains(b.p.PK.Parts, a) && !b.p.SK.Has(a) {
			return b.fail(schema.CodeUnknownTarget, a, "the field is set but is not part of the queried key; %s", b.p.Other)
		}
	}
	return nil
}

// target returns the attribute of a range condition. It must be the next part of the sort key.
func (b *builder) target(c bind.Cond) (*schema.Attr, error) {
	n, err := bind.Node(b.s, c.Target)
	if err != nil {
		return nil, err
	}
	parts := []*schema.Attr{}
	if b.p.SK != nil {
		parts = b.p.SK.Parts
	}
	switch {
	case !n.Top || !b.p.SK.Has(n.Attr) || b.p.Required != nil && n.Attr != parts[len(parts)-1]:
		return nil, b.fail(b.p.Code, n.Attr, "the field cannot have a range condition here; %s", b.p.Other)
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
			return b.fail(b.p.Code, nil, "%s cannot be a condition on the key; %s", c.Op, b.p.Other)
		}
		a, err := b.target(*c)
		if err != nil {
			return err
		}
		if err := bind.Ordered(b.s, &schema.Node{Attr: a, Top: true}, c.Op); err != nil {
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
		one, err := bind.KeyCondition(b.s, *c)
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

// filters compiles the caller's filter. DynamoDB rejects key attributes in it.
func (b *builder) filters(list []bind.Cond) error {
	names := append(b.p.PK.Attributes(), b.p.SK.Attributes()...)
	if _, err := bind.Conditions(b.s, list); err != nil {
		return err
	}
	for _, c := range list {
		r, err := bind.Condition(b.s, c)
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
			return b.fail(bind.CodeKeyFilter, b.s.Attr(bad), "DynamoDB does not filter by an attribute of the key; give the condition outside Filter")
		}
		b.p.User = expr.All(b.p.User, r)
	}
	return nil
}

// query compiles the partition, the conditions on the key and the filters.
func (b *builder) query(spec *bind.Options) error {
	if err := b.bounds(spec); err != nil {
		return err
	}
	if err := b.partition(); err != nil {
		return err
	}
	if err := b.leading(); err != nil {
		return err
	}
	err := b.conditions(spec.Range)
	if err != nil {
		return err
	}
	if b.p.Partition, err = b.fixed(b.p.PK); err != nil {
		return err
	}
	if b.p.Sort, err = b.sortCondition(); err != nil {
		return err
	}
	b.p.Key = joinKey(b.p.Partition, b.p.Sort)
	if spec.Filters != nil {
		if err := b.filters(spec.Filters); err != nil {
			return err
		}
	}
	if b.p.Hydrate {
		return bind.InMemory(b.s, b.p.User, "Hydrate")
	}
	return nil
}

// Build compiles the query of src for the partition in v. Errors are in the plan's Err.
func Build(src Source, v reflect.Value, spec *bind.Options) *Plan {
	b := &builder{p: &Plan{Source: src, Desc: spec.Desc}, s: src.Schema, v: v, given: item.Item{}}
	b.p.Err = b.query(spec)
	return b.p
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

// scan compiles the options of a scan. Filters may name any attribute.
func (b *builder) scan(spec *bind.Options) (err error) {
	if err = b.bounds(spec); err != nil {
		return err
	}
	if b.p.Segments, err = bind.CountOption(b.s, "Segments", spec.Segments); err != nil {
		return err
	}
	switch {
	case b.p.Segments > maxSegments:
		return b.fail(bind.CodeOption, nil, "at most %d segments are read at the same time", maxSegments)
	case b.p.Segments > 1 && (b.p.Evaluate > 0 || b.p.Requests > 0):
		return b.fail(bind.CodeOption, nil, "MaxEvaluated and MaxRequests need a scan without Segments")
	}
	if err := bind.SegmentOption(b.s, spec); err != nil {
		return err
	}
	b.p.Segment = spec.Segment
	if b.p.User, err = bind.Conditions(b.s, spec.Filters); err == nil && b.p.Hydrate {
		err = bind.InMemory(b.s, b.p.User, "Hydrate")
	}
	return err
}

// BuildScan compiles the scan of src. Errors are in the plan's Err.
func BuildScan(src Source, spec *bind.Options) *Plan {
	src.Scan = true
	b := &builder{p: &Plan{Source: src, Scanned: spec.Scanned}, s: src.Schema}
	b.p.Err = b.scan(spec)
	return b.p
}

// present encodes the leading sort-key parts that are set in v.
func (b *builder) present() error {
	if b.p.SK == nil {
		return nil
	}
	for _, a := range b.p.SK.Parts {
		av, err := bind.EncodeAttr(b.s, a, b.v, nil)
		if err != nil {
			return err
		}
		if bind.CheckPart(b.s, a, av) != nil {
			return nil //nolint:nilerr // the fixed parts end before the first that is absent
		}
		b.given[a.Name] = av
		b.lead++
	}
	return nil
}

// Under returns the key condition for all items of s's table that begin with the key fields of v. The partition key's
// fields must be set, and those of the sort key may be set from the left. If all are set, the condition holds for the
// item and its related items.
func Under(s *schema.Schema, v reflect.Value) (expr.Cond, error) {
	conds, err := under(s, v, s.PK)
	if err != nil {
		return expr.Cond{}, err
	}
	return conds[0], nil
}

// EventsUnder returns the key conditions of [Under] for each partition that holds the events of a series: one, unless the
// series spreads them.
func EventsUnder(s *schema.Schema, v reflect.Value) ([]expr.Cond, error) {
	if s.EventPartitions == nil {
		return under(s, v, s.PK)
	}
	return under(s, v, s.EventPartitions...)
}

// under returns the condition of [Under] for each of several partition keys.
func under(s *schema.Schema, v reflect.Value, partitions ...*schema.KeyDef) (conds []expr.Cond, err error) {
	b := &builder{p: &Plan{Source: Source{PK: s.PK, SK: s.SK}}, s: s, v: v, given: item.Item{}}
	if err := b.partition(); err != nil {
		return nil, err
	}
	if err := b.present(); err != nil {
		return nil, err
	}
	sk, err := b.sortCondition()
	if err != nil {
		return nil, err
	}
	if b.p.Nothing {
		return nil, b.fail(bind.CodeValue, nil, "the sort key is too long")
	}
	if k := s.SK; k != nil && k.Prefixed && s.RelatedSuffix > 0 && b.lead == len(k.Parts) {
		// Sort keys of related items continue with "#". No key of another item sorts between the item's key and the same
		// text with "$".
		text := sk.Values[0].(*types.AttributeValueMemberS).Value
		sk = expr.Compare(expr.Between, expr.Attr(k.Attr), item.S(text), item.S(text+"$"))
	}
	for _, partition := range partitions {
		pk, err := b.fixed(partition)
		if err != nil {
			return nil, err
		}
		conds = append(conds, joinKey(pk, sk))
	}
	return conds, nil
}
