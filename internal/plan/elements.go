package plan

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// elementGuards hold when what a change adds to, or takes from, is absent or of the type that it works on. DynamoDB
// would refuse the request otherwise, without saying which attribute it means.
func elementGuards(changes []expr.Change) []expr.Cond {
	var guards []expr.Cond
	for _, c := range changes {
		if kind := elementType(c); kind != "" {
			guards = append(guards, expr.Any(expr.Compare(expr.NotExists, c.Path), expr.Compare(expr.HasType, c.Path, item.S(kind))))
		}
	}
	return guards
}

// elementType is the DynamoDB type that a change of elements works on, "" for other changes.
func elementType(c expr.Change) string {
	switch c.Kind {
	case expr.Increment:
		return "N"
	case expr.Push, expr.Prepend:
		return "L"
	case expr.Insert, expr.Discard:
		return expr.TypeName(c.Value)
	}
	return ""
}

// nullAt reports that a change of elements meets NULL, which is how a nil field without omitempty is stored.
func nullAt(image item.Item, c expr.Change) bool {
	av, _ := c.Path.Lookup(image)
	_, null := av.(*types.AttributeValueMemberNULL)
	return null && elementType(c) != ""
}

// misfits is the error of a change of elements that meets a value of another type. null says that one meets NULL.
func misfits(s *schema.Schema, image item.Item, changes []expr.Change) (null bool, err error) {
	for _, c := range changes {
		av, there := c.Path.Lookup(image)
		switch kind := elementType(c); {
		case kind == "" || !there || expr.TypeName(av) == kind:
		case nullAt(image, c):
			null = true
		default:
			return false, &ConditionError{Attr: PathText(s, c.Path), Problem: "the stored attribute is of another type than the change"}
		}
	}
	return null, nil
}

// overNull returns changes as they are to be made to an image: NULL counts as absent for changes of elements.
func overNull(image item.Item, changes []expr.Change) []expr.Change {
	if !slices.ContainsFunc(changes, func(c expr.Change) bool { return nullAt(image, c) }) {
		return changes
	}
	var out []expr.Change
	for _, c := range changes {
		if nullAt(image, c) {
			if c.Kind == expr.Discard {
				continue // there is nothing to take out
			}
			c.Kind = expr.Set
		}
		out = append(out, c)
	}
	return out
}

// setOption is the codec option that makes a set of a slice.
func setOption(slice reflect.Type) string {
	e := slice.Elem()
	for e.Kind() == reflect.Pointer {
		e = e.Elem()
	}
	switch {
	case e.Kind() == reflect.String:
		return ",stringset"
	case e.Kind() == reflect.Slice || e.Kind() == reflect.Array:
		return ",binaryset"
	}
	return ",numberset"
}
