package query

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// builder compiles one query.
type builder struct {
	*Plan
	v     reflect.Value
	given item.Item  // partition parts and leading sort-key parts with fixed values
	lead  int        // how many sort-key parts are fixed
	bound *bind.Cond // condition on the next part; the lower one if upper is set
	upper *bind.Cond
}

func (b *builder) fail(code string, a *schema.Attr, format string, args ...any) error {
	return bind.Invalid(b.Schema, code, a, format, args...)
}

func (b *builder) partError(err error, missing []string) error {
	if e, ok := err.(*key.PartError); ok {
		return b.fail(bind.CodeValue, b.Schema.Attr(e.Attr), "%s", e.Problem)
	}
	if len(missing) > 0 {
		return b.fail(bind.CodeKeyPart, b.Schema.Attr(missing[0]), "the key part is missing")
	}
	return b.fail(bind.CodeValue, nil, "%v", err)
}

func (b *builder) boundValue(f *key.Field, v any) (key.Value, error) {
	rv, next := reflect.ValueOf(v), b.SK.Parts[b.lead]
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if !rv.IsValid() || rv.Kind() == reflect.Pointer {
		return key.Value{}, b.fail(bind.CodeValue, next, "a bound cannot be nil")
	}
	out := key.Value{Kind: f.Kind}
	if next.Text || next.Custom != nil {
		av, err := bind.EncodeValue(b.Schema, next, rv.Interface())
		if err != nil {
			return out, err
		}
		v, given, err := f.FromAttribute(av)
		switch {
		case err != nil:
			return out, b.partError(err, nil)
		case given: // else the empty text
			out = v
		}
		return out, nil
	}
	switch f.Kind {
	case key.Time:
		out.T = rv.Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time)
	case key.Int:
		out.I = rv.Int()
	case key.Uint:
		out.U = rv.Uint()
	case key.Bool:
		out.B = rv.Bool()
	default:
		out.S = rv.String()
	}
	return out, nil
}

// rangeConditions returns the conditions on the part after the fixed ones as they were given, the lower end first.
func (b *builder) rangeConditions() (conds []expr.Cond, err error) {
	for _, c := range []*bind.Cond{b.bound, b.upper} {
		if c == nil {
			continue
		}
		made, err := bind.KeyCondition(b.Schema, *c)
		if err != nil {
			return nil, err
		}
		conds = append(conds, made)
	}
	return conds, nil
}

// between returns one condition for a lower and an upper end. BETWEEN includes both, and DynamoDB does not filter by key
// attributes, so items at an excluded end are dropped after the read.
func (b *builder) between(low, high expr.Cond) expr.Cond {
	from, to := low.Values[0], high.Values[0]
	open := low.Op == expr.Gt || high.Op == expr.Lt
	if order, ok := expr.Compares(from, to); ok && (order > 0 || order == 0 && open) {
		b.Nothing = true
	}
	if open {
		own, both := b.Own, expr.All(low, high)
		b.InMemory, b.Own = both, func(it item.Item) (bool, error) {
			if !both.Holds(it) || own == nil {
				return both.Holds(it), nil
			}
			return own(it)
		}
	}
	return expr.Compare(expr.Between, low.Path, from, to)
}

// withoutEmpty simplifies a range whose bounds DynamoDB would reject. A stored key is never empty, so the empty text sorts before all keys.
func (b *builder) withoutEmpty(c expr.Cond) expr.Cond {
	empty := func(i int) bool { return item.Absent(c.Values[i]) }
	switch c.Op {
	case expr.And: // it never holds: the upper bound is below the lower one
		b.Nothing = true
	case expr.Gt, expr.Ge, expr.BeginsWith:
		if empty(0) {
			return expr.Cond{}
		}
	case expr.Lt, expr.Le:
		b.Nothing = empty(0)
	case expr.Between:
		b.Nothing = empty(1)
		if empty(0) {
			return expr.Compare(expr.Le, c.Path, c.Values[1])
		}
	}
	return c
}

// equal returns the condition that a key equals the given parts.
func (b *builder) equal(k *schema.KeyDef) (cond expr.Cond, err error) {
	bytes := 0
	if k.Native != nil {
		var conds []expr.Cond
		for _, a := range k.Native {
			bytes = max(bytes, item.ValueSize(b.given[a.Name]))
			conds = append(conds, expr.Compare(expr.Eq, a.Path, b.given[a.Name]))
		}
		cond = expr.All(conds...)
	} else {
		text, missing, err := k.Template.Compose(b.given)
		if err != nil || len(missing) > 0 {
			return cond, b.partError(err, missing)
		}
		bytes, cond = len(text), expr.Compare(expr.Eq, k.Path, item.S(text))
	}
	if bytes > key.MaxPartitionKey {
		err = bind.TooLarge(b.Schema, "the partition key is %d bytes long, %d are allowed", bytes, key.MaxPartitionKey)
	}
	return cond, err
}

