package migrate

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/unique"
)

// verification is one run of VerifyUnique or RepairUnique.
type verification struct {
	c        *engine.Core
	k        plan.UniqueConstraint
	s        *schema.Schema
	report   UniqueReport
	suspects map[string]*doubt // by the id of the sentinel's key
	note     func(claim) error // takes what does not agree
}

// newVerification returns a verification of the constraint of a lookup, which a store of the same struct has opened.
func newVerification(l Lookup) *verification {
	c := engine.Of(l)
	v := &verification{c: c, s: c.Schema, suspects: map[string]*doubt{}}
	for _, k := range plan.UniqueConstraints(v.s) {
		if k.Name() == l.Constraint() {
			v.k = k
		}
	}
	v.note = v.suspect
	return v
}

// batch is the number of items that are compared at a time.
const batch = 100

func (v *verification) run(ctx context.Context, spec *bind.Options) error {
	if err := v.read(ctx, spec); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(v.suspects)) {
		e, err := v.examine(ctx, v.suspects[id])
		if err != nil {
			return err
		}
		if e.damaged {
			v.report.Findings = append(v.report.Findings, e.finding)
		}
	}
	return nil
}

// read compares all items of the table, or of one segment.
func (v *verification) read(ctx context.Context, spec *bind.Options) error {
	p := query.BuildScan(query.Source{
		Core: v.c, PK: v.s.PK, SK: v.s.SK, Verb: "Verify",
		Code: bind.CodeOption, Base: func() expr.Cond { return v.relevant() },
	}, &bind.Options{Errs: spec.Errs, Strong: true, Segments: spec.Segments, Segment: spec.Segment})
	if p.Err != nil {
		return p.Err
	}
	var items []item.Item
	compared := 0
	compare := func() error {
		if err := v.compare(ctx, items); err != nil {
			return err
		}
		if compared += len(items); spec.Passed != nil {
			spec.Passed(Progress{Items: compared})
		}
		items = items[:0]
		return nil
	}
	for it, err := range p.All(ctx) {
		if err != nil {
			return err
		}
		if items = append(items, it.Map()); len(items) == batch {
			if err := compare(); err != nil {
				return err
			}
		}
	}
	return compare()
}

// relevant holds for the sentinels of the constraint and for the items that can have a value.
func (v *verification) relevant() expr.Cond {
	s, name := v.s, expr.Attr(schema.EntityAttr)
	sentinel := expr.All(
		expr.Compare(expr.Eq, name, item.S(v.k.EntityName())),
		expr.Compare(expr.Eq, expr.Attr(s.SK.Attribute()), item.S(v.k.SortKey())),
	)
	var own expr.Cond
	if s.SK.Prefixed {
		kind := expr.Attr(schema.KindAttr)
		holder := expr.Compare(expr.NotExists, kind)
		if v.reserves() {
			holder = expr.Any(holder, expr.Compare(expr.Eq, kind, item.S(layout.CopyKind)))
		}
		own = expr.All(s.Own, s.InNamespace, holder)
	} else {
		own = expr.All(expr.Compare(expr.NotExists, name), s.Own)
	}
	return expr.Any(sentinel, own)
}

// claim is a value with the item that has it, as one of the two items shows: a sentinel, or the item.
type claim struct {
	sentinel, owner item.Item
	other           item.Item            // the one of the two keys whose item is still to be read
	end             types.AttributeValue // when the item that was read expires; nil for never
}

