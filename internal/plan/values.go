package plan

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// whole encodes v for a verb that takes whole values: what the library owns is left out, as is an empty value of an
// attribute that is written once, and required attributes must be there. skip leaves out further attributes, and so do
// the changes that are made beside v: what they name is theirs.
func whole(s *schema.Schema, v reflect.Value, skip func(*schema.Attr) bool, beside []expr.Change) (item.Item, error) {
	it, err := s.Codec.Encode(v)
	if err != nil {
		return nil, codecError(s, v, err)
	}
	var wrong []error
	for _, a := range s.Attrs {
		if c := changeOf(beside, a.Name); c != nil {
			delete(it, a.Name)
			if a.Required() && c.Kind == expr.Discard {
				wrong = append(wrong, input(s, CodeRequired, a, "%s, and the change does not give it a value", a.WhyRequired()))
			}
			continue
		}
		if a.Owned() || skip != nil && skip(a) || a.WriteOnce() && item.Absent(it[a.Name]) {
			delete(it, a.Name)
			if !a.WriteOnce() {
				continue
			}
		}
		if a.Required() && item.Empty(it[a.Name]) {
			wrong = append(wrong, input(s, CodeRequired, a, "%s", a.WhyRequired()))
		}
	}
	if x := expirySetter(s); x != nil {
		if err := countsSeconds(s, s.Attr(x.Stamps()), it[x.Stamps()]); err != nil {
			wrong = append(wrong, err)
		}
	}
	return it, Joined(append(wrong, validate(s, v, it)...))
}

// codecError names the attributes that cannot be encoded, by encoding one after the other; the cause may quote the value,
// so its text is not kept.
func codecError(s *schema.Schema, v reflect.Value, err error) error {
	var errs []error
	for _, a := range s.Attrs {
		if _, err := EncodeAttr(s, a, v); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return valueError(s, nil, err)
	}
	return Joined(errs)
}

// TimeValue is t in the format of time attribute a, truncated to it.
func TimeValue(a *schema.Attr, t time.Time) (types.AttributeValue, error) {
	return a.Format.Value(a.Format.Truncate(t))
}

// Later is now, or one unit after the stored updated_at if that is not before now: time never goes back for an item
// that was read.
func Later(s *schema.Schema, image item.Item, now time.Time) time.Time {
	if s.UpdatedAt == nil {
		return now
	}
	stored, err := s.UpdatedAt.Format.FromValue(image[s.UpdatedAt.Name])
	if err != nil || stored.Before(s.UpdatedAt.Format.Truncate(now)) {
		return now
	}
	return stored.Add(s.UpdatedAt.Format.Unit())
}

// hidden sets the attributes that every write of a whole item gives it.
func hidden(s *schema.Schema, it item.Item, writeID string) {
	if d := s.Discriminator; d != nil {
		it[d.Attr] = item.S(d.Value)
	}
	if s.Templated {
		it[schema.EntityAttr] = item.S(s.Name)
	}
	if !s.HasMetadata {
		return
	}
	it[schema.WriteAttr] = item.S(writeID)
	if s.Payload > 1 {
		it[schema.PayloadAttr] = item.N(strconv.Itoa(s.Payload))
	}
}

// HiddenChanges are the same attributes as changes of an update that may create the item.
func HiddenChanges(s *schema.Schema, writeID string) []expr.Change {
	it := item.Item{}
	hidden(s, it, writeID)
	var changes []expr.Change
	for _, name := range sortedNames(it) {
		changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(name), Value: it[name]})
	}
	return append(changes, unmark(s)...)
}

// signed are the attributes that a write of a part of an item gives it.
func signed(s *schema.Schema, writeID string) []expr.Change {
	if !s.HasMetadata {
		return nil
	}
	return append([]expr.Change{{Kind: expr.Set, Path: expr.Attr(schema.WriteAttr), Value: item.S(writeID)}}, unmark(s)...)
}

// unmark takes away the mark of a restored item, which belongs to the write that restored it.
func unmark(s *schema.Schema) []expr.Change {
	if softDeleter(s) == nil || !s.HasMetadata {
		return nil
	}
	return []expr.Change{{Kind: expr.Remove, Path: expr.Attr(schema.OpAttr)}}
}

// countUp makes a new state of it: with the version after the one that old has, and untouched.
func countUp(s *schema.Schema, it, old item.Item, in Input) {
	delete(it, schema.TouchedAttr)
	SetVersion(s, it, in.Counted(s, old)+1)
}

// SetVersion gives it a version, where items of s have one.
func SetVersion(s *schema.Schema, it item.Item, version int64) {
	if s.Version != nil {
		it[s.Version.Name] = item.N(strconv.FormatInt(version, 10))
	}
}