// nativeSort returns the condition on a sort key that consists of plain attributes.
func (b *builder) nativeSort(k *schema.KeyDef) (expr.Cond, error) {
	var conds []expr.Cond
	for _, a := range k.Native[:b.lead] {
		conds = append(conds, expr.Compare(expr.Eq, a.Path, b.given[a.Name]))
	}
	ends, err := b.rangeConditions()
	if err != nil {
		return expr.Cond{}, err
	}
	for i, c := range ends {
		ends[i] = b.withoutEmpty(c)
	}
	if len(ends) == 2 && ends[0].Op != expr.None {
		ends = []expr.Cond{b.between(ends[0], ends[1])}
	}
	return expr.All(append(conds, ends...)...), nil
}

// makeBound turns the range condition into a bound on a field of the template. Package key rounds times inward.
func (b *builder) makeBound(f *key.Field) (*key.Bound, error) {
	ops := map[expr.Op]key.Op{expr.Eq: key.Eq, expr.Lt: key.Lt, expr.Le: key.Le, expr.Gt: key.Gt, expr.Ge: key.Ge, expr.Between: key.Between, expr.BeginsWith: key.BeginsWith}
	bound, values := &key.Bound{Op: ops[b.bound.Op]}, b.bound.Values
	if b.upper != nil {
		bound = &key.Bound{Op: key.Between, LoOpen: b.bound.Op == expr.Gt, HiOpen: b.upper.Op == expr.Lt}
		values = []any{b.bound.Values[0], b.upper.Values[0]}
	}
	for i, v := range values {
		made, err := b.boundValue(f, v)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			bound.Lo = made
		} else {
			bound.Hi = made
		}
	}
	return bound, nil
}

func (b *builder) sortCondition() (expr.Cond, error) {
	k := b.SK
	if k == nil {
		return expr.Cond{}, nil
	}
	if k.Native != nil {
		return b.nativeSort(k)
	}
	if k.Whole != nil && b.lead == 0 && b.bound == nil {
		return *k.Whole, nil
	}
	lead := make([]key.Value, b.lead)
	fields := k.Template.Fields()
	for i, f := range fields[:b.lead] {
		v, present, err := f.FromAttribute(b.given[f.Attr])
		if err != nil || !present {
			return expr.Cond{}, b.fail(bind.CodeKeyPart, b.Schema.Attr(f.Attr), "the key part is missing or malformed")
		}
		lead[i] = v
	}
	var bound *key.Bound
	if b.bound != nil {
		made, err := b.makeBound(fields[b.lead])
		if err != nil {
			return expr.Cond{}, err
		}
		bound = made
	}
	r, err := k.Template.Range(lead, bound)
	if err != nil {
		return expr.Cond{}, b.partError(err, nil)
	}
	if r.Filter {
		if f := fields[b.lead]; f.Lower && f.Kind == key.String {
			return expr.Cond{}, b.fail(bind.CodeOption, k.Parts[b.lead], "this bound cannot be exact on a key part that is stored in lower case; use Le, Ge or Between")
		}
		sharper, err := b.rangeConditions()
		if err != nil {
			return expr.Cond{}, err
		}
		b.Range = expr.All(sharper...)
	}
	at := k.Path
	switch r.Op {
	case key.Empty:
		b.Nothing = true
	case key.Equal:
		return expr.Compare(expr.Eq, at, item.S(r.Lo)), nil
	case key.Prefix:
		return expr.Compare(expr.BeginsWith, at, item.S(r.Lo)), nil
	case key.Span:
		return expr.Compare(expr.Between, at, item.S(r.Lo), item.S(r.Hi)), nil
	case key.AtLeast:
		return expr.Compare(expr.Ge, at, item.S(r.Lo)), nil
	case key.AtMost:
		return expr.Compare(expr.Le, at, item.S(r.Hi)), nil
	}
	return expr.Cond{}, nil
}

// joinKey joins the two conditions without parentheses, which DynamoDB rejects in a key condition.
func joinKey(pk, sk expr.Cond) expr.Cond {
	if pk.Op != expr.And && sk.Op != expr.And && sk.Op != expr.None {
		return expr.Cond{Op: expr.And, Conds: []expr.Cond{pk, sk}}
	}
	return expr.All(append(terms(pk), terms(sk)...)...)
}
