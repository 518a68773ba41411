package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// EncodeAttr encodes one attribute of struct value v: nil when it is absent.
func EncodeAttr(s *schema.Schema, a *schema.Attr, v reflect.Value) (types.AttributeValue, error) {
	fv, err := v.FieldByIndexErr(a.Index)
	if err != nil {
		return nil, nil // inside a nil embedded pointer
	}
	n := schema.Node{Attr: a, Type: a.Type, Tag: a.Tag, Options: a.Options, Top: true}
	return encode(s, &n, fv.Interface(), a.Exact())
}

// EncodeValue encodes a value for attribute a, where an empty value is a value.
func EncodeValue(s *schema.Schema, a *schema.Attr, v any) (types.AttributeValue, error) {
	return encode(s, &schema.Node{Attr: a, Type: a.Type, Options: a.Options, Top: true}, v, false)
}

// Key composes the primary key of v, of which only the key parts need to be filled in. parts are those attributes as
// they are stored.
func Key(s *schema.Schema, v reflect.Value) (primary, parts item.Item, err error) {
	if s.Unopened != nil {
		return nil, nil, s.Unopened
	}
	parts = item.Item{}
	for _, h := range []*schema.KeyDef{s.PK, s.SK} {
		if h == nil {
			continue
		}
		for _, a := range h.Parts {
			av, err := EncodeAttr(s, a, v)
			if err != nil {
				return nil, nil, err
			}
			if err := Present(s, a, av); err != nil {
				return nil, nil, err
			}
			parts[a.Name] = av
		}
	}
	primary, err = primaryOf(s, parts)
	return primary, parts, err
}

// Present refuses a key part that is absent, or zero without the role zero.
func Present(s *schema.Schema, a *schema.Attr, av types.AttributeValue) error {
	if item.Absent(av) {
		return input(s, CodeKeyPart, a, "the key part is missing")
	}
	if !a.AllowsZero() && zeroKey(a, av) {
		return input(s, CodeKeyPart, a, `the key part is zero; if zero is a real value here, tag the field entity:"zero"`)
	}
	return nil
}

func zeroKey(a *schema.Attr, av types.AttributeValue) bool {
	if s, ok := av.(*types.AttributeValueMemberS); ok && a.Text {
		return a.TextField().Empty(s.Value)
	}
	if a.Time {
		t, err := a.Format.FromValue(av)
		return err == nil && t.IsZero()
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberN:
		return strings.Trim(v.Value, "0.") == ""
	case *types.AttributeValueMemberB:
		return len(v.Value) == 0
	case *types.AttributeValueMemberBOOL:
		return !v.Value
	}
	return false
}

// primaryOf composes the primary key from stored attributes.
func primaryOf(s *schema.Schema, it item.Item) (item.Item, error) {
	primary := item.Item{}
	for i, h := range []*schema.KeyDef{s.PK, s.SK} {
		if h == nil {
			continue
		}
		if h.Native != nil {
			a := h.Native[0]
			if item.Absent(it[a.Name]) {
				return nil, input(s, CodeKeyPart, a, "the key part is missing")
			}
			primary[a.Name] = it[a.Name]
		} else {
			text, missing, err := h.Template.Compose(it)
			if err != nil {
				return nil, KeyError(s, err)
			}
			if len(missing) > 0 || text == "" {
				return nil, input(s, CodeKeyPart, firstAttr(s, missing), "the key part is missing")
			}
			primary[h.Attr] = item.S(text)
		}
		limit := MaxPartitionKey
		if i == 1 {
			limit = MaxSortKey - s.RelatedSuffix
		}
		if n := keyBytes(primary[h.Attributes()[0]]); n > limit {
			return nil, tooLarge(s, "the %s is %d bytes long, %d are allowed", halfName(i), n, limit)
		}
	}
	return primary, nil
}

func firstAttr(s *schema.Schema, names []string) *schema.Attr {
	if len(names) == 0 {
		return nil
	}
	return s.Attr(names[0])
}

func halfName(i int) string { return [...]string{"partition key", "sort key"}[i] }

// CheckPartitionKey refuses a partition key that DynamoDB could not have.
func CheckPartitionKey(s *schema.Schema, av types.AttributeValue) error {
	if n := keyBytes(av); n > MaxPartitionKey {
		return tooLarge(s, "the partition key is %d bytes long, %d are allowed", n, MaxPartitionKey)
	}
	return nil
}

func keyBytes(av types.AttributeValue) int {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	}
	return 0
}

// KeyError makes an *InputError of an error of package key.
func KeyError(s *schema.Schema, err error) error {
	if e, ok := err.(*key.PartError); ok {
		return input(s, CodeValue, s.Attr(e.Attr), "%s", e.Problem)
	}
	return input(s, CodeValue, nil, "%v", err)
}

// SetIndexHalf composes index half h of it in place: set when all its parts are there, removed otherwise.
func SetIndexHalf(s *schema.Schema, h *schema.KeyDef, it item.Item, sortKey bool) error {
	if h.Native != nil {
		for _, a := range h.Native {
			if item.Absent(it[a.Name]) {
				delete(it, a.Name) // an empty key attribute would fail the whole write
			}
		}
		return checkNative(s, h, it, sortKey)
	}
	text, err := indexText(s, h, it, sortKey)
	if err != nil {
		return err
	}
	if text == "" {
		delete(it, h.Attr)
	} else {
		it[h.Attr] = item.S(text)
	}
	return nil
}

