package lifecycle

import (
	"math"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type forStore = opt.ForStore

// After replaces what [TTL] declares as after, for times to live that come from a configuration: whole seconds, greater
// than zero. entity.New refuses it for a struct without TTL, and for a store that exists with another one.
func After(d time.Duration) entity.StoreOption {
	return forStore{Do: func(s *opt.Store) { s.After = &d }}
}

// NoExpiry is [After] for a time to live that the configuration does not set: items live for ever, except those that the caller
// gives an end in the attribute itself. The table's time to live is enabled all the same. entity.New refuses it for a struct
// without TTL, beside After, and for a store that exists without it.
func NoExpiry() entity.StoreOption {
	return forStore{Do: func(s *opt.Store) { s.NoExpiry = true }}
}

// Stamps is the attribute that items expire by.
func (e *expiry) Stamps() string { return e.attr }

// Kept is how long items live; 0: for ever.
func (e *expiry) Kept() time.Duration {
	if e.never {
		return 0
	}
	return e.after
}

// Derives reports that items get an end without their caller.
func (e *expiry) Derives() bool { return !e.never }

// From is the attribute that an item's time is counted from; nil for the clock.
func (e *expiry) From() *schema.Attr { return e.from }

// Stamp is the end of an item: after its from, or after now. It is nil for an item that does not expire.
func (e *expiry) Stamp(from types.AttributeValue, now time.Time) (types.AttributeValue, error) {
	if e.never {
		return nil, nil
	}
	if e.from != nil {
		if item.Absent(from) || !e.given(from) {
			return nil, nil
		}
		var err error
		if now, err = e.from.Format.FromValue(from); err != nil {
			return nil, &item.FieldError{Attr: e.from.Name, Problem: "an end cannot be counted from it: it " + err.Error()}
		}
		if now.IsZero() {
			return nil, nil
		}
	}
	return item.N(strconv.FormatInt(now.Unix()+int64(e.after/time.Second), 10)), nil
}

// given reports that an integer is not zero, which stands for no time.
func (e *expiry) given(av types.AttributeValue) bool {
	return !e.from.Epoch || !zero(av)
}

// Chosen reports that av is an end that a caller chose.
func (e *expiry) Chosen(av types.AttributeValue) bool {
	if item.Absent(av) || zero(av) {
		return false
	}
	t, err := key.Unix.FromValue(av)
	return err != nil || !t.IsZero()
}

// zero reports that av is the number 0.
func zero(av types.AttributeValue) bool {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	f, err := strconv.ParseFloat(n.Value, 64)
	return err == nil && math.Abs(f) == 0
}

// Notes say what a printed plan adds for a mutation.
func (e *expiry) Notes(k plan.Kind) []string {
	if k != plan.Updated || e.from == nil {
		return nil
	}
	return []string{"set    " + e.attr + " in step with " + e.from.Name}
}
