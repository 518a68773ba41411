package timeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Event is one thing that happened, as handlers see it.
type Event[P any] struct {
	Name           string    // type of the event, such as message.created
	Source         string    // the source it comes from
	Key            string    // identity within the source
	At             time.Time // when it happened: orders a fold
	AcceptedAt     time.Time // when the store accepted it; zero where the source does not tell
	Version        int64     // of a state of a versioned entity: its number; else 0
	PayloadVersion int       // payload version that it was stored with
	Payload        P         // in today's shape; for a versioned entity the item after the change
	Before         *P        // of a versioned entity: the item before the change; nil for a new one, and for other sources
}

type value = types.AttributeValue

// record is one event of a source as it was read: undecoded, so that it can be kept as bytes.
type record struct {
	origin         int // position in the fold's sources
	name           string
	key            string
	at, acceptedAt time.Time
	version        int64
	payloadVersion int
	item, before   map[string]value
}

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

var errCorruptRecord = errors.New("timeline: the bytes are no event")

// instant is a time as bytes that sort as times do.
func formatInstant(t time.Time) (string, error) { return key.Nano.Format(t) }

// appendRecord writes r as bytes.
func appendRecord(b []byte, r *record) ([]byte, error) {
	b = binary.AppendUvarint(b, uint64(r.origin))
	b = binary.AppendVarint(b, r.version)
	b = binary.AppendVarint(b, int64(r.payloadVersion))
	meta := item.Item{"n": item.S(r.name), "k": item.S(r.key)}
	for name, t := range map[string]time.Time{"a": r.at, "s": r.acceptedAt} {
		text, err := formatInstant(t)
		if err != nil {
			return nil, err
		}
		meta[name] = item.S(text)
	}
	b = item.AppendBinary(item.AppendBinary(b, meta), r.item)
	if r.before != nil {
		b = item.AppendBinary(b, r.before)
	}
	return b, nil
}

// parseRecord reads what appendRecord wrote.
func parseRecord(b []byte) (*record, error) {
	origin, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, errCorruptRecord
	}
	b = b[n:]
	var numbers [2]int64
	for i := range numbers {
		if numbers[i], n = binary.Varint(b); n <= 0 {
			return nil, errCorruptRecord
		}
		b = b[n:]
	}
	r := &record{origin: int(origin), version: numbers[0], payloadVersion: int(numbers[1])}
	meta, b, err := item.ParseBinary(b)
	if err != nil {
		return nil, err
	}
	text := func(name string) string {
		s, _ := meta[name].(*types.AttributeValueMemberS)
		if s == nil {
			return ""
		}
		return s.Value
	}
	r.name, r.key = text("n"), text("k")
	if r.at, err = key.Nano.Parse(text("a")); err != nil {
		return nil, err
	}
	if r.acceptedAt, err = key.Nano.Parse(text("s")); err != nil {
		return nil, err
	}
	if r.item, b, err = item.ParseBinary(b); err == nil && len(b) > 0 {
		r.before, _, err = item.ParseBinary(b)
	}
	return r, err
}

// separator stands between the parts of a position and sorts before every byte of them.
const separator = "\x00"

// position is where an event stands in the order of its group: time, source and key, compared as bytes.
func position(o *origin, r *record) (string, error) {
	at, err := formatInstant(r.at)
	return at + separator + o.id + separator + r.key, err
}

// sortKey is what events are sorted by: their group, then their position; downwards turns the latter round.
func sortKey(group, position string, downwards bool) []byte {
	if downwards {
		position = reversed(position)
	}
	return []byte(group + separator + position)
}

// turned is text whose order is the reverse of that of positions: every byte is turned round, and the end sorts after
// all of them.
func reversed(position string) string {
	b := make([]byte, len(position)+1)
	for i := range len(position) {
		b[i] = 0xFF - position[i]
	}
	b[len(position)] = 0xFF
	return string(b)
}

// groupOf is the group of a sort key.
func groupOfSortKey(sortKey []byte) string {
	group, _, _ := strings.Cut(string(sortKey), separator)
	return group
}

// occurrence is a decoded event whose payload type is erased.
type decodedEvent struct {
	Event[any]
	before any // nil, or of the payload's type
}

// typed gives an occurrence its payload type back.
func typedEvent[P any](o *decodedEvent) Event[P] {
	e := Event[P]{
		Name: o.Name, Source: o.Source, Key: o.Key, At: o.At, AcceptedAt: o.AcceptedAt, Version: o.Version, PayloadVersion: o.PayloadVersion,
		Payload: o.Payload.(P),
	}
	if before, ok := o.before.(P); ok {
		e.Before = &before
	}
	return e
}

