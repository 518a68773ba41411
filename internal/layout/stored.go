package layout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Stored is an item as it was read. Every stored item of an entity enters the library through [Open], which makes both
// forms. tests/lint allows no other reads.
type Stored struct {
	Raw  item.Item // as it stands in the table: for guards. nil if there is no item
	Item item.Item // in today's payload version: for everything else
}

// Open returns both forms of an item that was read from the table of s. An item of another entity, or of today's payload version, has the
// same form twice. Errors are of type *entitytype.UpgradeError, also for an item of a later version, and *entitytype.DecodeError.
func Open(s *schema.Schema, raw item.Item) (Stored, error) {
	if raw == nil || !s.HasMetadata {
		return Stored{raw, raw}, nil
	}
	if name, marked := raw[schema.EntityAttr].(*types.AttributeValueMemberS); marked && name.Value != s.Name {
		return Stored{raw, raw}, nil
	}
	if err := CheckPayload(s, raw[schema.PayloadAttr]); err != nil || !Outdated(s, raw) {
		return Stored{raw, raw}, err
	}
	c, err := convert(s, raw)
	if err != nil {
		return Stored{Raw: raw}, err
	}
	c.findCopied(s)
	it, err := c.replaced(s)
	return Stored{raw, it}, err
}

// Decode opens an item and decodes it by the codec of a struct into the value that into points to. On an error it sets that value to zero.
func Decode(s *schema.Schema, codec *item.Codec, raw item.Item, into any) (err error) {
	v, stored := reflect.ValueOf(into), Stored{Item: raw}
	switch {
	case !s.HasMetadata:
	case v.Type() == reflect.PointerTo(s.Type):
		stored, err = Open(s, raw)
	default: // only whole items can be upgraded
		err = CheckPayload(s, raw[schema.PayloadAttr])
	}
	if err == nil {
		if err = codec.Decode(stored.Item, v); err == nil {
			return nil
		}
		err = Misfit(s, "the item cannot be decoded", err)
	}
	v.Elem().SetZero()
	return err
}

// Misfit converts a codec's error to an *entitytype.DecodeError. problem is for one that names no attribute.
func Misfit(s *schema.Schema, problem string, err error) error {
	misfit := &entitytype.DecodeError{Entity: s.Name, Problem: problem}
	if f, ok := err.(*item.FieldError); ok {
		misfit.Attr, misfit.Problem = f.Attr, f.Problem
	}
	return misfit
}

// GetItem reads an item consistently.
func GetItem(ctx context.Context, r Reader, s *schema.Schema, table string, key item.Item) (Stored, error) {
	raw, err := r.Get(ctx, table, key, true)
	if err != nil {
		return Stored{}, err
	}
	return Open(s, raw)
}

