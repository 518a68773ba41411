package versioned

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

const (
	longestVersion = 13 // ~ and 12 digits
	maxVersion     = 999_999_999_999
)

// snapshotSuffix returns what follows the current item's sort key in that of the snapshot of version n.
func snapshotSuffix(n int64) string { return schema.SnapshotInfix + versionText(n) }

// versionText returns a version, up to maxVersion, as it stands in a sort key: texts sort as the numbers do.
func versionText(n int64) string {
	text := strconv.FormatInt(n, 10)
	if n <= 9_999_999 {
		return "0000000"[:7-len(text)] + text
	}
	return "~" + "000000000000"[:12-len(text)] + text
}

// state is a state of an item that gets a snapshot.
type state struct {
	item    item.Item
	deleted bool
	current bool      // the item is in this state from now on
	guard   expr.Cond // of the put
}

// Snapshots returns the puts of the state that m replaces and of the state that it makes, if m makes a new item or deletes
// one, or if items expire.
func (r *retain) Snapshots(m *plan.Mutation) ([]plan.Action, error) {
	s := m.Op.Schema
	absent := s.Absent
	var states []state
	switch m.Kind {
	case plan.Created:
		states = []state{{item: m.New, current: true, guard: absent}}
	case plan.Updated:
		states = []state{endedState(m)}
		if s.Expires { // DynamoDB removes the item without a trace of its last state
			states = append(states, state{item: m.New, current: true, guard: absent})
		}
	case plan.Deleted, plan.SoftDeleted:
		states = []state{endedState(m)}
		if m.Kind == plan.Deleted || expires(s, m.Copy) {
			x := state{item: m.DeletedState, deleted: true, guard: absent}
			if s.Profile.VersionsRestart() {
				x.guard = absentOrSame(s, m.DeletedState)
			}
			states = append(states, x)
		}
	case plan.Restored:
		if !expires(s, m.Copy) && m.In.Learned.Taken == nil { // a copy without a version of its own can have no snapshot
			states = []state{{item: m.DeletedState, deleted: true, guard: absentOrSameDeleted(s, m.DeletedState)}}
		}
	}
	parts := make([]plan.Action, len(states))
	for i, x := range states {
		var err error
		if parts[i], err = r.snapshotPut(m, x); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// endedState returns the state that m replaces, under a version that its history has not used yet.
func endedState(m *plan.Mutation) state {
	s := m.Op.Schema
	n := m.In.HistoryVersion(s, m.Old)
	if n == layout.StoredVersion(s, m.Old) {
		return state{item: m.Old, guard: absentOrSame(s, m.Old)}
	}
	it := item.Clone(m.Old)
	layout.SetVersion(s, it, n)
	return state{item: it, guard: s.Absent}
}

// expires reports whether a deleted copy expires. If it does, the deleted state needs a snapshot.
func expires(s *schema.Schema, copied item.Item) bool {
	_, ok := copied[s.Options.TTL]
	return ok
}

// absentOrSame holds if there is no snapshot, or one of this very state: the first one is put when the item is created. A touch changes the
// write id of an item but neither its version nor its updated_at. In a shared table the version, which is the key, has to suffice: where a
// put of effect-dynamodb restarted the versions at 1, the history is overwritten from there.
func absentOrSame(s *schema.Schema, it item.Item) expr.Cond {
	either := []expr.Cond{s.Absent}
	proof := func(name string) {
		if av, ok := it[name]; ok {
			either = append(either, expr.Compare(expr.Eq, expr.Attr(name), av))
		}
	}
	if proof(schema.WriteAttr); len(either) == 1 {
		proof(s.Version.Name) // written without write ids
	}
	if a := layout.StateClock(s); a != nil {
		proof(a.Name)
	}
	for i := range s.Upgrades { // the snapshot stays in its form when the item is upgraded
		if u := &s.Upgrades[i]; u.Clock != nil {
			either = append(either, sameBefore(s, u, it))
		}
	}
	return expr.Any(either...)
}

// sameBefore holds for a snapshot in the form that u upgrades if it is of the state of it: if the upgrade turns its state
// clock into that of it. It is empty if no snapshot in that form can be.
func sameBefore(s *schema.Schema, u *schema.Upgrade, it item.Item) expr.Cond {
	a, old := layout.StateClock(s), u.Clock
	low, has := it[a.Name]
	high := low
	if has && a.Format != old.Format { // the upgrade truncates times of a finer format
		t, err := a.Format.FromValue(low)
		if has = err == nil && old.Format.Exact(t); has {
			var errLow, errHigh error
			low, errLow = old.Format.Value(t)
			high, errHigh = old.Format.Value(t.Add(a.Format.Unit() - 1))
			has = errLow == nil && errHigh == nil
		}
	}
	if !has {
		return expr.Cond{}
	}
	form := expr.Compare(expr.NotExists, expr.Attr(schema.PayloadAttr))
	if u.From > 1 {
		form = expr.Compare(expr.Eq, expr.Attr(schema.PayloadAttr), item.N(strconv.Itoa(u.From)))
	}
	return expr.All(form, expr.Compare(expr.Between, expr.Attr(old.Name), low, high))
}

// absentOrSameDeleted is absentOrSame for a deleted state. In a shared table the version proves nothing, but the time of the deletion does.
func absentOrSameDeleted(s *schema.Schema, it item.Item) expr.Cond {
	if !s.Profile.VersionsRestart() {
		return absentOrSame(s, it)
	}
	name, _ := layout.DeletedAttr(s)
	return expr.Any(s.Absent, expr.Compare(expr.Eq, expr.Attr(name), it[name]))
}

// snapshotPut returns the put of a state's snapshot. Its error is a *entitytype.InputError for a stored version out of range.
func (r *retain) snapshotPut(m *plan.Mutation, x state) (plan.Action, error) {
	s, n := m.Op.Schema, layout.StoredVersion(m.Op.Schema, x.item)
	if n < 0 || n > maxVersion {
		return plan.Action{}, &entitytype.InputError{Code: bind.CodeValue, Type: s.Type.String(), Field: s.Version.Field, Problem: "the stored version is not a number from 0 to 999999999999"}
	}
	it := layout.RelatedItem(s, x.item, snapshotSuffix(n), layout.SnapshotKind)
	if at := writtenAt(s, x.item); at != nil && s.HasMetadata {
		it[schema.AtAttr] = at
	}
	if x.deleted {
		it[schema.DeletedAttr] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if end := layout.End(s, x.item); end != nil {
		it[schema.EndsAttr] = end
	}
	if until := r.keptUntil(s, x, m.In.Now); until != nil {
		it[s.Options.TTL] = until
	}
	it, err := bind.Kept(s, it)
	return plan.Action{
		Kind: plan.Put, Table: m.Op.Table, Key: layout.KeyOf(s, it), Item: it, Cond: x.guard, Refusal: taken{m},
	}, err
}

// taken is the Refusal of the put of a snapshot: another item that had this key has one of that version, so the plan was not made from the
// newest state.
type taken struct{ *plan.Mutation }

func (x taken) Refused(_ plan.Failure, in *plan.Input) plan.Resolution {
	switch s := x.Op.Schema; x.Kind {
	case plan.Created: // which reads the history in any case
	case plan.Restored:
		in.Learned.Taken = append(in.Learned.Taken, layout.StoredVersion(s, x.Copy))
	default:
		in.Learned.Taken = append(in.Learned.Taken, layout.StoredVersion(s, x.Old))
	}
	return plan.Resolution{Replan: sentinel.ErrConflict}
}

// keptUntil returns the time to live of a state's snapshot: ttl after the state ended, which is now, or, for the state that
// the item is in, when the item expires. It is nil for never.
func (r *retain) keptUntil(s *schema.Schema, x state, now time.Time) types.AttributeValue {
	ended := now.Unix()
	if x.current {
		end := layout.End(s, x.item)
		if end == nil {
			return nil
		}
		if t, err := key.Unix.FromValue(end); err == nil { // else another program wrote it
			ended = max(ended, t.Unix())
		}
	}
	if r.ttl == 0 {
		return nil
	}
	return item.N(strconv.FormatInt(ended+int64(r.ttl/time.Second), 10))
}

// writtenAt returns when a state was written, as stored in the attribute _at; nil without updated_at.
func writtenAt(s *schema.Schema, it item.Item) types.AttributeValue {
	a := s.UpdatedAt
	if a == nil {
		return nil
	}
	t, err := a.Format.FromValue(it[a.Name])
	if err != nil {
		return nil
	}
	at, err := s.Options.Precision.Value(s.Options.Precision.Truncate(t))
	if err != nil {
		return nil
	}
	return at
}