// StoredVersion is the version in it, 0 if absent.
func StoredVersion(s *schema.Schema, it item.Item) int64 {
	if s.Version == nil {
		return 0
	}
	n, ok := it[s.Version.Name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// orAbsent is out, a comparison with the values of c, such that a value which a write would not store at n, but leave
// out, is equal to an absent attribute and to any empty one. So is an empty list or map where nil is left out.
func orAbsent(s *schema.Schema, n *schema.Node, c opt.Cond, out expr.Cond) (expr.Cond, error) {
	if out.Op != expr.Eq && out.Op != expr.Ne && out.Op != expr.In {
		return out, nil
	}
	if !slices.ContainsFunc(c.Values, func(v any) bool { return leftOut(s, n, v) }) {
		return out, nil
	}
	in := expr.Cond{Op: expr.In, Path: out.Path}
	for _, av := range append(out.Values, emptyValues(n)...) {
		same := func(x types.AttributeValue) bool { return item.Equal(x, av) }
		if !emptySet(av) && !slices.ContainsFunc(in.Values, same) {
			in.Values = append(in.Values, av)
		}
	}
	var parts []expr.Cond
	for values := range slices.Chunk(in.Values, maxInValues) {
		parts = append(parts, expr.Compare(expr.In, out.Path, values...))
	}
	equal := expr.Any(append([]expr.Cond{expr.Compare(expr.NotExists, out.Path)}, parts...)...)
	if out.Op == expr.Ne {
		return expr.Negate(equal), nil
	}
	return equal, nil
}

// leftOut reports that a write of v to n would leave the attribute absent, or that v is as empty as what it leaves out.
func leftOut(s *schema.Schema, n *schema.Node, v any) bool {
	av, err := encode(s, n, v, false)
	if err != nil || av == nil {
		return err == nil
	}
	k := n.Type.Kind()
	return n.Tag.OmitEmpty && (k == reflect.Slice || k == reflect.Map) && item.Empty(av) || n.Top && item.Absent(av) && nativeIndexPart(s, n.Attr)
}

// emptyValues are what may be stored at n beside an empty value of n itself: NULL, as which a field without omitempty
// stores nil, and the empty collection.
func emptyValues(n *schema.Node) []types.AttributeValue {
	values := []types.AttributeValue{&types.AttributeValueMemberNULL{Value: true}}
	switch t := n.Type; t.Kind() {
	case reflect.Map:
		values = append(values, &types.AttributeValueMemberM{Value: item.Item{}})
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return append(values, &types.AttributeValueMemberB{Value: []byte{}})
		}
		values = append(values, &types.AttributeValueMemberL{Value: []types.AttributeValue{}})
	}
	return values
}

// emptySet reports that av is a set without elements, which DynamoDB does not have.
func emptySet(av types.AttributeValue) bool {
	switch av.(type) {
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		return item.Empty(av)
	}
	return false
}

// textNode resolves a path in text, such as features.colour or items[0].qty. The first name must be an attribute of
// the model; names with a dot or a bracket need a field address or entity.MapEntry.
func textNode(s *schema.Schema, text string) (*schema.Node, error) {
	path, ok := parsePath(text)
	if !ok {
		if root := text[:max(strings.IndexAny(text, ".["), 0)]; secret(s, root) {
			text = root + "." + hiddenValue
		}
		return nil, input(s, CodePointer, nil, "the path %q is malformed; write name.name[0]", text)
	}
	a := s.Attr(path.Root())
	if a == nil {
		return nil, input(s, CodePointer, nil, "the path %q begins with an attribute that the struct does not have", text)
	}
	n := &schema.Node{Path: path[:1], Attr: a, Field: a.Field, Type: a.Type, Tag: a.Tag, Options: a.Options, Rule: a.Rule, Top: true}
	for _, step := range path[1:] {
		n = n.Inside(step)
	}
	return n, nil
}

// parseSteps parses a path that goes on from another one.
func parseSteps(text string) (expr.Path, bool) {
	if !strings.HasPrefix(text, "[") {
		return parsePath(text)
	}
	path, ok := parsePath("_" + text)
	if !ok {
		return nil, false
	}
	return path[1:], true
}

func parsePath(text string) (expr.Path, bool) {
	var path expr.Path
	for _, part := range strings.Split(text, ".") {
		name, indexes, _ := strings.Cut(part, "[")
		if name == "" || strings.Contains(name, "]") {
			return nil, false
		}
		path = append(path, expr.Step{Name: name})
		if len(indexes) == 0 {
			if strings.Contains(part, "[") {
				return nil, false
			}
			continue
		}
		for _, x := range strings.Split(strings.TrimSuffix(indexes, "]"), "][") {
			n, err := strconv.Atoi(x)
			if err != nil || n < 0 || !strings.HasSuffix(indexes, "]") {
				return nil, false
			}
			path = append(path, expr.Step{Index: n})
		}
	}
	return path, true
}

// conform brings a value given for a text path to the type of the attribute that the path names, which no compiler has
// checked. Numbers may change their Go type if nothing is lost. Values inside an attribute are taken as they are.
func conform(s *schema.Schema, n *schema.Node, t opt.Target, v any) (any, error) {
	rv := reflect.ValueOf(v)
	if t.Pointer != nil || !n.Top || !rv.IsValid() {
		return v, nil
	}
	want := n.Type
	if rv.Type().AssignableTo(want) {
		return v, nil
	}
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	if rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if rv.Type().AssignableTo(want) {
		return rv.Interface(), nil
	}
	if sameClass(rv.Type(), want) {
		got := rv.Convert(want)
		if back := got.Convert(rv.Type()); back.Interface() == rv.Interface() && (isNegative(rv) == isNegative(got)) {
			return got.Interface(), nil
		}
	}
	return nil, input(s, CodeValue, n.Attr, "a %s does not fit the field's type %s", rv.Type(), n.Type)
}

func sameClass(a, b reflect.Type) bool {
	class := func(t reflect.Type) string {
		switch k := t.Kind(); {
		case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr:
			return "number"
		case k == reflect.String || k == reflect.Bool:
			return k.String()
		}
		return t.String()
	}
	return a.ConvertibleTo(b) && class(a) == class(b)
}

func isNegative(v reflect.Value) bool {
	switch {
	case v.CanInt():
		return v.Int() < 0
	case v.CanFloat():
		return v.Float() < 0
	}
	return false
}
