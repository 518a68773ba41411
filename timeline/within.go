package timeline

import (
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// beside is the filter of a query: DynamoDB refuses one that names a key attribute, and the key condition has done that
// part of the work.
func (o *origin) beside(key expr.Cond, now time.Time) expr.Cond {
	s := o.core.Schema
	keys := append(slices.Clone(s.PK.Attributes()), s.SK.Attributes()...)
	var conds []expr.Cond
	for _, c := range flat(o.filter(now)) {
		if len(c.Path) == 0 || !slices.Contains(keys, c.Path.Root()) {
			conds = append(conds, c)
		}
	}
	return expr.All(conds...)
}

func flat(c expr.Cond) []expr.Cond {
	if c.Op != expr.And {
		return []expr.Cond{c}
	}
	var all []expr.Cond
	for _, inner := range c.Conds {
		all = append(all, flat(inner)...)
	}
	return all
}

// under is the key condition of what lies under the given key parts.
func (o *origin) under(v reflect.Value) (expr.Cond, error) {
	s := o.core.Schema
	given := item.Item{}
	for _, a := range s.PK.Parts {
		av, err := plan.EncodeAttr(s, a, v)
		if err != nil {
			return expr.Cond{}, err
		}
		if err := plan.Present(s, a, av); err != nil {
			return expr.Cond{}, err
		}
		given[a.Name] = av
	}
	pk := expr.Cond{}
	if h := s.PK; h.Native != nil {
		pk = expr.Compare(expr.Eq, expr.Attr(h.Native[0].Name), given[h.Native[0].Name])
	} else {
		text, _, err := h.Template.Compose(given)
		if err != nil {
			return expr.Cond{}, plan.KeyError(s, err)
		}
		pk = expr.Compare(expr.Eq, expr.Attr(h.Attr), item.S(text))
	}
	sk, err := o.sortUnder(s.SK, v)
	if err != nil || sk.Op == expr.None {
		return pk, err
	}
	return expr.Cond{Op: expr.And, Conds: []expr.Cond{pk, sk}}, nil
}

// sortUnder is the condition on the sort key: what begins with the parts that are filled in.
func (o *origin) sortUnder(h *schema.KeyDef, v reflect.Value) (expr.Cond, error) {
	s := o.core.Schema
	if h == nil {
		return expr.Cond{}, nil
	}
	lead, err := o.filled(h, v)
	switch {
	case err != nil:
		return expr.Cond{}, err
	case h.Native != nil && len(lead) == 0:
		return expr.Cond{}, nil
	case h.Native != nil:
		return expr.Compare(expr.Eq, expr.Attr(h.Native[0].Name), lead[0]), nil
	}
	fields := h.Template.Fields()
	if len(lead) == len(fields) {
		return o.exactly(h, fields, lead)
	}
	values, err := keyValues(fields, lead)
	if err != nil {
		return expr.Cond{}, plan.KeyError(s, err)
	}
	r, err := h.Template.Range(values, nil)
	if err != nil {
		return expr.Cond{}, plan.KeyError(s, err)
	}
	if r.Lo == "" {
		return expr.Cond{}, nil
	}
	return expr.Compare(expr.BeginsWith, expr.Attr(h.Attr), item.S(r.Lo)), nil
}

// exactly is the condition of one item and its satellites: they go on with the separator, and no key of another item sorts
// between it and the end of a range.
func (o *origin) exactly(h *schema.KeyDef, fields []*key.Field, values []types.AttributeValue) (expr.Cond, error) {
	it := item.Item{}
	for i, f := range fields {
		it[f.Attr] = values[i]
	}
	text, _, err := h.Template.Compose(it)
	if err != nil {
		return expr.Cond{}, plan.KeyError(o.core.Schema, err)
	}
	if o.core.Schema.Satellites == 0 || !h.Prefixed {
		return expr.Compare(expr.Eq, expr.Attr(h.Attr), item.S(text)), nil
	}
	return expr.Compare(expr.Between, expr.Attr(h.Attr), item.S(text), item.S(text+"$")), nil
}

// filled are the values of the leading sort-key parts that v has.
func (o *origin) filled(h *schema.KeyDef, v reflect.Value) ([]types.AttributeValue, error) {
	var lead []types.AttributeValue
	for _, a := range h.Parts {
		av, err := plan.EncodeAttr(o.core.Schema, a, v)
		if err != nil {
			return nil, err
		}
		if plan.Present(o.core.Schema, a, av) != nil {
			return lead, nil
		}
		lead = append(lead, av)
	}
	return lead, nil
}

// keyValues are stored attributes as the values of a template's leading parts.
func keyValues(fields []*key.Field, stored []types.AttributeValue) ([]key.Value, error) {
	values := make([]key.Value, len(stored))
	for i, av := range stored {
		v, _, err := fields[i].FromAttribute(av)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// expression renders a condition, nil for the empty one.
func expression(r *expr.Renderer, c expr.Cond) *string {
	text := r.Cond(c)
	if text == "" {
		return nil
	}
	return &text
}
