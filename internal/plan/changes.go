package plan

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// resolveChanges checks the changes of an update against the schema and encodes their values.
func resolveChanges(s *schema.Schema, list []opt.Change) ([]expr.Change, error) {
	if len(list) == 0 {
		return nil, input(s, CodeNoChange, nil, "an update needs at least one change")
	}
	var (
		out     []expr.Change
		refused []error
	)
	for _, c := range list {
		n, err := Node(s, c.Target)
		if err != nil {
			return nil, err
		}
		if err := mayChange(s, n, c.Kind); err != nil {
			return nil, err
		}
		r, errs, err := resolveChange(s, n, c)
		if err != nil {
			return nil, err
		}
		refused = append(refused, errs...)
		for _, o := range out {
			switch {
			case o.Path.Overlaps(r.Path):
				return nil, input(s, CodeOverlap, n.Attr, "two changes meet in %s", PathText(s, r.Path))
			case o.Path.Disagrees(r.Path):
				return nil, input(s, CodeOverlap, n.Attr, "%s and %s take one attribute for a map and for a list", PathText(s, o.Path), PathText(s, r.Path))
			}
		}
		out = append(out, r)
	}
	return out, Joined(refused)
}

// mayChange refuses changes of attributes that an update does not own.
func mayChange(s *schema.Schema, n *schema.Node, kind expr.Kind) error {
	a := n.Attr
	switch {
	case s.KeyPart(a):
		return input(s, CodeNotYours, a, "the attribute is part of the primary key")
	case a.Owned():
		return input(s, CodeNotYours, a, "the library sets the attribute itself")
	case a.Append || a.Clock:
		return input(s, CodeNotYours, a, "only Append writes the attribute")
	case a.Role.Has(tag.Immutable) && !(kind == expr.Set && n.Top):
		return input(s, CodeNotYours, a, "the attribute is immutable")
	case a.Role.Has(tag.SetOnce) && !((kind == expr.Set || kind == expr.SetIfAbsent) && n.Top):
		return input(s, CodeNotYours, a, "the attribute is set once")
	case a.Required() && kind == expr.Remove && n.Top:
		return input(s, CodeRequired, a, "%s", a.WhyRequired())
	}
	return nil
}

// storesValues reports that what a change gives becomes a value of the item as it is.
func storesValues(kind expr.Kind) bool {
	return kind == expr.Set || kind == expr.SetIfAbsent || addsElements(kind)
}

func addsElements(kind expr.Kind) bool { return joinsList(kind) || kind == expr.Insert }

func joinsList(kind expr.Kind) bool { return kind == expr.Push || kind == expr.Prepend }

// resolveChange returns the change, why its values may not be stored, and any other mistake.
func resolveChange(s *schema.Schema, n *schema.Node, c opt.Change) (r expr.Change, refused []error, err error) {
	r = expr.Change{Kind: c.Kind, Path: n.Path}
	switch c.Kind {
	case expr.Remove:
		return r, checkChange(s, n, c, nil), nil
	case expr.Push, expr.Prepend, expr.Insert, expr.Discard:
		// What is given for a path has no type that a compiler has checked.
		switch v := reflect.ValueOf(c.Value); {
		case v.Kind() != reflect.Slice && v.Kind() != reflect.Array:
			return r, nil, input(s, CodeValue, n.Attr, "the elements to add or take out must be given as a slice")
		case v.Len() == 0:
			return r, nil, input(s, CodeValue, n.Attr, "there is no element to add or take out")
		}
	}
	plain := *n
	if c.Kind != expr.Set && c.Kind != expr.SetIfAbsent {
		plain.Tag.OmitEmpty = false
	}
	if n.Loose && (c.Kind == expr.Insert || c.Kind == expr.Discard) {
		plain.Options = setOption(reflect.TypeOf(c.Value))
	}
	value, err := conform(s, n, c.Target, c.Value)
	if err != nil {
		return r, nil, err
	}
	av, err := encode(s, &plain, value, n.Attr.Exact())
	if err != nil {
		return r, nil, err
	}
	refused, byRule := validateChange(s, n, c, value, av), checkChange(s, n, c, value)
	if err := fits(s, n, c.Kind, av); err != nil {
		return r, nil, err
	}
	if n.Top && item.Empty(av) && n.Attr.Required() {
		return r, nil, input(s, CodeRequired, n.Attr, "%s", n.Attr.WhyRequired())
	}
	if n.Attr.Role.Has(tag.SetOnce) {
		r.Kind = expr.SetIfAbsent
	}
	if n.Top && item.Absent(av) && n.Attr.WriteOnce() {
		return r, nil, input(s, CodeValue, n.Attr, "an empty value is not stored in an attribute that is written once")
	}
	if av == nil || n.Top && item.Absent(av) && nativeIndexPart(s, n.Attr) {
		if c.Kind == expr.SetIfAbsent {
			return r, nil, input(s, CodeValue, n.Attr, "an empty value is not stored here")
		}
		r.Kind, av, refused = expr.Remove, nil, nil // what whole values leave out is absent after a Set too
	}
	r.Value = av
	return r, append(refused, byRule...), nil
}

