package plan

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// immutableGuards returns conditions that each immutable attribute that is set is absent or has the same value already.
func immutableGuards(s *schema.Schema, changes []expr.Change) []expr.Cond {
	var guards []expr.Cond
	for _, c := range changes {
		if a := s.Attr(c.Path.Root()); a != nil && a.Role.Has(schema.Immutable) && c.Kind == expr.Set {
			guards = append(guards, expr.Any(expr.Compare(expr.NotExists, c.Path), expr.Compare(expr.Eq, c.Path, c.Value)))
		}
	}
	return guards
}

// parentGuards returns conditions that the parents of nested changes exist and are maps or lists.
func parentGuards(changes []expr.Change) []expr.Cond {
	var guards []expr.Cond
	var seen map[string]bool
	for _, c := range changes {
		if len(c.Path) == 1 {
			continue
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		parent, last := c.Path.Parent(), c.Path[len(c.Path)-1]
		kind := "M"
		if last.Name == "" {
			kind = "L"
		}
		if !seen[parent.String()+kind] {
			seen[parent.String()+kind] = true
			guards = append(guards, expr.Compare(expr.HasType, parent, item.S(kind)))
		}
	}
	return guards
}

// guardError returns why a guard of the changes failed on a returned image: a missing parent, or an immutable attribute
// with another value. It returns nil if no such guard can have failed.
func guardError(s *schema.Schema, changes []expr.Change, image item.Item) error {
	for _, c := range changes {
		if !c.Path.HasParent(image) {
			return &entitytype.ConditionError{Attr: layout.PathText(s, c.Path.Parent()), Problem: "the parent of a changed attribute is absent"}
		}
		if a := s.Attr(c.Path.Root()); a != nil && a.Role.Has(schema.Immutable) && c.Kind == expr.Set {
			if stored, ok := image[a.Name]; ok && !item.Equal(stored, c.Value) {
				return &entitytype.ConditionError{Attr: a.Name, Problem: "the attribute is immutable and has another value"}
			}
		}
	}
	return nil
}

// elementType returns the DynamoDB type that a change of elements works on, or "" for other changes.
func elementType(c expr.Change) string {
	switch c.Kind {
	case expr.Add:
		return "N"
	case expr.ListAppend, expr.ListPrepend:
		return "L"
	case expr.AddToSet, expr.DeleteFromSet:
		return item.TypeName(c.Value)
	}
	return ""
}

// elementGuards returns conditions that each attribute whose elements change is absent or of the right type. Without
// them DynamoDB would reject the request without naming the attribute.
func elementGuards(changes []expr.Change) []expr.Cond {
	var guards []expr.Cond
	for _, c := range changes {
		if kind := elementType(c); kind != "" {
			guards = append(guards, expr.Any(expr.Compare(expr.NotExists, c.Path), expr.Compare(expr.HasType, c.Path, item.S(kind))))
		}
	}
	return guards
}

// nullAt reports whether a change of elements finds NULL, which a nil field without omitempty is stored as.
func nullAt(image item.Item, c expr.Change) bool {
	av, _ := c.Path.Lookup(image)
	_, null := av.(*types.AttributeValueMemberNULL)
	return null && elementType(c) != ""
}

// typeMismatch returns an error if a change of elements finds a value of another type. null reports that one finds NULL.
func typeMismatch(s *schema.Schema, image item.Item, changes []expr.Change) (null bool, err error) {
	for _, c := range changes {
		av, there := c.Path.Lookup(image)
		switch kind := elementType(c); {
		case kind == "" || !there || item.TypeName(av) == kind:
		case nullAt(image, c):
			null = true
		default:
			return false, &entitytype.ConditionError{Attr: layout.PathText(s, c.Path), Problem: "the stored attribute has another type than the change"}
		}
	}
	return null, nil
}

// apply applies changes to an item. A change that cannot be made is a *ConditionError, as when DynamoDB rejects it.
func apply(s *schema.Schema, it item.Item, changes []expr.Change) (item.Item, error) {
	made, err := expr.Apply(it, changes)
	var wrong *expr.ApplyError
	if errors.As(err, &wrong) {
		return nil, &entitytype.ConditionError{Attr: layout.PathText(s, wrong.Path), Problem: wrong.Problem}
	}
	return made, err
}

// amended returns a stored item after changes.
func amended(s *schema.Schema, it item.Item, changes []expr.Change) (item.Item, error) {
	null, err := typeMismatch(s, it, changes)
	switch {
	case err != nil:
		return nil, err
	case !null:
		return apply(s, it, changes)
	}
	var out []expr.Change
	for _, c := range changes { // of elements, which take NULL for absent
		if nullAt(it, c) {
			if c.Kind == expr.DeleteFromSet {
				continue // nothing to remove
			}
			c.Kind = expr.Set
		}
		out = append(out, c)
	}
	return apply(s, it, out)
}

// MoveWith resolves the changes that op, a delete or restore, makes of the state that it stores elsewhere. Errors are in the Err of
// the operation.
func (op *Op) MoveWith(list []bind.Change) {
	s := op.Schema
	switch {
	case op.Err != nil || len(list) == 0:
		return
	case !s.SoftDeletes && !s.KeepsHistory:
		op.Err = bind.Invalid(s, bind.CodeOption, nil, "%s takes no changes: the entity has neither soft delete nor a history, so nothing would keep them", op.Verb)
		return
	}
	op.Changes, _, op.Err = bind.Changes(s, list)
	for _, c := range op.Changes {
		switch a := s.Attr(c.Path.Root()); {
		case a == nil: // the path names it, and Changes has refused it
		case isExpiry(s, a) || countsFrom(s, a):
			op.Err = bind.Invalid(s, bind.CodeNotYours, a, "the attribute decides when the item expires, and %s does not change that", op.Verb)
		case s.Reserves && a.IsUnique:
			op.Err = bind.Invalid(s, bind.CodeNotYours, a, "the attribute is unique, and a deleted item reserves its value")
		}
	}
}

// Moved returns a copy of a stored state with the changes that the caller of op, a delete or restore, gave.
func (op *Op) Moved(state item.Item) (item.Item, error) {
	if len(op.Changes) == 0 {
		return item.Clone(state), nil
	}
	if err := guardError(op.Schema, op.Changes, state); err != nil {
		return nil, err
	}
	return amended(op.Schema, state, op.Changes)
}
