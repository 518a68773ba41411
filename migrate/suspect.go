package migrate

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// Suspect is a value whose sentinel and item did not agree when [VerifyUniqueSegment] read them. It holds the value, and
// the primary key of the item that had it. As bytes it can be sent to another program, which examines it.
type Suspect struct {
	sentinel item.Item // its primary key
	owner    item.Item // its primary key; nil if the sentinel names no item
}

// Value returns a text that suspects of the same value have in common. The value is part of it.
func (s Suspect) Value() string {
	if s.sentinel == nil {
		return ""
	}
	return layout.KeyID(s.sentinel)
}

// MarshalBinary returns the suspect as bytes.
func (s Suspect) MarshalBinary() ([]byte, error) {
	return item.AppendBinary(item.AppendBinary(nil, s.sentinel), s.owner), nil
}

// UnmarshalBinary sets the suspect from bytes that MarshalBinary made. It returns an error for others.
func (s *Suspect) UnmarshalBinary(data []byte) error {
	sentinel, rest, err := item.ParseBinary(data)
	if err != nil {
		return err
	}
	owner, _, err := item.ParseBinary(rest)
	if len(owner) == 0 {
		owner = nil
	}
	if err == nil {
		*s = Suspect{sentinel: sentinel, owner: owner}
	}
	return err
}

// VerifyUniqueSegment does the first half of [VerifyUnique] for segment i of n of the table, 0 ≤ i < n ≤ 1,000,000: it compares
// the items and sentinels of the segment with their counterparts, and calls f for each that does not agree. f is called by
// one goroutine at a time; its error ends the call. The report has counts and no findings.
//
// The other half is [ExamineUnique], which needs the suspects of one value from all segments. The calls can be made by
// several programs, so that a job can be divided among machines. It costs a strongly consistent scan of the segment, one
// read for every sentinel and one for the sentinel of every item, in batches of 100. Of the options, entity.Segments is
// refused. Errors: *entity.InputError before any request; those of f; those of requests that failed after all attempts.
func VerifyUniqueSegment(ctx context.Context, l Lookup, i, n int, f func(Suspect) error, opts ...PassOption) (UniqueReport, error) {
	c := engine.Of(l)
	if err := c.Err(); err != nil {
		return UniqueReport{}, c.Wrap("VerifySegment", "", err)
	}
	v := newVerification(l)
	if v.note = func(x claim) error { return f(Suspect{x.sentinel, x.owner}) }; f == nil {
		return UniqueReport{}, c.Wrap("VerifySegment", "", bind.Invalid(v.s, bind.CodeOption, nil, "VerifySegment needs a function"))
	}
	spec := *bind.Collect(opts)
	spec.OnlySegment(i, n)
	err := c.Measure(ctx, "VerifySegment", "", func(ctx context.Context) error { return v.read(bind.WithPace(ctx, spec.Budget), &spec) })
	return v.report, err
}

// ExamineUnique reads a value that [VerifyUniqueSegment] suspects again, its sentinel and its items in one transaction, as the
// second half of [VerifyUnique]. Give it all suspects of the value: the items of a conflict are found in several segments.
// damaged is false, and the finding empty, if everything agrees by now. It writes nothing and can be repeated. It costs a
// read of the sentinel and a transaction for every nine items. Errors: *entity.InputError if there is no suspect, or if they
// are not of one value of this constraint; those of requests that failed after all attempts.
func ExamineUnique(ctx context.Context, l Lookup, suspects ...Suspect) (found UniqueFinding, damaged bool, err error) {
	c := engine.Of(l)
	if err := c.Err(); err != nil {
		return UniqueFinding{}, false, c.Wrap("Examine", "", err)
	}
	v := newVerification(l)
	other := func(x Suspect) bool { return !v.suspectable(x) || x.Value() != suspects[0].Value() }
	if len(suspects) == 0 || slices.ContainsFunc(suspects, other) {
		return UniqueFinding{}, false, c.Wrap("Examine", "", bind.Invalid(v.s, bind.CodeOption, nil, "Examine needs suspects of one value of the constraint"))
	}
	p := &doubt{key: suspects[0].sentinel, owners: map[string]item.Item{}}
	for _, x := range suspects {
		p.add(x.owner)
	}
	err = c.Measure(ctx, "Examine", "", func(ctx context.Context) error {
		e, err := v.examine(ctx, p)
		found, damaged = e.finding, e.damaged
		return err
	})
	return found, damaged, err
}

// suspectable reports whether a suspect is of the constraint.
func (v *verification) suspectable(x Suspect) bool {
	return v.isKey(x.sentinel) && item.Equal(x.sentinel[v.s.SK.Attribute()], item.S(v.k.SortKey())) && (x.owner == nil || v.isKey(x.owner))
}

// isKey reports whether an item is a primary key of the table, whose parts are strings.
func (v *verification) isKey(key item.Item) bool {
	for _, name := range []string{v.s.PK.Attribute(), v.s.SK.Attribute()} {
		if _, ok := key[name].(*types.AttributeValueMemberS); !ok {
			return false
		}
	}
	return len(key) == 2
}