// open is the one door through which every replay gets its events: the payload is decoded in the shape that it was stored
// in, brought to today's, and named.
func (o *origin) decodeEvent(r *record) (*decodedEvent, error) {
	x := &decodedEvent{}
	x.Name, x.Source, x.Key, x.At, x.AcceptedAt, x.Version, x.PayloadVersion = r.name, o.id, r.key, r.at, r.acceptedAt, r.version, r.payloadVersion
	payload, stage, err := o.decode(o, r, r.item)
	if err != nil {
		return nil, o.eventError(r, stage, err)
	}
	x.Payload = payload
	if r.before != nil {
		before := *r
		before.payloadVersion = storedVersion(r.before)
		if x.before, stage, err = o.decode(o, &before, r.before); err != nil {
			return nil, o.eventError(r, stage, err)
		}
	}
	if o.classify != nil {
		name := o.classify(x)
		if name != "" && !slices.Contains(o.eventNames, name) {
			return nil, o.eventError(r, Naming, ErrUnknownEvent)
		}
		x.Name = name
	}
	return x, nil
}

// eventError returns err as the error of an event that stops a replay.
func (o *origin) eventError(r *record, stage Stage, err error) *EventError {
	e := &EventError{Stage: stage, Event: r.name, Source: o.id, Key: r.key, Payload: r.payloadVersion, Err: err}
	if o.core != nil { // the identity may have secret parts
		e.Key = plan.KeyText(o.core.Schema, plan.KeyOf(o.core.Schema, r.item))
	}
	return e
}

// step brings payloads from one version to the next.
type upgradeStep struct {
	from     int
	old, new reflect.Type
	codec    item.Codec
	apply    func(any) (any, error)
}

// Upgrade reads payloads that were stored with version from, the one in payload:"…" of entity.Key at that time, as an Old,
// and makes of them what version from+1 has: an Old of the next step, or the source's payload when from+1 is today's. A
// source without steps for a version refuses its payloads; steps must not leave a version out. Stored items are never
// changed. f must depend on nothing but its argument.
func Upgrade[Old, New any](from int, f func(Old) (New, error)) SourceOption {
	return func(o *origin) {
		s := upgradeStep{from: from, old: reflect.TypeFor[Old](), new: reflect.TypeFor[New]()}
		var err error
		switch {
		case f == nil:
			o.problem("the upgrade from version %d has no function", from)
			return
		case o.core == nil:
			o.problem("a feed gives payloads in today's shape")
			return
		}
		if s.codec, err = schema.CodecOf(s.old, o.core.Schema.Options); err != nil {
			o.problem("payload version %d: %v", from, err)
			return
		}
		s.apply = func(old any) (any, error) { return f(old.(Old)) }
		o.upgrades = append(o.upgrades, s)
	}
}

// stepProblems says what is wrong with the steps, and missing between them.
func (o *origin) upgradeProblems() (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for i, s := range o.upgrades {
		next, want := o.payloadVersion, o.payload
		if i+1 < len(o.upgrades) {
			next, want = o.upgrades[i+1].from, o.upgrades[i+1].old
		}
		switch {
		case s.from < 1:
			bad("payload versions begin at 1, not at %d", s.from)
		case s.from >= o.payloadVersion:
			bad(`there is an upgrade from payload version %d, and today's is %d: raise payload:"…" in entity.Key`, s.from, o.payloadVersion)
		case next == s.from:
			bad("there are two upgrades from payload version %d", s.from)
		case next != s.from+1:
			bad("the upgrade from payload version %d is missing", s.from+1)
		case s.new != want:
			bad("the upgrade from payload version %d gives a %s, the next one needs a %s", s.from, s.new, want)
		}
	}
	return problems
}

// storedVersion is the payload version of an item; absent means 1.
func storedVersion(it item.Item) int {
	n, ok := it[schema.PayloadAttr].(*types.AttributeValueMemberN)
	if !ok {
		return 1
	}
	v, err := strconv.Atoi(n.Value)
	if err != nil {
		return 0 // which no source reads
	}
	return v
}

// decodeStored is the payload of an item in the shape that it was stored in, brought to today's.
func decodeStored(o *origin, r *record, it item.Item) (any, Stage, error) {
	at := slices.IndexFunc(o.upgrades, func(s upgradeStep) bool { return s.from == r.payloadVersion })
	if r.payloadVersion != o.payloadVersion && at < 0 {
		return nil, Decoding, fmt.Errorf("%w: %d; the source reads %s", ErrPayloadVersion, r.payloadVersion, o.payloadVersions())
	}
	if at < 0 {
		v := reflect.New(o.payload)
		if err := o.core.Schema.Codec.Decode(it, v); err != nil {
			return nil, Decoding, core.Misfit(o.core, err)
		}
		return v.Elem().Interface(), "", nil
	}
	v := reflect.New(o.upgrades[at].old)
	if err := o.upgrades[at].codec.Decode(it, v); err != nil {
		return nil, Decoding, core.Misfit(o.core, err)
	}
	payload := v.Elem().Interface()
	for _, s := range o.upgrades[at:] {
		var err error
		if payload, err = s.apply(payload); err != nil {
			return nil, Upgrading, fmt.Errorf("from payload version %d: %w", s.from, err)
		}
	}
	return payload, "", nil
}

// reads lists the payload versions that a source reads.
func (o *origin) payloadVersions() string {
	if len(o.upgrades) > 0 {
		return fmt.Sprintf("%d to %d", o.upgrades[0].from, o.payloadVersion)
	}
	return strconv.Itoa(o.payloadVersion)
}
