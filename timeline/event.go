package timeline

import (
	"cmp"
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

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/item/packed"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Event is one event of a source, as handlers receive it.
type Event[P any] struct {
	Name           string    // such as message.created
	Source         string    // id of the source
	Key            string    // identity within the source
	At             time.Time // when it happened; events are folded in this order
	AcceptedAt     time.Time // when the store accepted it; zero if the source does not record it
	Version        int64     // number of the state, for a versioned entity; else 0
	PayloadVersion int       // version that the payload was stored with
	Payload        P         // upgraded to the current version; for a versioned entity, the item after the change
	Before         *P        // for a versioned entity, the item before the change; nil for a new item and for other sources
}

type value = types.AttributeValue

// record is one event of a source before its payload is decoded, so that it can be kept as bytes.
type record struct {
	origin         int // index of the source in the definition
	name           string
	key            string
	at, acceptedAt time.Time
	version        int64
	payloadVersion int
	item, before   map[string]value
}

// lastAccept returns when an event was accepted, or when its state was last touched, which may be long after. A
// catch-up has to read the event again from then on.
func (r *record) lastAccept() time.Time {
	touched, err := key.Nano.FromValue(r.item[schema.TouchedAttr])
	if err != nil { // never
		return r.acceptedAt
	}
	return later(r.acceptedAt, touched)
}

// recordID identifies an event.
type recordID struct {
	origin int
	key    string
}

func (r *record) id() recordID { return recordID{r.origin, r.key} }

// fingerprint returns a short hash of an event: of its position and, if known, of the write that stored it.
func (r *record) fingerprint(position string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(position)) // a hash takes everything
	if w, ok := r.item[schema.WriteAttr].(*types.AttributeValueMemberS); ok {
		_, _ = h.Write([]byte(separator + w.Value))
	}
	return h.Sum64()
}

var errCorruptRecord = errors.New("timeline: malformed event")

// formatInstant returns a time as text that sorts by time.
func formatInstant(t time.Time) (string, error) { return key.Nano.Format(t) }

// appendRecord encodes r.
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

// parseRecord decodes what appendRecord wrote.
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
	meta, b, err := packed.Parse(b)
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
	if r.item, b, err = packed.Parse(b); err == nil && len(b) > 0 {
		r.before, _, err = packed.Parse(b)
	}
	return r, err
}

// separator separates the parts of a position. It sorts before every other byte of them.
const separator = "\x00"

// position returns the place of an event within its group: time, source and key, compared as bytes.
func position(o *origin, r *record) (string, error) {
	at, err := formatInstant(r.at)
	return at + separator + o.id + separator + r.key, err
}

// sortKey returns the key by which events are sorted: their group, then their position, reversed if descending.
func sortKey(group, position string, downwards bool) []byte {
	if downwards {
		position = reversed(position)
	}
	return []byte(group + separator + position)
}

// reversed returns a text that sorts in the opposite order of positions: every byte is inverted, and the end sorts
// after all bytes.
func reversed(position string) string {
	b := make([]byte, len(position)+1)
	for i := range len(position) {
		b[i] = 0xFF - position[i]
	}
	b[len(position)] = 0xFF
	return string(b)
}

// groupOfSortKey returns the group in a sort key.
func groupOfSortKey(sortKey []byte) string {
	group, _, _ := strings.Cut(string(sortKey), separator)
	return group
}

// decodedEvent is a decoded event whose payload type is erased.
type decodedEvent struct {
	Event[any]
	before any // nil, or of the payload's type
}

// typedEvent restores the payload type of an event.
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

// decodeEvent decodes the payload of an event in the version in which it was stored, upgrades it to the current one,
// and names the event. All replays decode events here.
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
		before.payloadVersion = layout.PayloadOf(r.before)
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
		e.Key = layout.KeyText(o.core.Schema, layout.KeyOf(o.core.Schema, r.item))
	}
	return e
}

