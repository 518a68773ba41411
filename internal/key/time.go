package key

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TimeFormat says how times are stored. Each text format has a fixed width, so that texts sort as the times do.
type TimeFormat int

// The formats of a time.
const (
	Nano      TimeFormat = iota // RFC 3339, UTC, nine fraction digits
	Micro                       // six fraction digits
	Milli                       // three fraction digits
	Second                      // no fraction
	Unix                        // a number: seconds since 1970
	UnixMilli                   // a number: milliseconds since 1970
)

// The years that have four digits.
const firstYear, lastYear = 0, 9999

var (
	errYear    = errors.New("is outside the years 0000 to 9999")
	errRFC3339 = errors.New("is not an RFC 3339 time")
	errInteger = errors.New("is not a whole number")
)

var timeFormats = []string{Nano: "ns", Micro: "us", Milli: "ms", Second: "s", Unix: "unix", UnixMilli: "unixms"}

// ParseTimeFormat returns the format that s names in a tag.
func ParseTimeFormat(s string) (TimeFormat, bool) {
	i := slices.Index(timeFormats, s)
	return TimeFormat(max(i, 0)), i >= 0
}

// String returns the name that ParseTimeFormat reads.
func (f TimeFormat) String() string {
	if f < 0 || int(f) >= len(timeFormats) {
		return "TimeFormat(" + strconv.Itoa(int(f)) + ")"
	}
	return timeFormats[f]
}

// units are the precisions of the formats.
var units = [...]time.Duration{
	Nano: time.Nanosecond, Micro: time.Microsecond, Milli: time.Millisecond, Second: time.Second, Unix: time.Second, UnixMilli: time.Millisecond,
}

// Unit returns the precision of the format.
func (f TimeFormat) Unit() time.Duration { return units[f] }

// UnitName returns the unit as Go source, for messages.
func (f TimeFormat) UnitName() string {
	return map[time.Duration]string{
		time.Nanosecond: "time.Nanosecond", time.Microsecond: "time.Microsecond", time.Millisecond: "time.Millisecond", time.Second: "time.Second",
	}[f.Unit()]
}

// Text reports whether the format is stored as a string, not as a number.
func (f TimeFormat) Text() bool { return f != Unix && f != UnixMilli }

// Truncate returns the latest time of the format that is not after t, in UTC, also before 1970.
func (f TimeFormat) Truncate(t time.Time) time.Time {
	t = t.UTC()
	// Nanosecond counts forward from the second, also before 1970.
	return t.Add(-time.Duration(t.Nanosecond()) % f.Unit())
}

// Exact reports whether the format holds t without loss.
func (f TimeFormat) Exact(t time.Time) bool { return time.Duration(t.Nanosecond())%units[f] == 0 }

// Format returns the stored text of t: RFC 3339, or the digits of a number. It truncates; callers that must not lose
// precision check Exact first. It writes RFC 3339 in a third of the time that time.Format needs.
func (f TimeFormat) Format(t time.Time) (string, error) {
	t = t.UTC()
	year, month, day := t.Date()
	if year < firstYear || year > lastYear {
		return "", errYear
	}
	end := len("0000-00-00T00:00:00.000000000")
	switch f {
	case Unix:
		return strconv.FormatInt(t.Unix(), 10), nil
	case UnixMilli:
		return strconv.FormatInt(t.UnixMilli(), 10), nil
	case Micro:
		end -= 3
	case Milli:
		end -= 6
	case Second:
		end -= 10
	}
	var b [len("0000-00-00T00:00:00.000000000Z")]byte // on the stack
	copy(b[:], "0000-00-00T00:00:00.000000000Z")
	put := func(from, to, n int) {
		for i := to - 1; i >= from; i, n = i-1, n/10 {
			b[i] = byte('0' + n%10)
		}
	}
	hour, minute, second := t.Clock()
	put(0, 4, year)
	put(5, 7, int(month))
	put(8, 10, day)
	put(11, 13, hour)
	put(14, 16, minute)
	put(17, 19, second)
	put(20, 29, t.Nanosecond())
	b[end] = 'Z'
	return string(b[:end+1]), nil
}

// Parse reads a stored text, in UTC. A text format reads any RFC 3339 time, of any offset and precision, because items may
// be older than the format; a number format reads a whole number. Errors never contain the text.
func (f TimeFormat) Parse(text string) (time.Time, error) {
	if !f.Text() {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return time.Time{}, errInteger
		}
		t, fits := f.Time(n)
		if !fits {
			return time.Time{}, errYear
		}
		return t, nil
	}
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
	if err != nil {
		return time.Time{}, errRFC3339
	}
	if t = t.UTC(); t.Year() < firstYear || t.Year() > lastYear { // by its offset
		return time.Time{}, errYear
	}
	return t, nil
}

// Time returns the time of a number under a number format, and whether it is in the years that can be stored.
func (f TimeFormat) Time(n int64) (time.Time, bool) {
	t := time.UnixMilli(n).UTC()
	if f == Unix {
		t = time.Unix(n, 0).UTC()
	}
	return t, t.Year() >= firstYear && t.Year() <= lastYear
}

var (
	errNotText   = errors.New("is not a string")
	errNotNumber = errors.New("is not a number")
)

// Value returns t, truncated to the format, as it is stored: S for the text formats, N for the others.
func (f TimeFormat) Value(t time.Time) (types.AttributeValue, error) {
	text, err := f.Format(t)
	if err != nil {
		return nil, err
	}
	if f.Text() {
		return &types.AttributeValueMemberS{Value: text}, nil
	}
	return &types.AttributeValueMemberN{Value: text}, nil
}

// FromValue reads a stored time. A number under a text format is an error, and so is a text under a number format: they do
// not compare, so one of them is a mistake.
func (f TimeFormat) FromValue(av types.AttributeValue) (time.Time, error) {
	if f.Text() {
		s, ok := av.(*types.AttributeValueMemberS)
		if !ok || s == nil {
			return time.Time{}, errNotText
		}
		return f.Parse(s.Value)
	}
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok || n == nil {
		return time.Time{}, errNotNumber
	}
	return f.Parse(n.Value)
}