// compare reads the counterparts of items and records values that do not agree.
func (v *verification) compare(ctx context.Context, items []item.Item) error {
	now := v.c.Runner.Clock()
	var claims []claim
	for _, it := range items {
		switch {
		case item.Equal(it[schema.EntityAttr], item.S(v.k.EntityName())):
			if layout.Expired(v.s, it, now) {
				continue
			}
			v.report.Sentinels++
			x := claim{sentinel: layout.KeyOf(v.s, it), owner: v.ownerNamed(it), end: layout.End(v.s, it)}
			if x.owner == nil {
				if err := v.note(x); err != nil {
					return err
				}
				continue
			}
			x.other = x.owner
			claims = append(claims, x)
		default:
			stored, err := layout.Open(v.s, it)
			if err != nil {
				v.report.Unreadable++
				continue
			}
			it = stored.Item
			owner := v.ownerKey(it)
			isCopy := !sameKey(owner, layout.KeyOf(v.s, it))
			if owner == nil || isCopy && layout.Expired(v.s, it, now) || !layout.Live(v.s, it, now) || v.k.ClaimsNothing(it) {
				continue
			}
			k := v.sentinelOf(it)
			if k == nil {
				v.report.Unreadable++
				continue
			}
			v.report.Items++
			if !v.k.Limited() { // otherwise the claim may have expired
				claims = append(claims, claim{sentinel: k, owner: owner, other: k, end: layout.End(v.s, it)})
			}
		}
	}
	keys := make([]engine.Key, len(claims))
	for i, x := range claims {
		keys[i] = engine.Key{Table: v.c.Table, Key: x.other}
	}
	got, err := v.c.Runner.GetMany(ctx, keys)
	if err != nil {
		return err
	}
	for i, x := range claims {
		stored, err := layout.Open(v.s, got[i])
		if err != nil { // what the item claims is not known; it is counted as unreadable when the scan meets it
			continue
		}
		other := stored.Item
		agrees := layout.Live(v.s, other, now) && (v.holds(other, x.sentinel) || earlier(v.s, v.k, stored.Raw, x.sentinel))
		if sameKey(x.other, x.sentinel) {
			agrees = other != nil && !layout.Expired(v.s, other, now) && sameKey(v.ownerNamed(other), x.owner)
		}
		if !agrees || !item.Equal(layout.End(v.s, other), x.end) {
			if err := v.note(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// suspect records a value to be examined.
func (v *verification) suspect(x claim) error {
	id := layout.KeyID(x.sentinel)
	p := v.suspects[id]
	if p == nil {
		p = &doubt{key: x.sentinel, owners: map[string]item.Item{}}
		v.suspects[id] = p
	}
	p.add(x.owner)
	return nil
}

// ownerNamed returns the primary key of the item that a sentinel names; nil if it names none.
func (v *verification) ownerNamed(sentinel item.Item) item.Item {
	k := item.Item{v.s.PK.Attribute(): sentinel[schema.OwnerPKAttr], v.s.SK.Attribute(): sentinel[schema.OwnerSKAttr]}
	if !isText(k) {
		return nil
	}
	return k
}

// ownerKey returns the primary key of the current item that an item is, or is a deleted copy of; nil for any other
// item.
func (v *verification) ownerKey(it item.Item) item.Item {
	primary, kind, known := layout.Owner(v.s, it)
	if !known || kind != layout.CurrentKind && (kind != layout.CopyKind || !v.reserves()) {
		return nil
	}
	return primary
}

// sentinelOf returns the key of the sentinel for the value of a stored item; nil if it has none that can be read.
func (v *verification) sentinelOf(it item.Item) item.Item {
	keys, err := v.k.Sentinels(it)
	if err != nil || len(keys) == 0 {
		return nil
	}
	return keys[0]
}

// holds reports whether an item has the value of the sentinel under k.
func (v *verification) holds(it, k item.Item) bool { return sameKey(v.sentinelOf(it), k) }

// earlier reports whether the sentinel under k is for a form that an item, stored as raw, had before today's.
func earlier(s *schema.Schema, g plan.UniqueConstraint, raw, k item.Item) bool {
	return slices.ContainsFunc(plan.EarlierSentinels(s, g, raw), func(own item.Item) bool { return sameKey(own, k) })
}

// reserves reports whether deleted copies keep their unique values.
func (v *verification) reserves() bool {
	m, ok := schema.Feature[plan.SoftDeleter](v.s)
	return ok && m.Reserves()
}

func sameKey(x, y item.Item) bool { return x != nil && y != nil && layout.KeyID(x) == layout.KeyID(y) }

func ownerIn(s *schema.Schema, k item.Item) unique.Owner {
	pk, _ := k[s.PK.Attribute()].(*types.AttributeValueMemberS)
	sk, _ := k[s.SK.Attribute()].(*types.AttributeValueMemberS)
	return unique.Owner{PK: pk.Value, SK: sk.Value}
}

// doubt is a value whose sentinel and owner did not agree.
type doubt struct {
	key    item.Item            // of the sentinel
	owners map[string]item.Item // primary keys of the items that had the value, by their ids
}

// add adds the primary key of an item that had the value, nil for none.
func (p *doubt) add(owner item.Item) {
	if owner != nil {
		p.owners[layout.KeyID(owner)] = owner
	}
}

const (
	itemsPerRead = 9  // items that one transaction reads with a sentinel: at most 4 MB
	maxLooks     = 10 // how often a value that is being written is examined
)

// A state holds what is stored of one item.
type state struct {
	key     item.Item
	current layout.Stored
	copied  layout.Stored // the newest deleted copy that reserves a value
}

// evidence is the sentinel and the items of a value at one instant.
type evidence struct {
	damaged    bool // finding is set
	finding    UniqueFinding
	sentinel   item.Item // nil if absent or expired
	holders    []state
	wrongOwner *state // the item that the sentinel names, if it does not have the value
}

// examine reads a suspect's sentinel, the item that it names, and the items that had the value, until no write comes in
// between.
func (v *verification) examine(ctx context.Context, p *doubt) (evidence, error) {
	for range maxLooks {
		e, settled, err := v.look(ctx, p)
		if err != nil || settled {
			return e, err
		}
	}
	return evidence{}, nil // every look met a write, and each write keeps sentinel and item in agreement
}

// look is one attempt to examine a suspect. settled is false if the sentinel was written meanwhile.
func (v *verification) look(ctx context.Context, p *doubt) (e evidence, settled bool, err error) {
	r, now := v.c.Runner, v.c.Runner.Clock()
	first, err := r.Get(ctx, v.c.Table, p.key, true)
	if err != nil {
		return e, false, err
	}
	owners := maps.Clone(p.owners)
	var named item.Item
	if first != nil && !layout.Expired(v.s, first, now) {
		e.sentinel = first
		if named = v.ownerNamed(first); named != nil {
			owners[layout.KeyID(named)] = named
		}
	}
	states, settled, err := v.states(ctx, p.key, first, owners)
	if unreadable(err) { // what the item claims is not known, so nothing is damaged for certain
		return evidence{}, true, nil
	}
	if err != nil || !settled {
		return evidence{}, false, err
	}
	kept := false // by an item that is stored in the form that claims it, and moves the claim with its next write
	for _, x := range states {
		kept = kept || sameKey(x.key, named) && (earlier(v.s, v.k, x.current.Raw, p.key) || earlier(v.s, v.k, x.copied.Raw, p.key))
		switch {
		case layout.Live(v.s, x.current.Raw, now) && v.holds(x.current.Item, p.key), x.current.Raw == nil && x.copied.Raw != nil && v.holds(x.copied.Item, p.key):
			e.holders = append(e.holders, x)
		case sameKey(x.key, named):
			e.wrongOwner = &x
		}
	}
	if e.resolve(v.s, p, named, v.k.Limited()); kept && e.finding.Kind == Orphaned {
		e.damaged, e.finding = false, UniqueFinding{}
	}
	return e, true, nil
}

// unreadable reports whether err is about a stored item that the declaration does not read.
func unreadable(err error) bool {
	var payload *entitytype.UpgradeError
	var content *entitytype.DecodeError
	return errors.As(err, &payload) || errors.As(err, &content)
}

// resolve sets the finding. limited is whether the claims of the constraint expire: then items may have a value without
// claiming it.
func (e *evidence) resolve(s *schema.Schema, p *doubt, named item.Item, limited bool) {
	f := UniqueFinding{suspect: p}
	mine, sameEnd := false, true
	for _, x := range e.holders {
		f.Owners = append(f.Owners, ownerIn(s, x.key))
		if sameKey(x.key, named) {
			mine, sameEnd = true, item.Equal(layout.End(s, x.current.Raw), layout.End(s, e.sentinel))
		}
	}
	if named != nil {
		o := ownerIn(s, named)
		f.ClaimedBy = &o
	}
	n := len(e.holders)
	switch {
	case limited && (mine || e.sentinel == nil):
		return
	case limited:
		f.Kind, f.Owners = Orphaned, nil
	case n > 1:
		f.Kind = Conflict
	case n == 1 && mine && !sameEnd:
		f.Kind = WrongExpiry
	case n == 1 && mine, n == 0 && e.sentinel == nil:
		return
	case n == 0:
		f.Kind = Orphaned
	case e.sentinel != nil:
		f.Kind = WrongOwner
	default:
		f.Kind = MissingClaim
	}
	e.damaged, e.finding = true, f
}

// states reads the items together with the sentinel, a few per transaction. settled is false if the sentinel is not the
// one read first: every write that moves a value to another item, or to a deleted copy, writes it.
func (v *verification) states(ctx context.Context, key, first item.Item, owners map[string]item.Item) (states []state, settled bool, err error) {
	ids := slices.Sorted(maps.Keys(owners))
	for chunk := range slices.Chunk(ids, itemsPerRead) {
		keys := []engine.Key{{Table: v.c.Table, Key: key}}
		for _, id := range chunk {
			keys = append(keys, engine.Key{Table: v.c.Table, Key: owners[id]})
		}
		got, err := v.c.Runner.TransactGet(ctx, keys)
		if err != nil {
			return nil, false, err
		}
		if !sameItem(got[0], first) {
			return nil, false, nil
		}
		for i, id := range chunk {
			x := state{key: owners[id]}
			if len(got[i+1]) > 0 {
				if x.current, err = layout.Open(v.s, got[i+1]); err != nil {
					return nil, false, err
				}
			}
			states = append(states, x)
		}
	}
	if !v.reserves() {
		return states, true, nil
	}
	for i := range states {
		if states[i].current.Raw == nil {
			op := &plan.Op{Schema: v.s, Table: v.c.Table, Key: states[i].key}
			if _, states[i].copied, err = plan.ReadNewest(ctx, v.c.Runner, op, schema.CopyInfix, v.c.Runner.Clock(), true); err != nil {
				return nil, false, err
			}
		}
	}
	last, err := v.c.Runner.Get(ctx, v.c.Table, key, true)
	return states, sameItem(last, first), err
}

func sameItem(x, y item.Item) bool {
	return item.Equal(&types.AttributeValueMemberM{Value: x}, &types.AttributeValueMemberM{Value: y})
}
