package timeline

import (
	"hash/fnv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// tally is a digest of the events of a group that were accepted lately: for each minute, in seconds since 1970, the sum of
// the marks of the events that were accepted or touched in it. Two tallies of one minute are equal when the events are the
// same, however many there are. It is how a catch-up knows whether a row has what it reads again.
type tally map[int64]uint64

// unseen is the minute of events that do not tell when they were accepted. A catch-up reads all of them.
var noAcceptTime = minuteOf(time.Time{})

func minuteOf(t time.Time) int64 { return t.Truncate(time.Minute).Unix() }

// moment is when an event was accepted, or its state was touched, which may be long after: a catch-up has to look at it again
// from then on.
func (r *record) lastAccept() time.Time {
	touched, err := key.Nano.FromValue(r.item[schema.TouchedAttr])
	if err != nil { // never
		return r.acceptedAt
	}
	return later(r.acceptedAt, touched)
}

// mark is a short fingerprint of an event at its position: of the write that stored it as it is, where that is known.
func (r *record) fingerprint(position string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(position)) // a hash takes everything
	if w, ok := r.item[schema.WriteAttr].(*types.AttributeValueMemberS); ok {
		_, _ = h.Write([]byte(separator + w.Value))
	}
	return h.Sum64()
}

// recent is the first moment whose events a catch-up reads again, when newest is when the last known event was accepted. It
// is a whole minute, since a tally knows no parts of one.
func rereadFrom(newest time.Time) time.Time { return newest.Add(-overlap).Truncate(time.Minute) }

// since is the part of t that a catch-up reads again.
func (t tally) since(newest time.Time) tally {
	from, part := minuteOf(rereadFrom(newest)), tally{}
	for minute, sum := range t {
		if minute >= from || minute == noAcceptTime {
			part[minute] = sum
		}
	}
	return part
}
