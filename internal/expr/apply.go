package expr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// ApplyError is a change that cannot be applied to the item that was read.
type ApplyError struct {
	Path    Path
	Problem string
}

func (e *ApplyError) Error() string { return e.Path.String() + ": " + e.Problem }

// Apply returns a copy of it with changes applied as DynamoDB would: every change sees the item as it was before the
// update, numbers are exact decimals, an absent parent is an error. What is set beyond the end of a list is appended, the
// lower index first. The order of changes does not matter.
func Apply(it item.Item, changes []Change) (item.Item, error) {
	type step struct {
		path  Path
		value types.AttributeValue // nil: remove
	}
	var sets, removals []step
	for _, c := range changes {
		old, exists := c.Path.Lookup(it)
		if !c.Path.HasParent(it) {
			return nil, &ApplyError{c.Path.Parent(), "the parent of the changed attribute is absent"}
		}
		value, err := c.result(it, old, exists)
		switch {
		case err != nil:
			return nil, err
		case value != nil:
			sets = append(sets, step{c.Path, value})
		case exists:
			removals = append(removals, step{path: c.Path})
		}
	}
	out := item.Clone(it)
	// Removals come last and from the end of a list, so that none moves what another change means.
	slices.SortStableFunc(sets, func(a, b step) int { return compare(a.path, b.path) })
	slices.SortStableFunc(removals, func(a, b step) int { return compare(b.path, a.path) })
	for _, s := range append(sets, removals...) {
		replaced, err := replace(out[s.path.Root()], s.path[1:], s.value)
		if err != nil {
			return nil, &ApplyError{s.path, err.Error()}
		}
		if replaced == nil {
			delete(out, s.path.Root())
		} else {
			out[s.path.Root()] = replaced
		}
	}
	return out, nil
}

// compare orders paths by the first step that they differ in, lower list indexes first.
func compare(a, b Path) int {
	for i := range min(len(a), len(b)) {
		if order := cmp.Or(strings.Compare(a[i].Name, b[i].Name), cmp.Compare(a[i].Index, b[i].Index)); order != 0 {
			return order
		}
	}
	return 0
}

// result is the value that the change leaves at its path: nil when it removes it.
func (c Change) result(it item.Item, old types.AttributeValue, exists bool) (types.AttributeValue, error) {
	fail := func(problem string) error { return &ApplyError{c.Path, problem} }
	switch c.Kind {
	case Set:
		return c.Value, nil
	case SetIfAbsent:
		source := c.Path
		if c.Source != nil {
			source = c.Source
		}
		if stored, ok := source.Lookup(it); ok {
			return stored, nil
		}
		return c.Value, nil
	case Increment:
		if !exists {
			old = zero
		}
		sum, err := add(old, c.Value)
		if err != nil {
			return nil, fail(err.Error())
		}
		return sum, nil
	case Push, Prepend:
		if !exists {
			old = emptyList
		}
		list, ok := old.(*types.AttributeValueMemberL)
		more, okMore := c.Value.(*types.AttributeValueMemberL)
		if !ok || !okMore {
			return nil, fail("the stored attribute is not a list")
		}
		first, second := list.Value, more.Value
		if c.Kind == Prepend {
			first, second = second, first
		}
		return &types.AttributeValueMemberL{Value: slices.Concat(first, second)}, nil
	case Insert, Discard:
		set, err := changeSet(old, c.Value, c.Kind == Insert)
		if err != nil {
			return nil, fail(err.Error())
		}
		return set, nil
	}
	return nil, nil
}

func add(a, b types.AttributeValue) (types.AttributeValue, error) {
	x, ok := a.(*types.AttributeValueMemberN)
	y, okY := b.(*types.AttributeValueMemberN)
	if !ok || !okY {
		return nil, fmt.Errorf("the stored attribute is not a number")
	}
	p, err := item.ParseDecimal(x.Value)
	if err != nil {
		return nil, err
	}
	q, err := item.ParseDecimal(y.Value)
	if err != nil {
		return nil, err
	}
	sum, err := p.Add(q)
	if err != nil {
		return nil, err
	}
	return item.N(sum.String()), nil
}

// replace returns v with the value at path replaced, or removed when value is nil; v is not changed.
func replace(v types.AttributeValue, path Path, value types.AttributeValue) (types.AttributeValue, error) {
	if len(path) == 0 {
		return value, nil
	}
	s := path[0]
	switch x := v.(type) {
	case *types.AttributeValueMemberM:
		child, err := replace(x.Value[s.Name], path[1:], value)
		if err != nil {
			return nil, err
		}
		m := item.Clone(x.Value)
		if child == nil {
			delete(m, s.Name)
		} else {
			m[s.Name] = child
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	case *types.AttributeValueMemberL:
		list := slices.Clone(x.Value)
		if s.Index >= len(list) {
			if value == nil || len(path) > 1 {
				return x, nil
			}
			return &types.AttributeValueMemberL{Value: append(list, value)}, nil
		}
		child, err := replace(list[s.Index], path[1:], value)
		if err != nil {
			return nil, err
		}
		if child == nil {
			list = slices.Delete(list, s.Index, s.Index+1)
		} else {
			list[s.Index] = child
		}
		return &types.AttributeValueMemberL{Value: list}, nil
	}
	return nil, fmt.Errorf("the parent of the changed attribute is absent")
}
