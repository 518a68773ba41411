package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/versioned"
)

// Changes of an item, as the last part of the names of [Versions]' events.
const (
	created  = "created"
	updated  = "updated"
	deleted  = "deleted"
	restored = "restored"
	baseline = "baseline"
)

// snapshotter is the feature that stores states, and for how long.
type snapshotter interface {
	plan.Snapshotter
	Kept() time.Duration
}

// Versions reads the history of a versioned entity. Each change of an item is an event at its updated_at. The payload
// is the item after the change, and Before the item before it. Events are named <entity>.created, .updated, .deleted
// and .restored, with the entity's name in lower case. If the oldest states of an item have expired, its first event
// is .baseline, for the oldest state that is left, or .deleted without Before if that is the state after a delete.
// Both are counted in Counters.Baselines.
//
// An item that exists again after a delete is created if its created_at changed or the entity has no soft delete;
// otherwise it is restored. An item that expires makes no event; one that exists again after it expired is created.
//
// Events of an item are ordered by version, since updated_at comes from writers whose clocks differ. If updated_at is
// before that of the previous version, At is moved up to the previous one; AcceptedAt keeps the stored time.
func Versions[T any](h *versioned.History[T], opts ...SourceOption) Source {
	if h == nil {
		return &origin{problems: []string{"the history is nil"}}
	}
	o := newOrigin("versions", h, reflect.TypeFor[T]())
	if o.core == nil {
		return o
	}
	s := o.core.Schema
	if s.UpdatedAt == nil {
		o.problem(`the entity needs a field with entity:"updated_at", the time of a change`)
	}
	if !s.HasMetadata {
		o.problem("in tables shared with effect-dynamodb, the states of an item do not show what happened")
	}
	if r, ok := schema.Feature[snapshotter](s); ok {
		o.retention = r.Kept()
	}
	for _, what := range []string{created, updated, deleted, restored, baseline} {
		o.eventNames = append(o.eventNames, o.eventName(what))
	}
	o.hasAcceptTimes = true
	for _, a := range []*schema.Attr{s.Version, s.UpdatedAt, s.CreatedAt} {
		if a != nil {
			o.reads = append(o.reads, a)
		}
	}
	o.filter = func(own expr.Cond, now time.Time) expr.Cond { return expr.All(own, layout.NotExpired(s, now)) }
	o.assemble = func() assembler { return &versionEvents{o: o} }
	return o.finish(opts)
}

// isBaseline reports whether the state of an item before this one is missing: it has expired, or the entity did not
// keep its history then. The first state of an item has version 1, and versions have no gaps.
func (o *origin) isBaseline(r *record) bool {
	if o.kind != "versions" {
		return false
	}
	before := int64(0)
	if r.before != nil {
		before = o.storedVersion(r.before)
	}
	return r.version != before+1
}

// maxHeldBytes limits the bytes held of one item: its current state and its deleted copies.
const maxHeldBytes = 64 << 20

// heldOverhead is the memory of a held state besides its bytes.
const heldOverhead = 1 << 10

// versionEvents makes events of the states of items. The states of one item are neighbours: first the current item,
// then its deleted copies, then its snapshots. The first two are held; the snapshots arrive in version order.
type versionEvents struct {
	o      *origin
	owner  string      // primary key of the item
	held   []item.Item // current item and copies without an event yet
	size   int         // bytes held
	sorted bool        // held is sorted by version
	before item.Item   // state of the last event
	last   time.Time   // time of the last event
}

func (l *versionEvents) push(it map[string]value, give func(*record) error) error {
	primary, kind, known := layout.Owner(l.o.core.Schema, it)
	if !known {
		return nil
	}
	if owner := layout.KeyID(primary); owner != l.owner {
		if err := l.flush(give); err != nil {
			return err
		}
		l.owner = owner
	}
	if kind == layout.SnapshotKind {
		return l.snapshot(it, give)
	}
	if l.size += item.Size(it) + heldOverhead; l.size > maxHeldBytes {
		return &LimitError{What: "bytes of the deleted copies of one item", Limit: maxHeldBytes}
	}
	l.held, l.sorted = append(l.held, it), false
	return nil
}

