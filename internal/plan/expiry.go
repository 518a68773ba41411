package plan

import (
	"math"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// writeKind is the kind of write that an expiry is computed for.
type writeKind int

const (
	onUpdate writeKind = iota // an update
	onUpsert                  // an upsert
	onPut                     // a put
)

// firstMilliseconds is the count from which an expiry is taken for milliseconds. In seconds it is in the year 5138, in
// milliseconds in 1973. DynamoDB would take it for seconds, so the item would never expire.
const firstMilliseconds = 1e11

// checkSeconds rejects a value of a that is too large for a count of seconds. a is nil if the struct has no such field.
func checkSeconds(s *schema.Schema, a *schema.Attr, av types.AttributeValue) error {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return nil
	}
	if f, err := strconv.ParseFloat(n.Value, 64); err != nil || math.Abs(f) < firstMilliseconds {
		return nil
	}
	return input(s, CodeExpiryUnit, a, "the item would expire after the year 5137: a count of milliseconds was given where seconds are meant, or the tag names another unit than the value has")
}

// dropUnsetExpiry removes changes that set an absent or zero expiry, since that means the caller chose none. In an
// update such a change removes the expiry.
func dropUnsetExpiry(s *schema.Schema, changes []expr.Change, on writeKind) ([]expr.Change, error) {
	x := expirySetter(s)
	if x == nil {
		return changes, nil
	}
	var kept []expr.Change
	for _, c := range changes {
		set := c.Kind == expr.Set || c.Kind == expr.SetIfAbsent
		if set && c.Path.Root() == x.Stamps() {
			if err := checkSeconds(s, s.Attr(x.Stamps()), c.Value); err != nil {
				return nil, err
			}
		}
		if c.Path.Root() != x.Stamps() || c.Kind != expr.Remove && (!set || x.Chosen(c.Value)) {
			kept = append(kept, c)
			continue
		}
		switch {
		case on != onUpdate:
		case c.Kind == expr.SetIfAbsent:
			return nil, input(s, CodeValue, s.Attr(x.Stamps()), "an empty value is not stored here")
		default:
			kept = append(kept, expr.Change{Kind: expr.Remove, Path: c.Path})
		}
	}
	return kept, nil
}

func changeOf(changes []expr.Change, name string) *expr.Change {
	for i, c := range changes {
		if c.Path.Root() == name {
			return &changes[i]
		}
	}
	return nil
}

// expiryOf returns the expiry of it.
func expiryOf(s *schema.Schema, x ExpirySetter, it item.Item, in Input) (av types.AttributeValue, err error) {
	from := x.From()
	if from == nil {
		return x.Stamp(nil, in.Now)
	}
	if from.Format == key.Unix {
		if err := checkSeconds(s, from, it[from.Name]); err != nil {
			return nil, err
		}
	}
	if av, err = x.Stamp(it[from.Name], in.Now); err != nil {
		return nil, valueError(s, from, err)
	}
	return av, checkSeconds(s, from, av)
}

// expiryChanges returns the changes of the expiry that follow from changes, which include those of the library's own
// attributes. known are the key parts of the item. needRead is set if the expiry depends on the stored item.
func expiryChanges(s *schema.Schema, changes []expr.Change, known item.Item, in Input, on writeKind) (extra []expr.Change, needRead bool, err error) {
	x := expirySetter(s)
	if x == nil || changeOf(changes, x.Stamps()) != nil {
		return nil, false, nil
	}
	path, from := expr.Attr(x.Stamps()), x.From()
	change := func(kind expr.Kind, it item.Item) ([]expr.Change, bool, error) {
		av, err := expiryOf(s, x, it, in)
		if err != nil {
			return nil, false, err
		}
		if av == nil {
			kind = expr.Remove
		}
		return []expr.Change{{Kind: kind, Path: path, Value: av}}, false, nil
	}
	if from == nil || !x.Derives() {
		switch {
		case on == onPut:
			return change(expr.Set, nil)
		case !x.Derives():
		case on == onUpsert:
			return change(expr.SetIfAbsent, nil)
		}
		return nil, false, nil
	}
	switch c := changeOf(changes, from.Name); {
	case c != nil && c.Kind == expr.Remove:
		return change(expr.Set, nil)
	case c != nil && c.Kind == expr.Set && len(c.Path) == 1:
		return change(expr.Set, item.Item{from.Name: c.Value})
	case c != nil:
		return nil, true, nil
	case on == onUpdate:
		return nil, false, nil
	case s.KeyPart(from):
		return change(expr.Set, known)
	}
	return nil, on == onPut, nil // a put omits only attributes that are written once, which stay as stored
}

func setExpiry(s *schema.Schema, x ExpirySetter, it item.Item, in Input) error {
	av, err := expiryOf(s, x, it, in)
	if err != nil {
		return err
	}
	if av == nil {
		delete(it, x.Stamps())
	} else {
		it[x.Stamps()] = av
	}
	return nil
}

// setNewExpiry sets the expiry of a new item, unless the caller set it in the value or by one of changes.
func setNewExpiry(s *schema.Schema, it item.Item, changes []expr.Change, in Input) error {
	x := expirySetter(s)
	if x == nil || x.Chosen(it[x.Stamps()]) || changeOf(changes, x.Stamps()) != nil {
		return nil
	}
	return setExpiry(s, x, it, in)
}

// updateExpiry updates the expiry of it after changes to the item that was read.
func updateExpiry(s *schema.Schema, it item.Item, in Input, changes []expr.Change, on writeKind) error {
	x := expirySetter(s)
	if x == nil || changeOf(changes, x.Stamps()) != nil || !x.Derives() && on != onPut {
		return nil
	}
	from := x.From()
	if from == nil {
		if _, stamped := it[x.Stamps()]; on == onPut || on == onUpsert && !stamped {
			return setExpiry(s, x, it, in)
		}
		return nil
	}
	c := changeOf(changes, from.Name)
	if on == onPut || on == onUpsert && s.KeyPart(from) || c != nil && c.Kind == expr.Set || !item.Equal(it[from.Name], in.Image[from.Name]) {
		return setExpiry(s, x, it, in)
	}
	return nil
}

// isExpiry reports whether a holds the expiry.
func isExpiry(s *schema.Schema, a *schema.Attr) bool {
	x := expirySetter(s)
	return x != nil && x.Stamps() == a.Name
}
