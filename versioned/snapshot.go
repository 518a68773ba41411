package versioned

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

const (
	longestVersion = 13 // ~ and 12 digits
	maxVersion     = 999_999_999_999
)

// snapshotSuffix is what the sort key of the snapshot of version n has after that of the current item.
func snapshotSuffix(n int64) string { return schema.SnapshotInfix + versionText(n) }

// versionText is a version up to maxVersion in a sort key: text order is number order.
func versionText(n int64) string {
	text := strconv.FormatInt(n, 10)
	if n <= 9_999_999 {
		return "0000000"[:7-len(text)] + text
	}
	return "~" + "000000000000"[:12-len(text)] + text
}

// Notes say what a printed plan adds for a mutation.
func (r *retain) Notes(k plan.Kind) []string {
	switch k {
	case plan.Updated:
		return []string{"put    a snapshot of the replaced state"}
	case plan.Deleted:
		return []string{"put    snapshots of the replaced and of the deleted state"}
	case plan.SoftDeleted:
		return []string{"put    a snapshot of the replaced state, and of the deleted state when its copy expires"}
	case plan.Restored:
		return []string{"put    a snapshot of the deleted state unless it exists"}
	}
	return []string{"put    a snapshot of the new state"}
}

// state is a state of an item that is to be kept.
type state struct {
	item    item.Item
	deleted bool
	permanent bool      // its snapshot does not expire
	guard   expr.Cond // of the put
}

// Snapshots returns the puts of the states that m ends, and of the new state of a new item.
func (r *retain) Snapshots(m *plan.Mutation) ([]plan.Part, error) {
	s := m.Op.Schema
	absent := plan.Absent(s)
	var states []state
	switch m.Kind {
	case plan.Created:
		states = []state{{item: m.New, permanent: true, guard: absent}}
	case plan.Updated:
		states = []state{endedState(m)}
	case plan.Deleted, plan.SoftDeleted:
		states = []state{endedState(m)}
		if m.Kind == plan.Deleted || expires(s, m.Copy) {
			x := state{item: m.Final, deleted: true, guard: absent}
			if s.Options.Interop {
				x.guard = absentOrSame(s, m.Final)
			}
			states = append(states, x)
		}
	case plan.Restored:
		if !expires(s, m.Copy) && !m.In.Overtaken() { // of a copy that has no version of its own there can be no snapshot
			states = []state{{item: m.Final, deleted: true, guard: absentOrSameDeleted(s, m.Final)}}
		}
	}
	parts := make([]plan.Part, len(states))
	for i, x := range states {
		var err error
		if parts[i], err = r.snapshotPut(m, x); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// ended is the state that m ends, under the version that its history has room for.
func endedState(m *plan.Mutation) state {
	s := m.Op.Schema
	n := m.In.Counted(s, m.Old)
	if n == plan.StoredVersion(s, m.Old) {
		return state{item: m.Old, guard: absentOrSame(s, m.Old)}
	}
	it := item.Clone(m.Old)
	plan.SetVersion(s, it, n)
	return state{item: it, guard: plan.Absent(s)}
}

// expires reports that a deleted copy will not be there for ever, so that the deleted state has a snapshot of its own.
func expires(s *schema.Schema, copied item.Item) bool {
	_, ok := copied[s.Options.TTL]
	return ok
}

// same holds when there is no snapshot, or one of this very state: the first was put when the item was created. A touch
// gives the item another write id and leaves the version and updated_at alone. In a shared table the version alone has to
// prove it, which is the key: where effect-dynamodb's put has started versions at 1 again, the history is overwritten from there.
func absentOrSame(s *schema.Schema, it item.Item) expr.Cond {
	either := []expr.Cond{plan.Absent(s)}
	proof := func(name string) {
		if av, ok := it[name]; ok {
			either = append(either, expr.Compare(expr.Eq, expr.Attr(name), av))
		}
	}
	if proof(schema.WriteAttr); len(either) == 1 {
		proof(s.Version.Name) // written without write ids
	}
	if a := plan.StateClock(s); a != nil {
		proof(a.Name)
	}
	return expr.Any(either...)
}

// sameDeleted is same for a deleted state. In a shared table the version proves nothing, the time of the deletion does.
func absentOrSameDeleted(s *schema.Schema, it item.Item) expr.Cond {
	if !s.Options.Interop {
		return absentOrSame(s, it)
	}
	name, _ := plan.DeletedAttr(s)
	return expr.Any(plan.Absent(s), expr.Compare(expr.Eq, expr.Attr(name), it[name]))
}

// put is the action that stores a snapshot.
func (r *retain) snapshotPut(m *plan.Mutation, x state) (plan.Part, error) {
	s, n := m.Op.Schema, plan.StoredVersion(m.Op.Schema, x.item)
	if n < 0 || n > maxVersion {
		return plan.Part{}, &plan.InputError{Code: plan.CodeValue, Type: s.Type.String(), Field: s.Version.Field, Problem: "the stored version is no number from 0 to 999999999999"}
	}
	it := plan.Satellite(s, x.item, snapshotSuffix(n), schema.SnapshotKind)
	if at := writtenAt(s, x.item); at != nil && s.HasMetadata {
		it[schema.AtAttr] = at
	}
	if x.deleted {
		it[schema.DeletedAttr] = &types.AttributeValueMemberBOOL{Value: true}
	}
	if r.ttl > 0 && !x.permanent {
		it[s.Options.TTL] = item.N(strconv.FormatInt(m.In.Now.Unix()+int64(r.ttl/time.Second), 10))
	}
	return plan.Part{
		Action: plan.Action{Kind: plan.Put, Table: m.Op.Table, Key: plan.KeyOf(s, it), Item: it, Cond: x.guard},
		// Another life has left a state of that version: what the plan was made from is no longer the newest, or never was.
		Resolve: func(plan.Failure) plan.Resolution {
			v := plan.Resolution{Replan: plan.ErrConflict}
			switch m.Kind {
			case plan.Created: // which reads the history in any case
			case plan.Restored:
				v.Hints = []any{plan.Overtaken{Version: plan.StoredVersion(s, m.Copy)}}
			default:
				v.Hints = []any{plan.Overtaken{Version: plan.StoredVersion(s, m.Old)}}
			}
			return v
		},
	}, plan.CheckSize(s, it)
}

// writtenAt is when a state was written, if it says so.
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
