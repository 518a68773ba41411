package plan

import (
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
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