// Upgrade converts payloads that were stored with version from, as declared by payload:"…" of entity.Key at that
// time. Old is the payload type of that version, and New that of version from+1: the Old of the next step, or the
// source's payload type if from+1 is the current version. Steps must not skip a version. A source rejects payloads of
// versions before its first step. Stored items are not changed. If an attribute with the role version, created_at or updated_at,
// or one that the source takes as a time, has another name or format in the earlier items, the field of Old must have the same
// role. f must depend only on its argument; its error stops the replay with an *[EventError].
func Upgrade[Old, New any](from int, f func(Old) (New, error)) SourceOption {
	return func(o *origin) {
		s := schema.Upgrade{From: from, Old: reflect.TypeFor[Old](), New: reflect.TypeFor[New]()}
		switch {
		case f == nil:
			o.problem("the upgrade from version %d has no function", from)
			return
		case o.core == nil:
			o.problem("a feed cannot be upgraded: it yields payloads of the current version")
			return
		}
		if err := s.Compile(o.core.Schema); err != nil {
			o.problem("payload version %d: %v", from, err)
			return
		}
		s.Apply = func(old any) (any, error) { return f(old.(Old)) }
		o.upgrades = append(o.upgrades, s)
	}
}

// formerAttr is an attribute in items of an earlier payload version.
type formerAttr struct {
	payload int
	now     *schema.Attr
}

// findFormer finds the attributes that the source reads in items of earlier payload versions, whose structs may have other
// names and formats for them.
func (o *origin) findFormer() {
	o.former = map[formerAttr]*schema.Attr{}
	for _, step := range o.upgrades {
		for _, a := range o.reads {
			o.former[formerAttr{step.From, a}] = step.Keeper(a)
		}
	}
}

// stored returns what an item holds for an attribute that the source reads, in today's format.
func (o *origin) stored(a *schema.Attr, it item.Item) (value, error) {
	isTime := func(a *schema.Attr) bool { return a.Time || a.Epoch }
	old := a
	if len(o.upgrades) > 0 {
		old = cmp.Or(o.former[formerAttr{layout.PayloadOf(it), a}], a)
	}
	av := it[old.Name]
	if av == nil || !isTime(a) || !isTime(old) || a.Format == old.Format {
		return av, nil
	}
	t, err := old.Format.FromValue(av)
	if err != nil {
		return nil, err
	}
	return a.Format.Value(a.Format.Truncate(t))
}

// storedTime is stored for a time.
func (o *origin) storedTime(a *schema.Attr, it item.Item) (time.Time, error) {
	av, err := o.stored(a, it)
	if err != nil {
		return time.Time{}, err
	}
	return a.Format.FromValue(av)
}

// storedVersion is stored for the version.
func (o *origin) storedVersion(it item.Item) int64 {
	av, _ := o.stored(o.core.Schema.Version, it) // no time, so there is no error
	return layout.VersionIn(av)
}

// decodeStored decodes the payload of an item in the version in which it was stored, and upgrades it to the current
// one.
func decodeStored(o *origin, r *record, it item.Item) (any, Stage, error) {
	if x := bind.Omitted(o.core.Schema, it); x != nil {
		return nil, Decoding, x
	}
	steps := o.upgrades.Starting(r.payloadVersion)
	if r.payloadVersion != o.payloadVersion && steps == nil {
		return nil, Decoding, fmt.Errorf("%w: %d; the source reads %s", ErrPayloadVersion, r.payloadVersion, o.payloadVersions())
	}
	if steps == nil {
		v := reflect.New(o.payload)
		if err := o.core.Schema.Codec.Decode(it, v); err != nil {
			return nil, Decoding, layout.Misfit(o.core.Schema, "the item cannot be decoded", err)
		}
		return v.Elem().Interface(), "", nil
	}
	v := reflect.New(steps[0].Old)
	if err := steps[0].Codec.Decode(it, v); err != nil {
		return nil, Decoding, layout.Misfit(o.core.Schema, "the item cannot be decoded", err)
	}
	payload, failed, err := steps.Apply(v.Elem().Interface())
	if err != nil {
		return nil, Upgrading, fmt.Errorf("from payload version %d: %w", failed, hidden(err, o.types()...))
	}
	return payload, "", nil
}

// payloadVersions describes the payload versions that a source can read.
func (o *origin) payloadVersions() string {
	if len(o.upgrades) > 0 {
		return fmt.Sprintf("%d to %d", o.upgrades[0].From, o.payloadVersion)
	}
	return strconv.Itoa(o.payloadVersion)
}
