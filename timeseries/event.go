package timeseries

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// event is an event to be appended, encoded and checked.
type event struct {
	c       *engine.Core
	e       *events
	primary item.Item // of the current item
	sortKey string    // of the event item
	at      item.Item // its primary key
	carried item.Item // key parts, orderBy, id, the append fields that are set, and the payload version
}

var eventKind = item.S(layout.EventKind)

// newEvent encodes v. It leaves out fields that are neither key, orderBy, id nor append fields.
func newEvent(c *engine.Core, e *events, v reflect.Value) (*event, error) {
	s := c.Schema
	primary, parts, err := bind.Key(s, v, nil, nil)
	if err != nil {
		return nil, err
	}
	ev := &event{c: c, e: e, primary: primary, carried: item.Clone(parts)}
	if s.Payload > 1 {
		ev.carried[schema.PayloadAttr] = item.N(strconv.Itoa(s.Payload))
	}
	var missing []error
	for _, a := range s.Attrs {
		if !a.Append && !a.Clock {
			continue
		}
		av, err := bind.EncodeAttr(s, a, v)
		if err != nil {
			return nil, err
		}
		_, null := av.(*types.AttributeValueMemberNULL)
		switch {
		case a.Clock:
			if err := bind.CheckPart(s, a, av); err != nil {
				return nil, err
			}
		case a.IsRequired && item.Empty(av):
			missing = append(missing, bind.Invalid(s, bind.CodeRequired, a, "%s", a.WhyRequired()))
			continue
		case av == nil || null && a.Nilable():
			continue // the event does not report the field
		}
		ev.carried[a.Name] = av
	}
	if s.Checks {
		for _, a := range s.Attrs { // the fields that the event carries
			fv, err := v.FieldByIndexErr(a.Index)
			if av, carried := ev.carried[a.Name]; err == nil && carried {
				missing = append(missing, bind.ValidateField(s, a, fv, av)...)
			}
		}
	}
	if missing != nil {
		return nil, bind.JoinErrors(missing)
	}
	if err := ev.place(); err != nil {
		return nil, err
	}
	return ev, nil
}

// place sets the key of the event from what it carries.
func (ev *event) place() error {
	s := ev.c.Schema
	text, _, err := ev.e.eventKey.Template.Compose(ev.carried)
	if err != nil {
		return bind.KeyError(s, err)
	}
	if len(text) > key.MaxSortKey {
		return bind.TooLarge(s, "the sort key of the event is %d bytes long, %d are allowed", len(text), key.MaxSortKey)
	}
	ev.sortKey, ev.at = text, layout.EventKey(s, ev.primary, text)
	return nil
}

// put returns the put of the event item, under the condition that no event is stored there that has not expired. It refuses an event
// that is further in the future than maxAhead allows.
func (ev *event) put(in *plan.Input) (plan.Action, error) {
	s := ev.c.Schema
	if most := ev.e.maxAhead; most > 0 {
		t, err := ev.e.orderBy.Format.FromValue(ev.carried[ev.e.orderBy.Name])
		if err != nil {
			return plan.Action{}, err
		}
		if t.After(in.Now.Add(most)) {
			why := "; it would block later events"
			if ev.e.noCurrent {
				why = ""
			}
			return plan.Action{}, bind.Invalid(s, bind.CodeAhead, ev.e.orderBy, "the event is more than %s ahead of the clock%s", most, why)
		}
	}
	it := item.Clone(ev.carried)
	maps.Copy(it, ev.at)
	at, err := s.Options.Precision.Value(in.Now)
	if err != nil {
		return plan.Action{}, err
	}
	put := plan.Action{
		Kind: plan.Put, Table: ev.c.Table, Key: ev.at, Item: it, Cond: s.Absent,
		Final: func(stored item.Item) bool { return stored != nil }, // until a Remove, an event that is there stays, or a later one takes its place
	}
	it[schema.EntityAttr] = item.S(s.Name)
	if s.HasMetadata {
		it[schema.KindAttr], it[schema.AtAttr], it[schema.WriteAttr] = eventKind, at, item.S(in.WriteID)
		put.WriteID = in.WriteID
	}
	if ev.e.ttl > 0 {
		it[s.Options.TTL] = item.N(strconv.FormatInt(in.Now.Unix()+int64(ev.e.ttl/time.Second), 10))
		put.Cond = expr.Any(put.Cond, layout.HasExpired(s, in.Now))
	}
	return put, bind.CheckSize(s, item.Size(it))
}

// check returns the check that the event, which had not expired, is stored. Who finds it expired and replaces it brings the
// current item up to it in the same transaction.
func (ev *event) check() plan.Action {
	return plan.Action{Kind: plan.Check, Table: ev.c.Table, Key: ev.at, Cond: ev.c.Schema.Exists}
}

// equals reports whether a stored event has the same values in all append fields.
func (ev *event) equals(stored item.Item) bool {
	for _, a := range ev.c.Schema.Attrs {
		if a.Append && !item.Equal(ev.carried[a.Name], stored[a.Name]) {
			return false
		}
	}
	return true
}

