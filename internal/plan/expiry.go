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

// occasion is what kind of write brings a stamp up to date.
type occasion int

const (
	onChange  occasion = iota // an update
	onMerge                   // an upsert
	onReplace                 // a put
)

// chosen takes a stamp that is none (absent, or zero) out of the changes of a write of whole values, where it means that
// the caller chose none. In an update it takes the stamp away.
func chosen(s *schema.Schema, changes []expr.Change, on occasion) ([]expr.Change, error) {
	x := expirySetter(s)
	if x == nil {
		return changes, nil
	}
	var kept []expr.Change
	for _, c := range changes {
		set := c.Kind == expr.Set || c.Kind == expr.SetIfAbsent
		if set && c.Path.Root() == x.Stamps() {
			if err := countsSeconds(s, s.Attr(x.Stamps()), c.Value); err != nil {
				return nil, err
			}
		}
		if c.Path.Root() != x.Stamps() || c.Kind != expr.Remove && (!set || x.Chosen(c.Value)) {
			kept = append(kept, c)
			continue
		}
		switch {
		case on != onChange:
		case c.Kind == expr.SetIfAbsent:
			return nil, input(s, CodeValue, s.Attr(x.Stamps()), "an empty value is not stored here")
		default:
			kept = append(kept, expr.Change{Kind: expr.Remove, Path: c.Path})
		}
	}
	return kept, nil
}

// stampChanges returns what brings the stamp of an item in step with changes, those of what the library keeps among them;
// known are the parts of the item's key. needRead is set when that depends on the stored item.
func stampChanges(s *schema.Schema, changes []expr.Change, known item.Item, in Input, on occasion) (extra []expr.Change, needRead bool, err error) {
	x := expirySetter(s)
	if x == nil || changeOf(changes, x.Stamps()) != nil {
		return nil, false, nil
	}
	path, from := expr.Attr(x.Stamps()), x.From()
	stamp := func(kind expr.Kind, it item.Item) ([]expr.Change, bool, error) {
		av, err := stampOf(s, x, it, in)
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
		case on == onReplace:
			return stamp(expr.Set, nil)
		case !x.Derives():
		case on == onMerge:
			return stamp(expr.SetIfAbsent, nil)
		}
		return nil, false, nil
	}
	switch c := changeOf(changes, from.Name); {
	case c != nil && c.Kind == expr.Remove:
		return stamp(expr.Set, nil)
	case c != nil && c.Kind == expr.Set && len(c.Path) == 1:
		return stamp(expr.Set, item.Item{from.Name: c.Value})
	case c != nil:
		return nil, true, nil
	case on == onChange:
		return nil, false, nil
	case s.KeyPart(from):
		return stamp(expr.Set, known)
	}
	return nil, on == onReplace, nil // a put leaves out only what is written once, and that stays as stored
}

func changeOf(changes []expr.Change, name string) *expr.Change {
	for i, c := range changes {
		if c.Path.Root() == name {
			return &changes[i]
		}
	}
	return nil
}

// stampNew stamps an item that comes into being, unless the caller chose a stamp, in the value or by one of changes.
func stampNew(s *schema.Schema, it item.Item, changes []expr.Change, in Input) error {
	x := expirySetter(s)
	if x == nil || x.Chosen(it[x.Stamps()]) || changeOf(changes, x.Stamps()) != nil {
		return nil
	}
	return setStamp(s, x, it, in)
}

// restamp brings the stamp of it in step after changes to the item that was read.
func restamp(s *schema.Schema, it item.Item, in Input, changes []expr.Change, on occasion) error {
	x := expirySetter(s)
	if x == nil || changeOf(changes, x.Stamps()) != nil || !x.Derives() && on != onReplace {
		return nil
	}
	from := x.From()
	if from == nil {
		if _, stamped := it[x.Stamps()]; on == onReplace || on == onMerge && !stamped {
			return setStamp(s, x, it, in)
		}
		return nil
	}
	c := changeOf(changes, from.Name)
	if on == onReplace || on == onMerge && s.KeyPart(from) || c != nil && c.Kind == expr.Set || !item.Equal(it[from.Name], in.Image[from.Name]) {
		return setStamp(s, x, it, in)
	}
	return nil
}

func setStamp(s *schema.Schema, x ExpirySetter, it item.Item, in Input) error {
	av, err := stampOf(s, x, it, in)
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

// stampOf is the stamp of an item with the attributes in it.
func stampOf(s *schema.Schema, x ExpirySetter, it item.Item, in Input) (av types.AttributeValue, err error) {
	from := x.From()
	if from == nil {
		return x.Stamp(nil, in.Now)
	}
	if from.Format == key.Unix {
		if err := countsSeconds(s, from, it[from.Name]); err != nil {
			return nil, err
		}
	}
	if av, err = x.Stamp(it[from.Name], in.Now); err != nil {
		return nil, valueError(s, from, err)
	}
	return av, countsSeconds(s, from, av)
}

// firstMilliseconds is the count from which on a stamp is taken to count milliseconds: in seconds it is a day of the year
// 5138, in milliseconds one of 1973. DynamoDB would take it for seconds, and the item would never expire.
const firstMilliseconds = 1e11

// countsSeconds refuses a value of a that is too great for a count of seconds; a is nil when the struct has no such field.
func countsSeconds(s *schema.Schema, a *schema.Attr, av types.AttributeValue) error {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return nil
	}
	if f, err := strconv.ParseFloat(n.Value, 64); err != nil || math.Abs(f) < firstMilliseconds {
		return nil
	}
	return input(s, CodeExpiryUnit, a, "the item would expire after the year 5137: a count of milliseconds was given where seconds are meant, or the tag names another unit than the value has")
}

// stamped reports that a is the attribute of the stamp.
func stamped(s *schema.Schema, a *schema.Attr) bool {
	x := expirySetter(s)
	return x != nil && x.Stamps() == a.Name
}