// indexText is the text of index half h for it, "" when a part is absent.
func indexText(s *schema.Schema, h *schema.KeyDef, it item.Item, sortKey bool) (string, error) {
	text, missing, err := h.Template.Compose(it)
	if err != nil {
		return "", KeyError(s, err)
	}
	if len(missing) > 0 {
		return "", nil
	}
	return text, checkIndexBytes(s, h, item.S(text), sortKey)
}

// checkIndexBytes refuses an index key that DynamoDB could not have.
func checkIndexBytes(s *schema.Schema, h *schema.KeyDef, av types.AttributeValue, sortKey bool) error {
	limit := MaxPartitionKey
	if sortKey {
		limit = MaxSortKey
	}
	if n := keyBytes(av); n > limit {
		return tooLarge(s, "the index key %s is %d bytes long, %d are allowed", h, n, limit)
	}
	return nil
}

// checkNative refuses native index key attributes that DynamoDB could not have.
func checkNative(s *schema.Schema, h *schema.KeyDef, it item.Item, sortKey bool) error {
	for _, a := range h.Native {
		if err := checkIndexBytes(s, h, it[a.Name], sortKey); err != nil {
			return err
		}
	}
	return nil
}

// isSortHalf reports that h is the sort half of some index.
func isSortHalf(s *schema.Schema, h *schema.KeyDef) bool {
	return slices.ContainsFunc(s.Indexes, func(x *schema.Index) bool { return x.SK == h })
}

// KeyOf is the primary key of an item.
func KeyOf(s *schema.Schema, it item.Item) item.Item {
	primary := item.Item{}
	for _, h := range []*schema.KeyDef{s.PK, s.SK} {
		for _, name := range h.Attributes() {
			primary[name] = it[name]
		}
	}
	return primary
}

// KeyID is a primary key as a Go map key: equal exactly when the keys are.
func KeyID(primary item.Item) string {
	var b strings.Builder
	for _, name := range sortedNames(primary) {
		av := primary[name]
		if n, ok := av.(*types.AttributeValueMemberN); ok {
			if d, err := item.ParseDecimal(n.Value); err == nil {
				av = item.N(d.String())
			}
		}
		b.WriteString(name + "=" + ValueText(av) + " ")
	}
	return b.String()
}

// SameCase gives a *KeyCaseError when a key part of a stored item is not that of parts. An item that lacks the attribute
// (effect-dynamodb can leave one behind) proves nothing.
func SameCase(s *schema.Schema, parts, stored item.Item) error {
	for _, a := range s.FoldedParts() {
		if av, ok := stored[a.Name]; ok && !item.Equal(av, parts[a.Name]) {
			return &KeyCaseError{Attr: a.Name}
		}
	}
	return nil
}

// sameCase is SameCase for what op may act on.
func (op *Op) sameCase(it item.Item) error {
	if op.Parts == nil {
		return nil
	}
	return SameCase(op.Schema, op.Parts, it)
}

// CaseGuard holds for items with the key parts of parts, and where there is no item.
func CaseGuard(s *schema.Schema, parts item.Item) expr.Cond {
	var guards []expr.Cond
	for _, a := range s.FoldedParts() {
		path := expr.Attr(a.Name)
		guards = append(guards, expr.Any(expr.Compare(expr.NotExists, path), expr.Compare(expr.Eq, path, parts[a.Name])))
	}
	return expr.All(guards...)
}

// KeepCase makes op fail with a *KeyCaseError where it would act on an item whose key parts differ from the given ones
// in case.
func (op *Op) KeepCase() {
	if op.Err != nil || op.Parts == nil || len(op.Schema.FoldedParts()) == 0 {
		return
	}
	plain := op.Plan
	op.Plan = func(in Input) (Step, error) {
		if err := SameCase(op.Schema, op.Parts, in.Image); err != nil {
			if op.Creates && live(op.Schema, in.Image, in.Now) {
				err = fmt.Errorf("%w: %w", &Refused{Class: ErrExists, Schema: op.Schema, Image: in.Image}, err)
			}
			return Step{}, err
		}
		step, err := plain(in)
		return op.guardCase(step), err
	}
}

// guardCase adds the guard to the actions on the op's item.
func (op *Op) guardCase(step Step) Step {
	guard, id := CaseGuard(op.Schema, op.Parts), KeyID(op.Key)
	own := make([]bool, len(step.Actions))
	actions := make([]Action, len(step.Actions))
	for i, a := range step.Actions {
		if own[i] = a.Table == op.Table && KeyID(a.Key) == id; own[i] {
			a.Cond = expr.All(a.Cond, guard)
		}
		actions[i] = a
	}
	step.Actions = actions
	resolve := step.Resolve
	step.Resolve = func(f []Failure) Resolution {
		v := resolve(f)
		for i := range f {
			err := SameCase(op.Schema, op.Parts, f[i].Image)
			switch {
			case !own[i] || !f[i].Failed() || err == nil:
			case errors.Is(v.Err, ErrExists):
				return Resolution{Err: fmt.Errorf("%w: %w", v.Err, err)}
			default:
				return Resolution{Err: err}
			}
		}
		if v.Next != nil {
			next := op.guardCase(*v.Next)
			v.Next = &next
		}
		return v
	}
	return step
}
