package expr

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

type Kind int

// Kinds. Add, ListAppend and ListPrepend treat an absent attribute as 0 and the empty list.
const (
	Set            Kind = iota // a = v
	SetIfNotExists             // a = v unless a exists
	Remove                     // a is removed
	Add                        // a = a + v
	ListAppend                 // append v's elements to the list a
	ListPrepend                // insert v's elements at the beginning of the list a
	AddToSet                   // add v's elements to the set a
	DeleteFromSet              // remove v's elements from the set a
)

// Change is one change of an update. Source, if set, is the attribute whose existence SetIfNotExists tests, and whose value it
// copies, instead of Path. A key attribute follows a field that is written once in this way.
type Change struct {
	Kind   Kind
	Path   Path
	Value  types.AttributeValue
	Source Path
}

// ApplyError reports a change that cannot be applied to an item.
type ApplyError struct {
	Path    Path
	Problem string
}

func (e *ApplyError) Error() string { return e.Path.String() + ": " + e.Problem }

// Apply returns a copy of it with changes applied as DynamoDB would apply them. Every change sees the item as it was before.
// Numbers are exact decimals. An absent parent is an error. Elements set beyond the end of a list are appended, the lower
// index first. The order of changes does not matter. Errors are of type *ApplyError.
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
	// Removals are last, from the end of each list, so that none moves an element that another change is about.
	slices.SortStableFunc(sets, func(a, b step) int { return comparePaths(a.path, b.path) })
	slices.SortStableFunc(removals, func(a, b step) int { return comparePaths(b.path, a.path) })
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

// comparePaths orders paths by the first step in which they differ, lower list indexes first.
func comparePaths(a, b Path) int {
	for i := range min(len(a), len(b)) {
		if order := cmp.Or(strings.Compare(a[i].Name, b[i].Name), cmp.Compare(a[i].Index, b[i].Index)); order != 0 {
			return order
		}
	}
	return 0
}

// result returns the value that the change leaves at its path, nil if it removes the attribute.
func (c Change) result(it item.Item, old types.AttributeValue, exists bool) (types.AttributeValue, error) {
	fail := func(problem string) error { return &ApplyError{c.Path, problem} }
	switch c.Kind {
	case Set:
		return c.Value, nil
	case SetIfNotExists:
		source := c.Path
		if c.Source != nil {
			source = c.Source
		}
		if stored, ok := source.Lookup(it); ok {
			return stored, nil
		}
		return c.Value, nil
	case Add:
		if !exists {
			old = zero
		}
		sum, err := add(old, c.Value)
		if err != nil {
			return nil, fail(err.Error())
		}
		return sum, nil
	case ListAppend, ListPrepend:
		if !exists {
			old = emptyList
		}
		list, ok := old.(*types.AttributeValueMemberL)
		more, okMore := c.Value.(*types.AttributeValueMemberL)
		if !ok || !okMore {
			return nil, fail("the stored attribute is not a list")
		}
		first, second := list.Value, more.Value
		if c.Kind == ListPrepend {
			first, second = second, first
		}
		return &types.AttributeValueMemberL{Value: slices.Concat(first, second)}, nil
	case AddToSet, DeleteFromSet:
		set, err := changeSet(old, c.Value, c.Kind == AddToSet)
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

// replace returns a copy of v with the value at path replaced, or removed if value is nil.
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

var errSetType = errors.New("the stored attribute is not a set of that type")

// changeSet returns old with the elements of delta added or removed, nil if no element is left.
func changeSet(old, delta types.AttributeValue, insert bool) (types.AttributeValue, error) {
	if old == nil {
		if insert {
			return delta, nil
		}
		return nil, nil
	}
	switch d := delta.(type) {
	case *types.AttributeValueMemberSS:
		if o, ok := old.(*types.AttributeValueMemberSS); ok {
			if kept := merge(o.Value, d.Value, item.S, insert); len(kept) > 0 {
				return &types.AttributeValueMemberSS{Value: kept}, nil
			}
			return nil, nil
		}
	case *types.AttributeValueMemberNS:
		if o, ok := old.(*types.AttributeValueMemberNS); ok {
			if kept := merge(o.Value, d.Value, item.N, insert); len(kept) > 0 {
				return &types.AttributeValueMemberNS{Value: kept}, nil
			}
			return nil, nil
		}
	case *types.AttributeValueMemberBS:
		if o, ok := old.(*types.AttributeValueMemberBS); ok {
			wrap := func(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
			if kept := merge(o.Value, d.Value, wrap, insert); len(kept) > 0 {
				return &types.AttributeValueMemberBS{Value: kept}, nil
			}
			return nil, nil
		}
	}
	return nil, errSetType
}

// merge adds the elements of delta to old, or removes them. value makes them comparable.
func merge[E any](old, delta []E, value func(E) types.AttributeValue, insert bool) []E {
	in := func(set []E, e E) bool {
		return slices.ContainsFunc(set, func(x E) bool { return item.Equal(value(x), value(e)) })
	}
	var kept []E
	for _, e := range old {
		if insert || !in(delta, e) {
			kept = append(kept, e)
		}
	}
	if insert {
		for _, e := range delta {
			if !in(kept, e) {
				kept = append(kept, e)
			}
		}
	}
	return kept
}
