package timeline

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

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
