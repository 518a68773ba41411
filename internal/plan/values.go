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

// encode encodes a Go value for the field at n. If exact is set, a time must fit its format. It returns nil for a value
// that the field's tag leaves out.
func encode(s *schema.Schema, n *schema.Node, v any, exact bool) (types.AttributeValue, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	if n.Top && n.Attr.Time {
		f := item.TimeField{Attr: n.Attr.Name, Format: n.Attr.Format, OmitEmpty: n.Tag.OmitEmpty, Exact: exact}
		av, err := f.Encode(rv)
		return av, valueError(s, n.Attr, err)
	}
	if n.Top && n.Attr.Text {
		f := n.Attr.TextField()
		f.OmitEmpty = n.Tag.OmitEmpty
		av, err := f.Encode(rv)
		return av, valueError(s, n.Attr, err)
	}
	options := n.Options
	if n.Tag.OmitEmpty {
		options += ",omitempty"
	}
	av, err := s.Codec.EncodeValue(rv, options)
	if n.Top {
		av = n.Attr.Stored(av)
	}
	return av, valueError(s, n.Attr, err)
}

// EncodeAttr encodes one attribute of struct value v. It returns nil if the attribute is absent.
func EncodeAttr(s *schema.Schema, a *schema.Attr, v reflect.Value) (types.AttributeValue, error) {
	fv, err := v.FieldByIndexErr(a.Index)
	if err != nil {
		return nil, nil // inside a nil embedded pointer
	}
	n := schema.Node{Attr: a, Type: a.Type, Tag: a.Tag, Options: a.Options, Top: true}
	return encode(s, &n, fv.Interface(), a.Exact())
}

// EncodeValue encodes a value for attribute a. An empty value is encoded too.
func EncodeValue(s *schema.Schema, a *schema.Attr, v any) (types.AttributeValue, error) {
	return encode(s, &schema.Node{Attr: a, Type: a.Type, Options: a.Options, Top: true}, v, false)
}

// codecError finds the attributes that cannot be encoded, by encoding one after the other. It drops the text of the
// cause, which may quote the value.
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
	return JoinErrors(errs)
}

// whole encodes v for a verb that writes whole values. It leaves out attributes that the library owns and empty
// attributes that are written once. It also leaves out the attributes that skip reports or
// that changes set. Required attributes must be present.
func whole(s *schema.Schema, v reflect.Value, skip func(*schema.Attr) bool, changes []expr.Change) (item.Item, error) {
	it, err := s.Codec.Encode(v)
	if err != nil {
		return nil, codecError(s, v, err)
	}
	var wrong []error
	for _, a := range s.Attrs {
		if c := changeOf(changes, a.Name); c != nil {
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
		if err := checkSeconds(s, s.Attr(x.Stamps()), it[x.Stamps()]); err != nil {
			wrong = append(wrong, err)
		}
	}
	return it, JoinErrors(append(wrong, validate(s, v, it)...))
}

// TimeValue returns t truncated to the format of time attribute a.
func TimeValue(a *schema.Attr, t time.Time) (types.AttributeValue, error) {
	return a.Format.Value(a.Format.Truncate(t))
}

// Later returns now, or one unit after the stored updated_at if that is not before now, so that updated_at always
// increases.
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

// hidden sets the hidden attributes that every write of a whole item stores.
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

// clearRestoreMark returns the removal of the mark of a restored item, which belongs to the write that restored it.
func clearRestoreMark(s *schema.Schema) []expr.Change {
	if softDeleter(s) == nil || !s.HasMetadata {
		return nil
	}
	return []expr.Change{{Kind: expr.Remove, Path: expr.Attr(schema.OpAttr)}}
}

// HiddenChanges returns the hidden attributes as changes, for an update that may create the item.
func HiddenChanges(s *schema.Schema, writeID string) []expr.Change {
	it := item.Item{}
	hidden(s, it, writeID)
	var changes []expr.Change
	for _, name := range sortedNames(it) {
		changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(name), Value: it[name]})
	}
	return append(changes, clearRestoreMark(s)...)
}

// writeIDChanges returns the change of the write id.
func writeIDChanges(s *schema.Schema, writeID string) []expr.Change {
	if !s.HasMetadata {
		return nil
	}
	return append([]expr.Change{{Kind: expr.Set, Path: expr.Attr(schema.WriteAttr), Value: item.S(writeID)}}, clearRestoreMark(s)...)
}

// SetVersion sets the version of it if the entity has one.
func SetVersion(s *schema.Schema, it item.Item, version int64) {
	if s.Version != nil {
		it[s.Version.Name] = item.N(strconv.FormatInt(version, 10))
	}
}

// StoredVersion returns the version of it, or 0 if absent.
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

// CheckSize rejects an item that is too large for DynamoDB.
func CheckSize(s *schema.Schema, it item.Item) error {
	if n := item.Size(it); n > item.MaxBytes {
		return tooLarge(s, "the item is %d bytes, %d are allowed", n, item.MaxBytes)
	}
	return nil
}

// WriteID returns the write id that an action stores, or "" for entities without hidden attributes.
func WriteID(s *schema.Schema, in Input) string {
	if s.HasMetadata {
		return in.WriteID
	}
	return ""
}
