package check

import (
	"fmt"
	"time"
)

// UTCSeconds is an instant as RFC 3339 text in UTC with whole seconds: "2026-04-22T12:00:00Z", always 20 bytes long, so
// that the order of texts is that of time. For a time.Time the tag `entity:"time=s"` does the same and needs no check.
type UTCSeconds string

const utcSeconds = "2006-01-02T15:04:05Z"

// Validate returns an *[Error] with [RuleUTCSeconds] unless s is a time that exists, in that form.
func (s UTCSeconds) Validate() error {
	// Parse alone would take a fraction of a second and hours of one digit.
	if t, err := time.Parse(utcSeconds, string(s)); err == nil && t.Format(utcSeconds) == string(s) {
		return nil
	}
	return &Error{RuleUTCSeconds, "a time as YYYY-MM-DDTHH:MM:SSZ is needed"}
}

// UnixSeconds returns an *[Error] with [RuleUnixSeconds] unless s, a count of seconds since 1970, is from first to last,
// both included. A count of milliseconds given by mistake lies thousands of years after any date that is meant, so a last
// that is a date of this millennium refuses it.
func UnixSeconds[I ~int64](s I, first, last time.Time) error {
	if int64(s) >= ceil(first.Unix(), first.Nanosecond()) && int64(s) <= last.Unix() {
		return nil
	}
	return outside(RuleUnixSeconds, "seconds", first, last)
}

// UnixMillis returns an *[Error] with [RuleUnixMillis] unless ms, a count of milliseconds since 1970, is from first to
// last, both included. A count of seconds given by mistake is a date in January 1970.
func UnixMillis[I ~int64](ms I, first, last time.Time) error {
	if int64(ms) >= ceil(first.UnixMilli(), first.Nanosecond()%1e6) && int64(ms) <= last.UnixMilli() {
		return nil
	}
	return outside(RuleUnixMillis, "milliseconds", first, last)
}

// ceil is the first whole unit that is not before an instant of units and a rest.
func ceil(units int64, rest int) int64 {
	if rest > 0 {
		return units + 1
	}
	return units
}

func outside(rule Rule, unit string, first, last time.Time) error {
	return &Error{rule, fmt.Sprintf("%s since 1970 of a time from %s to %s are needed", unit,
		first.UTC().Format(time.RFC3339Nano), last.UTC().Format(time.RFC3339Nano))}
}