// Pages runs a query and yields its pages, one request each, until the last page or an error. It changes in from page to
// page. The caller may change it too.
func Pages(ctx context.Context, r Reader, s *schema.Schema, in *Range) iter.Seq2[[]Stored, error] {
	return func(yield func([]Stored, error) bool) {
		for raw, err := range RawPages(ctx, r, in) {
			page := make([]Stored, len(raw))
			for i := 0; i < len(raw) && err == nil; i++ {
				page[i], err = Open(s, raw[i])
				err = OfItem(s, raw[i], err)
			}
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// RawPages is [Pages] for items of which only the keys count.
func RawPages(ctx context.Context, r Reader, in *Range) iter.Seq2[[]item.Item, error] {
	return func(yield func([]item.Item, error) bool) {
		for {
			page, err := r.ReadPage(ctx, in)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(page.Items(), nil) || len(page.Last) == 0 {
				return
			}
			in.Start = page.Last
		}
	}
}

// OfItem adds the key of an item to an error about it, which may be nil.
func OfItem(s *schema.Schema, it item.Item, err error) error {
	if err != nil {
		err = fmt.Errorf("item %s: %w", KeyText(s, it), err)
	}
	return err
}

// Items returns today's forms.
func Items(all []Stored) []item.Item {
	its := make([]item.Item, len(all))
	for i, x := range all {
		its[i] = x.Item
	}
	return its
}

// PayloadOf returns the payload version of an item; absent means 1, and malformed 0.
func PayloadOf(it item.Item) int { return payload(it[schema.PayloadAttr]) }

func payload(av types.AttributeValue) int {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return 1
	}
	v, err := strconv.Atoi(n.Value)
	if err != nil {
		return 0
	}
	return v
}

// Outdated reports whether an item, of which only the payload version counts, is upgraded when it is read.
func Outdated(s *schema.Schema, it item.Item) bool {
	return s.Upgrades != nil && PayloadOf(it) < s.Payload
}

var errTooNew = errors.New("a later version of the program has stored it")

// CheckPayload returns an *entitytype.UpgradeError for an item of a payload version above those that s reads. stored is its
// attribute with the payload version, nil if it has none.
func CheckPayload(s *schema.Schema, stored types.AttributeValue) error {
	if stored == nil || !s.HasMetadata {
		return nil
	}
	if n := payload(stored); n > s.Reads {
		return &entitytype.UpgradeError{Entity: s.Name, From: n, Err: errTooNew}
	}
	return nil
}

// Readable holds for items whose payload version is not above those that s reads, and if there is no item or it has expired.
func Readable(s *schema.Schema, now time.Time) expr.Cond {
	if s.Expires {
		return expr.Any(s.Known, HasExpired(s, now))
	}
	return s.Known
}

// UpToDate holds for items of today's payload version or a later one that s reads, and if there is no item or it has expired. Without upgrades it is
// [Readable].
func UpToDate(s *schema.Schema, now time.Time) expr.Cond {
	if s.Upgrades == nil {
		return Readable(s, now)
	}
	path, is := expr.Attr(schema.PayloadAttr), item.N(strconv.Itoa(s.Payload))
	today := expr.Compare(expr.Eq, path, is)
	if s.Reads > s.Payload {
		today = expr.Compare(expr.Between, path, is, item.N(strconv.Itoa(s.Reads)))
	}
	return expr.Any(AbsentOrExpired(s, now), today)
}

// conversion holds an item after the steps of an upgrade.
type conversion struct {
	it      item.Item // as it is stored
	steps   schema.Upgrades
	old     reflect.Value   // of the first step's struct
	value   reflect.Value   // of today's
	was, is item.Item       // as they encode them
	copied  map[string]bool // the attributes that are made of a stored zero with another name
}

// refused returns the error of an item that cannot be upgraded.
func refused(s *schema.Schema, it item.Item, problem string) error {
	return &entitytype.UpgradeError{Entity: s.Name, From: PayloadOf(it), Err: errors.New(problem)}
}

// convert applies the steps to an item of an earlier payload version. Errors: *entitytype.DecodeError, *entitytype.UpgradeError.
func convert(s *schema.Schema, it item.Item) (*conversion, error) {
	c := &conversion{it: it, steps: s.Upgrades.Starting(PayloadOf(it))}
	if c.steps == nil {
		return nil, refused(s, it, "no upgrade reads it")
	}
	if it[schema.OmittedAttr] != nil { // there is nothing that a step could be applied to
		c.old, c.value, c.was, c.is = reflect.Zero(c.steps[0].Old), reflect.Zero(s.Type), it, it
		return c, nil
	}
	old, codec := reflect.New(c.steps[0].Old), &c.steps[0].Codec
	c.old = old.Elem()
	if err := codec.Decode(it, old); err != nil {
		return nil, Misfit(s, "the item of an earlier payload version cannot be decoded", err)
	}
	was, errWas := codec.Loose().Encode(c.old) // before a step changes what its argument points to
	v, failed, err := c.steps.Apply(c.old.Interface())
	if err != nil {
		secret := slices.ContainsFunc(s.Upgrades, func(u schema.Upgrade) bool { return slices.ContainsFunc(u.Attrs, (*schema.Attr).IsSecret) })
		return nil, &entitytype.UpgradeError{Entity: s.Name, From: failed, Err: err, Redacted: s.HasSecret() || secret}
	}
	c.value = reflect.ValueOf(v)
	is, errIs := s.Codec.Loose().Encode(c.value)
	if errWas != nil || errIs != nil {
		return nil, refused(s, it, "the result cannot be stored")
	}
	c.was, c.is = was, is
	return c, nil
}

// isZero reports whether the field of a has its zero value in v, or is in a nil embedded pointer.
func isZero(a *schema.Attr, v reflect.Value) bool {
	fv, err := v.FieldByIndexErr(a.Index)
	return err != nil || fv.IsZero()
}

// findCopied finds the zeros that are made of a zero that stands under a name that today's struct lacks: those that become
// something else if another value stands there. Steps that fail then show nothing.
func (c *conversion) findCopied(s *schema.Schema) {
	c.copied = map[string]bool{}
	for _, from := range c.steps[0].Attrs {
		other := another(from, c.it[from.Name])
		if other == nil || s.Attr(from.Name) != nil || !isZero(from, c.old) {
			continue
		}
		changed := item.Clone(c.it)
		changed[from.Name] = other
		func() {
			defer func() { _ = recover() }()
			x, err := convert(s, changed)
			for _, a := range s.Attrs {
				c.copied[a.Name] = c.copied[a.Name] || err == nil && isZero(a, c.value) && !isZero(a, x.value)
			}
		}()
	}
}

// another returns a value that differs from a zero, in the form in which a is stored; nil for NULL and lists.
func another(a *schema.Attr, av types.AttributeValue) types.AttributeValue {
	switch v := av.(type) {
	case *types.AttributeValueMemberM:
		m := item.Clone(v.Value)
		for name, inner := range m {
			m[name] = cmp.Or(another(&schema.Attr{}, inner), inner)
		}
		return &types.AttributeValueMemberM{Value: m}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: true}
	case *types.AttributeValueMemberN:
		return item.N("1")
	case *types.AttributeValueMemberS:
		if a.Time {
			v, _ := a.Format.Value(time.Unix(1, 0))
			return v
		}
		return item.S("1")
	}
	return nil
}

// replaced returns the item as it would be if it had been stored with today's payload version: with the attributes of the first step's
// struct replaced by those that the steps made. The primary key, the attributes that the library keeps, and those that neither struct has stay as stored.
func (c *conversion) replaced(s *schema.Schema) (item.Item, error) {
	step, out, key := &c.steps[0], item.Clone(c.it), KeyOf(s, c.it)
	for _, a := range step.Attrs {
		if _, part := key[a.Name]; !part && s.Attr(a.Name) == nil && a.Name != s.Options.TTL {
			delete(out, a.Name)
		}
	}
	rename := false // of a part of the primary key
	for _, a := range s.Attrs {
		av := c.is[a.Name]
		switch {
		case a.Name == s.Options.TTL:
			continue
		case a.IsOwned && a.Role.Context == "":
			var err error
			if av, err = kept(step, a, c.it, av); err != nil {
				return nil, refused(s, c.it, err.Error())
			}
		case s.KeyPart(a):
			if _, has := c.it[a.Name]; has {
				continue
			}
			rename = rename || av != nil
		default:
			// An attribute that the steps do not change, or that is a zero of which they know nothing, stays as it is stored, or absent.
			_, stored := c.it[a.Name]
			declared := step.Keeper(a) != nil
			same := declared && item.Equal(c.was[a.Name], c.is[a.Name])
			if !c.copied[a.Name] && (same || isZero(a, c.value) && !(stored && declared)) {
				continue
			}
			av = Graft(c.it[a.Name], c.was[a.Name], av)
		}
		if av != nil && (a.Role.Context == "" || !item.Empty(av)) {
			out[a.Name] = av
		} else {
			delete(out, a.Name)
		}
	}
	if rename {
		primary, _, known := Owner(s, out)
		for _, k := range []*schema.KeyDef{s.PK, s.SK} {
			if !known || !k.Written() {
				continue
			}
			text, missing, err := k.Template.Compose(out)
			if err != nil || len(missing) > 0 || !item.Equal(primary[k.Attr], item.S(text)) {
				return nil, refused(s, c.it, "the result has another primary key")
			}
		}
	}
	out[schema.PayloadAttr] = item.N(strconv.Itoa(s.Payload))
	return out, nil
}

// kept returns what the library has stored for a, which it keeps: under the name and in the format of the step's struct, or
// under today's. If it has stored nothing, that is what the steps gave.
func kept(step *schema.Upgrade, a *schema.Attr, it item.Item, given types.AttributeValue) (types.AttributeValue, error) {
	old := step.Keeper(a)
	if old == nil {
		old = a
	}
	av, has := it[old.Name]
	switch {
	case !has && a.Time:
		if t, err := a.Format.FromValue(given); err != nil || t.IsZero() {
			return nil, nil //nolint:nilerr // the steps gave no time
		}
		return given, nil
	case !has && item.Equal(given, item.N("0")):
		return nil, nil
	case !has:
		return given, nil
	case !a.Time || !old.Time || a.Format == old.Format:
		return av, nil
	}
	t, err := old.Format.FromValue(av)
	if err == nil {
		av, err = a.Format.Value(a.Format.Truncate(t))
	}
	if err != nil {
		return nil, fmt.Errorf("the attribute %q is not a time", old.Name)
	}
	return av, nil
}