// snapshot emits the held states up to a snapshot, and the snapshot. A state that is becoming a past one can be stored
// twice: as the current item or a copy, and as a snapshot.
func (l *versionEvents) snapshot(it item.Item, give func(*record) error) error {
	n := l.o.storedVersion(it)
	if err := l.emitUpTo(n, give); err != nil {
		return err
	}
	return l.emit(layout.State(l.o.core.Schema, it), give)
}

// flush emits the remaining states of the item.
func (l *versionEvents) flush(give func(*record) error) error {
	err := l.emitUpTo(math.MaxInt64, give)
	*l = versionEvents{o: l.o}
	return err
}

// emitUpTo emits the held states up to version n.
func (l *versionEvents) emitUpTo(n int64, give func(*record) error) error {
	if !l.sorted {
		slices.SortStableFunc(l.held, func(a, b item.Item) int { return cmp.Compare(l.o.storedVersion(a), l.o.storedVersion(b)) })
		l.sorted = true
	}
	for len(l.held) > 0 && l.o.storedVersion(l.held[0]) <= n {
		it := l.held[0]
		l.held[0], l.held = nil, l.held[1:]
		l.size -= item.Size(it) + heldOverhead
		if err := l.emit(it, give); err != nil {
			return err
		}
	}
	return nil
}

// emit gives the event of a state, unless the last event was of the same version.
func (l *versionEvents) emit(it item.Item, give func(*record) error) (err error) {
	if layout.Erased(it) { // it is missing like one that has expired
		return nil
	}
	s := l.o.core.Schema
	n := l.o.storedVersion(it)
	repeated := l.before != nil && l.o.storedVersion(l.before) == n
	if repeated && (n > 0 || item.Equal(it[schema.WriteAttr], l.before[schema.WriteAttr])) {
		return nil
	}
	r := &record{
		key: fmt.Sprintf("%s%019d", l.owner, n), version: n, payloadVersion: layout.PayloadOf(it), item: it, before: l.before,
		name: l.o.eventName(l.change(l.before, it)),
	}
	switch {
	case repeated:
		return l.o.eventError(r, History, errNoVersion)
	case l.before != nil && l.o.storedVersion(l.before) > n:
		return l.o.eventError(r, History, errDisorder)
	}
	if r.at, err = l.o.storedTime(s.UpdatedAt, it); err != nil {
		return l.o.eventError(r, Decoding, err)
	}
	r.acceptedAt = r.at
	if r.at.Before(l.last) {
		r.at = l.last
	}
	l.before, l.last = it, r.at
	return give(r)
}

var (
	errDisorder  = errors.New("the version stored in the snapshot is not the one in its key")
	errNoVersion = errors.New("two states of the item have no version; if an upgrade renamed it, the struct of its step needs the role version")
)

// expiredBy reports whether an item had expired in the state before when the state after was written, which then began a
// new life.
func (l *versionEvents) expiredBy(before, after item.Item) bool {
	s := l.o.core.Schema
	at, err := l.o.storedTime(s.UpdatedAt, after)
	return err == nil && !layout.Live(s, before, at)
}

// sameCreation reports whether two states have the same created_at.
func (l *versionEvents) sameCreation(before, after item.Item) bool {
	at := l.o.core.Schema.CreatedAt
	was, err := l.o.stored(at, before)
	is, err2 := l.o.stored(at, after)
	return err == nil && err2 == nil && item.Equal(was, is)
}

// change returns what happened between two states.
func (l *versionEvents) change(before, after item.Item) string {
	s := l.o.core.Schema
	gone := layout.IsDeletedState(s, after)
	switch {
	case before == nil && gone: // earlier states have expired
		return deleted
	case before == nil && l.o.storedVersion(after) > 1:
		return baseline
	case before == nil:
		return created
	case gone:
		return deleted
	case !layout.IsDeletedState(s, before) && l.expiredBy(before, after):
		return created
	case !layout.IsDeletedState(s, before):
		return updated
	case s.CreatedAt != nil && !l.sameCreation(before, after):
		return created
	}
	if _, soft := schema.Feature[plan.SoftDeleter](s); !soft {
		return created
	}
	return restored
}
