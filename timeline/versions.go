package timeline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/versioned"
)

// What happened to an item, as the last part of the names of [Versions]' events.
const (
	created  = "created"
	updated  = "updated"
	deleted  = "deleted"
	restored = "restored"
	baseline = "baseline"
)

// keeper is the feature that keeps states, and for how long.
type snapshotter interface {
	plan.Snapshotter
	Kept() time.Duration
}

// Versions reads the history of a versioned entity: each change of an item is an event, at its updated_at, whose payload is
// the item after the change and whose Before is the item before it. The events are named after the entity in lower case:
// <entity>.created, .updated, .deleted and .restored. An item whose oldest states have expired begins with .baseline, the
// oldest state that is left; when that is the one after a delete, with a .deleted that has no Before. Both count in
// Counters.Baselines.
//
// An item that is there again after it was deleted counts as created when its created_at is another one, or when the entity
// is not deleted softly, and as restored otherwise.
//
// The numbers of versions prove the order of an item's changes, updated_at does not, since writers' clocks differ. So a
// change never comes before the one that it followed: an At that lies before the last version's is moved up to that, while
// Seen stays what was stored.
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
		o.problem(`the entity needs a field with entity:"updated_at": it says when a change happened`)
	}
	if !s.HasMetadata {
		o.problem("in tables that are shared with effect-dynamodb the states of an item do not tell what happened")
	}
	if r, ok := schema.Feature[snapshotter](s); ok {
		o.retention = r.Kept()
	}
	for _, what := range []string{created, updated, deleted, restored, baseline} {
		o.eventNames = append(o.eventNames, o.eventName(what))
	}
	o.hasAcceptTimes = true
	o.filter = func(own expr.Cond, now time.Time) expr.Cond { return expr.All(own, plan.NotExpired(s, now)) }
	o.assemble = func() assembler { return &versionEvents{o: o} }
	return o.finish(opts)
}

// baseline reports that the state of an item before this one is missing: it has expired, or was written before the entity
// kept its history, or while it did not. The first state of an item has version 1, and the others follow one by one.
func (o *origin) isBaseline(r *record) bool {
	if o.kind != "versions" {
		return false
	}
	before := int64(0)
	if r.before != nil {
		before = plan.StoredVersion(o.core.Schema, r.before)
	}
	return r.version != before+1
}

// maxHeld bounds what is held of one item, its current state and its deleted copies, in bytes.
const maxHeldBytes = 64 << 20

// aside is what a state that is held takes beside its bytes.
const heldOverhead = 1 << 10

// lives makes events of the states of items: a current item, its deleted copies and its snapshots, which lie side by side
// in this order. The former are held; the snapshots come in the order of their versions.
type versionEvents struct {
	o      *origin
	owner  string      // primary key of the item
	held   []item.Item // current item and copies that no event was made of yet
	size   int         // of them
	sorted bool        // by version
	before item.Item   // state that the last event was made of
	last   time.Time   // time of that event
}

func (l *versionEvents) push(it map[string]value, give func(*record) error) error {
	primary, kind := l.ownerOf(it)
	if owner := plan.KeyID(primary); owner != l.owner {
		if err := l.flush(give); err != nil {
			return err
		}
		l.owner = owner
	}
	if kind == plan.SnapshotKind {
		return l.snapshot(it, give)
	}
	if l.size += item.Size(it) + heldOverhead; l.size > maxHeldBytes {
		return &LimitError{What: "bytes of the deleted copies of one item", Limit: maxHeldBytes}
	}
	l.held, l.sorted = append(l.held, it), false
	return nil
}

// ownerOf returns the primary key of the item that a state belongs to, and the kind of satellite that the state is, "" for
// the current item.
func (l *versionEvents) ownerOf(it item.Item) (primary item.Item, kind string) {
	s := l.o.core.Schema
	primary = plan.KeyOf(s, it)
	sk, ok := plan.SortKey(s, it)
	k, satellite := it[schema.KindAttr].(*types.AttributeValueMemberS)
	if !satellite || !ok {
		return primary, ""
	}
	for _, known := range plan.SatelliteKinds {
		if at := strings.LastIndex(sk, known.Infix); known.Kind == k.Value && at >= 0 {
			primary[s.SK.Attr] = item.S(sk[:at])
		}
	}
	return primary, k.Value
}

// snapshot gives the events of a snapshot and of what is held and came before it. A state can be there twice while it
// becomes a past one: as the current item or a copy, and as a snapshot.
func (l *versionEvents) snapshot(it item.Item, give func(*record) error) error {
	n := plan.StoredVersion(l.o.core.Schema, it)
	if err := l.emitUpTo(n, give); err != nil {
		return err
	}
	return l.emit(it, give)
}

// flush gives the events that are left of the item.
func (l *versionEvents) flush(give func(*record) error) error {
	err := l.emitUpTo(math.MaxInt64, give)
	*l = versionEvents{o: l.o}
	return err
}

// upTo gives the events of what is held, up to a version.
func (l *versionEvents) emitUpTo(n int64, give func(*record) error) error {
	s := l.o.core.Schema
	if !l.sorted {
		slices.SortStableFunc(l.held, func(a, b item.Item) int { return cmp.Compare(plan.StoredVersion(s, a), plan.StoredVersion(s, b)) })
		l.sorted = true
	}
	for len(l.held) > 0 && plan.StoredVersion(s, l.held[0]) <= n {
		it := l.held[0]
		l.held[0], l.held = nil, l.held[1:]
		l.size -= item.Size(it) + heldOverhead
		if err := l.emit(it, give); err != nil {
			return err
		}
	}
	return nil
}

// give gives the event of a state, unless it was the last one's.
func (l *versionEvents) emit(it item.Item, give func(*record) error) (err error) {
	s := l.o.core.Schema
	n := plan.StoredVersion(s, it)
	if l.before != nil && plan.StoredVersion(s, l.before) == n {
		return nil
	}
	r := &record{
		key: fmt.Sprintf("%s%019d", l.owner, n), version: n, payloadVersion: storedVersion(it), item: it, before: l.before,
		name: l.o.eventName(l.change(l.before, it)),
	}
	if l.before != nil && plan.StoredVersion(s, l.before) > n {
		return l.o.eventError(r, History, errDisorder)
	}
	if r.at, err = s.UpdatedAt.Format.FromValue(it[s.UpdatedAt.Name]); err != nil {
		return l.o.eventError(r, Decoding, err)
	}
	r.acceptedAt = r.at
	if r.at.Before(l.last) {
		r.at = l.last
	}
	l.before, l.last = it, r.at
	return give(r)
}

var errDisorder = errors.New("the version that is stored in the snapshot is not the one in its key")

// what happened between two states.
func (l *versionEvents) change(before, after item.Item) string {
	s := l.o.core.Schema
	gone := plan.IsDeletedState(s, after)
	switch {
	case before == nil && gone: // whatever came before it has expired, and the item is not there any more
		return deleted
	case before == nil && plan.StoredVersion(s, after) > 1:
		return baseline
	case before == nil:
		return created
	case gone:
		return deleted
	case !plan.IsDeletedState(s, before):
		return updated
	case s.CreatedAt != nil && !item.Equal(before[s.CreatedAt.Name], after[s.CreatedAt.Name]):
		return created
	}
	if _, soft := schema.Feature[plan.SoftDeleter](s); !soft {
		return created
	}
	return restored
}
