package bind

import (
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// ExpirySetter is a feature that sets when current items expire: package lifecycle, and timeline for its rows.
type ExpirySetter interface {
	// Stamps returns the name of the attribute that holds the expiry.
	Stamps() string
	// Derives reports whether items get an expiry that the caller did not set.
	Derives() bool
	// From returns the attribute that the expiry is counted from, or nil for the clock.
	From() *schema.Attr
	// Stamp returns the expiry of an item whose From attribute is from, or of one created now. It returns nil if the item does not expire.
	Stamp(from types.AttributeValue, now time.Time) (types.AttributeValue, error)
	// Chosen reports whether av is an expiry that the caller set, that is neither absent nor zero.
	Chosen(av types.AttributeValue) bool
}

func Expiry(s *schema.Schema) ExpirySetter {
	x, _ := schema.Feature[ExpirySetter](s)
	return x
}

// WriteKind is the kind of write that an expiry is computed for.
type WriteKind int

// Kinds of writes.
const (
	OnUpdate  WriteKind = iota // an update
	OnUpsert                   // an upsert
	OnPut                      // a put
	OnRewrite                  // a rewrite, whose changes have the expiry
)

// firstMilliseconds is the count from which an expiry is taken for milliseconds. In seconds it is in the year 5138, in
// milliseconds in 1973. DynamoDB would take it for seconds, so the item would never expire.
const firstMilliseconds = 1e11

// CheckSeconds rejects a value of a that is too large for a count of seconds. a is nil if the struct has no such field.
func CheckSeconds(s *schema.Schema, a *schema.Attr, av types.AttributeValue) error {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return nil
	}
	if f, err := strconv.ParseFloat(n.Value, 64); err != nil || math.Abs(f) < firstMilliseconds {
		return nil //nolint:nilerr // DynamoDB refuses what is not a number
	}
	return Invalid(s, CodeExpiryUnit, a, "the item would expire after the year 5137: a count of milliseconds was given where seconds are meant, or the tag names another unit than the value has")
}

// DropUnsetExpiry removes changes that set an absent or zero expiry, since that means the caller chose none. In an
// update such a change removes the expiry.
func DropUnsetExpiry(s *schema.Schema, changes []expr.Change, on WriteKind) ([]expr.Change, error) {
	x := Expiry(s)
	if x == nil {
		return changes, nil
	}
	var kept []expr.Change
	for _, c := range changes {
		set := c.Kind == expr.Set || c.Kind == expr.SetIfNotExists
		if set && c.Path.Root() == x.Stamps() {
			if err := CheckSeconds(s, s.Attr(x.Stamps()), c.Value); err != nil {
				return nil, err
			}
		}
		if c.Path.Root() != x.Stamps() || c.Kind != expr.Remove && (!set || x.Chosen(c.Value)) {
			kept = append(kept, c)
			continue
		}
		switch {
		case on != OnUpdate:
		case c.Kind == expr.SetIfNotExists:
			return nil, Invalid(s, CodeValue, s.Attr(x.Stamps()), "an empty value is not stored here")
		default:
			kept = append(kept, expr.Change{Kind: expr.Remove, Path: c.Path})
		}
	}
	return kept, nil
}