// fits checks that a change of elements has a value of the kind that it works on.
func fits(s *schema.Schema, n *schema.Node, kind expr.Kind, av types.AttributeValue) error {
	switch kind {
	case expr.Increment:
		if _, ok := av.(*types.AttributeValueMemberN); !ok {
			return input(s, CodeValue, n.Attr, "Add needs an attribute that is stored as a number")
		}
	case expr.Push, expr.Prepend:
		if _, ok := av.(*types.AttributeValueMemberL); !ok {
			return input(s, CodeValue, n.Attr, "ListAppend and ListPrepend need an attribute that is stored as a list")
		}
	case expr.Insert, expr.Discard:
		switch av.(type) {
		case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		default:
			return input(s, CodeValue, n.Attr, "the attribute is not stored as a set; tag the field stringset, numberset or binaryset")
		}
	}
	return nil
}

func nativeIndexPart(s *schema.Schema, a *schema.Attr) bool {
	for _, h := range s.IndexKeys() {
		if h.Native != nil && h.Has(a) {
			return true
		}
	}
	return false
}

// immutableGuards hold when every immutable attribute that is set has no other value yet.
func immutableGuards(s *schema.Schema, changes []expr.Change) []expr.Cond {
	var guards []expr.Cond
	for _, c := range changes {
		if a := s.Attr(c.Path.Root()); a != nil && a.Role.Has(tag.Immutable) && c.Kind == expr.Set {
			guards = append(guards, expr.Any(expr.Compare(expr.NotExists, c.Path), expr.Compare(expr.Eq, c.Path, c.Value)))
		}
	}
	return guards
}

// parentGuards hold when what nested changes lie in is there and is a map or list.
func parentGuards(changes []expr.Change) []expr.Cond {
	var guards []expr.Cond
	seen := map[string]bool{}
	for _, c := range changes {
		if len(c.Path) == 1 {
			continue
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

// broken names what a returned image says about the guards of changes: a missing parent, a different immutable value.
// It is nil when none of them can have failed.
func broken(s *schema.Schema, changes []expr.Change, image item.Item) error {
	for _, c := range changes {
		if !c.Path.HasParent(image) {
			return &ConditionError{Attr: PathText(s, c.Path.Parent()), Problem: "the parent of a changed attribute is absent"}
		}
		if a := s.Attr(c.Path.Root()); a != nil && a.Role.Has(tag.Immutable) && c.Kind == expr.Set {
			if stored, ok := image[a.Name]; ok && !item.Equal(stored, c.Value) {
				return &ConditionError{Attr: a.Name, Problem: "the attribute is immutable and has another value"}
			}
		}
	}
	return nil
}

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
