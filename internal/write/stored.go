package write

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Stored is an item as it was read. Every stored item of an entity enters the library through [Open], which makes both
// forms. internal/lint allows no other reads.
type Stored struct {
	Raw  item.Item // as it stands in the table: for guards. nil if there is no item
	Item item.Item // in today's payload version: for everything else
}

// Open returns both forms of an item that was read from the table of s. An item of another entity, or of today's payload
// version, has the same form twice. Errors are of type *entitytype.UpgradeError, also for an item of a later version, and
// *entitytype.DecodeError.
func Open(s *schema.Schema, raw item.Item) (Stored, error) {
	it, err := today(s, raw)
	return Stored{raw, it}, err
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
			var page []Stored
			if err == nil {
				page, err = OpenAll(s, raw)
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

// OpenAll is [Open] for several items.
func OpenAll(s *schema.Schema, raw []item.Item) ([]Stored, error) {
	all := make([]Stored, len(raw))
	for i, it := range raw {
		var err error
		if all[i], err = Open(s, it); err != nil {
			return nil, err
		}
	}
	return all, nil
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

var (
	errTooOld = errors.New("no upgrade reads it")
	errTooNew = errors.New("a later version of the program has stored it")
)

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
		return expr.Any(s.Known, expired(s, now))
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

// today returns an item as it would be if it had been stored with today's payload version: the attributes of the first
// step's struct are replaced by those that the steps make of them.
func today(s *schema.Schema, it item.Item) (item.Item, error) {
	if it == nil || !s.HasMetadata {
		return it, nil
	}
	if name, marked := it[schema.EntityAttr].(*types.AttributeValueMemberS); marked && name.Value != s.Name {
		return it, nil
	}
	if err := CheckPayload(s, it[schema.PayloadAttr]); err != nil || !Outdated(s, it) {
		return it, err
	}
	from := PayloadOf(it)
	refused := func(err error) error { return &entitytype.UpgradeError{Entity: s.Name, From: from, Err: err} }
	steps := s.Upgrades.Starting(from)
	if steps == nil {
		return nil, refused(errTooOld)
	}
	old := reflect.New(steps[0].Old)
	if err := steps[0].Codec.Decode(it, old); err != nil {
		misfit := &entitytype.DecodeError{Entity: s.Name, Problem: "the item of an earlier payload version cannot be decoded"}
		if f, ok := err.(*item.FieldError); ok {
			misfit.Attr, misfit.Problem = f.Attr, f.Problem
		}
		return nil, misfit
	}
	v, failed, err := steps.Apply(old.Elem().Interface())
	if err != nil {
		return nil, &entitytype.UpgradeError{Entity: s.Name, From: failed, Err: err, Redacted: s.HasSecret() || s.Upgrades.HaveSecret()}
	}
	was, err := steps[0].Codec.Loose().Encode(old.Elem())
	if err == nil {
		var is item.Item
		if is, err = s.Codec.Loose().Encode(reflect.ValueOf(v)); err == nil {
			if it, err = replaced(s, &steps[0], it, was, is); err != nil {
				return nil, refused(err)
			}
			return it, nil
		}
	}
	return nil, refused(errors.New("the result cannot be stored"))
}

// replaced returns an item with the attributes of was, which step made of it, replaced by those of is. The primary key,
// the attributes that the library keeps, and those that neither struct has stay as stored.
func replaced(s *schema.Schema, step *schema.Upgrade, it, was, is item.Item) (item.Item, error) {
	out, key := item.Clone(it), KeyOf(s, it)
	for name := range was {
		if _, part := key[name]; !part && (s.Attr(name) == nil || !s.KeyPart(s.Attr(name))) && name != s.Options.TTL {
			delete(out, name)
		}
	}
	rename := false // of a part of the primary key
	for _, a := range s.Attrs {
		av := is[a.Name]
		switch {
		case a.Name == s.Options.TTL:
			continue
		case a.IsOwned && a.Role.Context == "":
			var err error
			if av, err = kept(step, a, it, av); err != nil {
				return nil, err
			}
		case s.KeyPart(a):
			if _, has := it[a.Name]; has {
				continue
			}
			rename = rename || av != nil
		}
		if av != nil && (a.Role.Context == "" || !item.Empty(av)) {
			out[a.Name] = av
		} else {
			delete(out, a.Name)
		}
	}
	if rename && !composes(s, out) {
		return nil, errors.New("the result has another primary key")
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
			return nil, nil
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

// composes reports whether the primary key of the current item that it is or belongs to is composed of its attributes.
func composes(s *schema.Schema, it item.Item) bool {
	primary, _, known := Owner(s, it)
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		if !known || !k.Written() {
			continue
		}
		text, missing, err := k.Template.Compose(it)
		if err != nil || len(missing) > 0 || !item.Equal(primary[k.Attr], item.S(text)) {
			return false
		}
	}
	return true
}