// kept returns the action that goes with the put of a late event, and of others before it: the current item must be at or after it, which
// a [Series.Remove] can change, and gets a new write id, so that a removal that was planned before is planned again. In a shared table,
// which has no removals, the item must exist.
func (ev *event) kept(writeID string) plan.Action {
	s := ev.c.Schema
	a := plan.Action{Kind: plan.Check, Table: ev.c.Table, Key: ev.primary, Cond: expr.All(s.Exists, layout.CaseGuard(s, ev.carried))}
	if s.HasMetadata {
		clock, at := ev.e.orderBy.Path, ev.carried[ev.e.orderBy.Name]
		same := expr.Compare(expr.Eq, clock, at)
		if id := ev.e.id; id != nil {
			same = expr.All(same, expr.Compare(expr.Ge, id.Path, ev.carried[id.Name]))
		}
		a.Kind, a.Cond = plan.Update, expr.Any(expr.Compare(expr.Gt, clock, at), same)
		a.Changes, a.WriteID = plan.WithWriteID(s, nil, writeID)
	}
	return a
}

// opened returns the failures with images in today's payload version, or an error if one is of a series whose key differs
// from ev's in case.
func (ev *event) opened(failed []plan.Failure) ([]plan.Failure, error) {
	failed = slices.Clone(failed)
	for i := range failed {
		stored, err := layout.Open(ev.c.Schema, failed[i].Image)
		if err == nil {
			err = layout.SameCase(ev.c.Schema, ev.carried, stored.Item)
		}
		if err != nil {
			return nil, err
		}
		failed[i].Image = stored.Item
	}
	return failed, nil
}

// isOlder reports whether a current item is at or after ev, by orderBy and then by id. Without a current item, or without
// orderBy in it, ev is newer, and so it is if the times are equal and the item has no id. The error is a *DecodeError.
func (ev *event) isOlder(current item.Item) (bool, error) {
	for _, a := range ev.e.order() {
		av, ok := current[a.Name]
		if !ok {
			return false, nil
		}
		order, ok := expr.Compares(av, ev.carried[a.Name])
		if !ok {
			return false, &entitytype.DecodeError{Entity: ev.c.Schema.Name, Attr: a.Name, Problem: "the order of events is of another type than the struct's"}
		}
		if order != 0 {
			return order > 0, nil
		}
	}
	return true, nil
}

// advance returns the update that brings the current item up to evs, which are in ascending order. Of values for the same field the last
// one counts; fields that no event carries do not change. The condition is that the current item is older than first.
func advance(a *joinedAdvance, first *event) (plan.Action, error) {
	c, e, in := first.c, first.e, a.in
	s := c.Schema
	folded := item.Item{}
	for _, ev := range a.evs {
		maps.Copy(folded, ev.carried)
	}
	changes := make([]expr.Change, 0, len(folded)+4) // with room for what the library adds
	for _, a := range s.Attrs {
		av, ok := folded[a.Name]
		if _, native := first.primary[a.Name]; ok && !native {
			changes = append(changes, expr.Change{Kind: expr.Set, Path: a.Path, Value: av})
		}
	}
	if created := s.CreatedAt; created != nil {
		av, err := created.Format.Value(in.Now)
		if err != nil {
			return plan.Action{}, err
		}
		changes = append(changes, expr.Change{Kind: expr.SetIfNotExists, Path: created.Path, Value: av})
	}
	if len(s.Indexes) > 0 {
		keys, _, err := bind.SyncIndexKeys(s, folded, changes, bind.Appended)
		if err != nil {
			return plan.Action{}, err
		}
		changes = append(changes, keys...)
	}
	changes, writeID := plan.WithWriteID(s, append(changes, s.Hidden...), in.WriteID)
	clock, at := e.orderBy.Path, first.carried[e.orderBy.Name]
	older := []expr.Cond{expr.Compare(expr.NotExists, clock), expr.Compare(expr.Lt, clock, at)} // the condition of isOlder, for DynamoDB
	if id := e.id; id != nil {
		before := expr.Any(expr.Compare(expr.NotExists, id.Path), expr.Compare(expr.Lt, id.Path, first.carried[id.Name]))
		older = append(older, expr.All(expr.Compare(expr.Eq, clock, at), before))
	}
	cond := expr.All(expr.Any(older...), a.user)
	if len(s.Folded) > 0 {
		cond = expr.All(cond, layout.CaseGuard(s, first.carried))
	}
	return plan.Action{
		Kind: plan.Update, Table: c.Table, Key: first.primary, Changes: changes, Cond: cond, WriteID: writeID, Fold: a,
		Final: func(current item.Item) bool { // until a Remove, orderBy and id never go back
			older, err := first.isOlder(current)
			return older && err == nil
		},
	}, nil
}

// joinedAdvance is the update of a current item by one or several appends of one transaction.
type joinedAdvance struct {
	evs  []*event // in ascending order
	user expr.Cond
	in   *plan.Input // of the last event; its write id is stored in the item
}

// Fold joins the updates of two appends of one series. It reports false for another operation and for keys that differ in case.
func (a *joinedAdvance) Fold(other plan.Folder) (plan.Action, bool) {
	b, ok := other.(*joinedAdvance)
	if !ok {
		return plan.Action{}, false
	}
	byKey := func(x, y *event) int { return strings.Compare(x.sortKey, y.sortKey) }
	both := &joinedAdvance{slices.Concat(a.evs, b.evs), expr.All(a.user, b.user), a.in}
	slices.SortFunc(both.evs, byKey)
	for _, ev := range both.evs {
		if layout.SameCase(ev.c.Schema, ev.carried, both.evs[0].carried) != nil {
			return plan.Action{}, false
		}
	}
	if byKey(a.evs[len(a.evs)-1], b.evs[len(b.evs)-1]) < 0 {
		both.in = b.in
	}
	folded, err := advance(both, both.evs[0])
	return folded, err == nil
}
