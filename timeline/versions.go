package timeline

import (
	"fmt"
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
		return &origin{errs: []string{"the history is nil"}}
	}
	o := newOrigin("versions", h, reflect.TypeFor[T]())
	if o.core == nil {
		return o
	}
	s := o.core.Schema
	if s.UpdatedAt == nil {
		o.problem(`the entity needs a field with entity:"updated_at": it tells when a change happened`)
	}
	if !s.Hidden {
		o.problem("in tables that are shared with effect-dynamodb the states of an item do not tell what happened")
	}
	if r, ok := schema.Feature[interface{ Kept() time.Duration }](s); ok {
		o.kept = r.Kept()
	}
	for _, what := range []string{created, updated, deleted, restored, baseline} {
		o.names = append(o.names, o.event(what))
	}
	o.accepted = true
	o.filter = func(now time.Time) expr.Cond { return o.unexpired(now) }
	o.assemble = func() assembler { return &lives{o: o} }
	return o.finish(opts)
}

// baseline reports that the states of an item before this one have expired.
func (o *origin) baseline(r *record) bool {
	return o.kind == "versions" && r.before == nil && r.version > 1
}

// maxStates bounds how many states of one item are held at the same time.
const maxStates = 100_000

// lives makes events of the states of items: a current item, its deleted copies and its snapshots, which lie side by side.
type lives struct {
	o      *origin
	owner  string // primary key of the item
	states []item.Item
}

func (l *lives) push(it map[string]value, give func(*record) error) error {
	owner := plan.KeyID(l.ownerOf(it))
	if owner != l.owner {
		if err := l.flush(give); err != nil {
			return err
		}
		l.owner = owner
	}
	if len(l.states) >= maxStates {
		return &LimitError{What: "states of one item", Limit: maxStates}
	}
	l.states = append(l.states, it)
	return nil
}

// ownerOf is the primary key of the item that a state is of.
func (l *lives) ownerOf(it item.Item) item.Item {
	s := l.o.core.Schema
	primary := plan.KeyOf(s, it)
	sk, ok := plan.SortKey(s, it)
	infix := ""
	switch kind, _ := it[schema.KindAttr].(*types.AttributeValueMemberS); {
	case kind == nil || !ok:
		return primary
	case kind.Value == "v":
		infix = schema.SnapshotInfix
	case kind.Value == "d":
		infix = schema.CopyInfix
	}
	if at := strings.LastIndex(sk, infix); infix != "" && at >= 0 {
		primary[s.SK.Attr] = item.S(sk[:at])
	}
	return primary
}

// flush gives the events of the item whose states are held.
func (l *lives) flush(give func(*record) error) error {
	s := l.o.core.Schema
	states := l.states
	l.states = nil
	// A state can be there twice while it becomes a past one: as the current item or a copy, and as a snapshot.
	slices.SortStableFunc(states, func(a, b item.Item) int {
		return int(min(max(plan.StoredVersion(s, a)-plan.StoredVersion(s, b), -1), 1))
	})
	var before item.Item
	var last time.Time
	for _, it := range states {
		n := plan.StoredVersion(s, it)
		if before != nil && plan.StoredVersion(s, before) == n {
			continue
		}
		r := &record{
			key: fmt.Sprintf("%s%019d", l.owner, n), version: n, stored: storedVersion(it), item: it, before: before,
			name: l.o.event(l.what(before, it)),
		}
		var err error
		if r.at, err = s.UpdatedAt.Format.FromValue(it[s.UpdatedAt.Name]); err != nil {
			return l.o.failed(r, Decoding, err)
		}
		r.seen = r.at
		if r.at.Before(last) {
			r.at = last
		}
		last = r.at
		if err := give(r); err != nil {
			return err
		}
		before = it
	}
	return nil
}

// what happened between two states.
func (l *lives) what(before, after item.Item) string {
	s := l.o.core.Schema
	gone := wasDeleted(after)
	switch {
	case before == nil && gone: // whatever came before it has expired, and the item is not there any more
		return deleted
	case before == nil && plan.StoredVersion(s, after) > 1:
		return baseline
	case before == nil:
		return created
	case gone:
		return deleted
	case !wasDeleted(before):
		return updated
	case s.CreatedAt != nil && !item.Equal(before[s.CreatedAt.Name], after[s.CreatedAt.Name]):
		return created
	}
	if _, soft := schema.Feature[plan.Mover](s); !soft {
		return created
	}
	return restored
}

// wasDeleted reports that a state is the one after a delete.
func wasDeleted(it item.Item) bool {
	_, marked := it[schema.DeletedAttr]
	return marked || item.Equal(it[schema.KindAttr], item.S("d"))
}
