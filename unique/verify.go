package unique

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/write"
)

// Kind is what is wrong with a value.
type Kind int

// Kinds of findings.
const (
	Orphaned     Kind = iota // there is a sentinel, but no item has the value
	WrongOwner               // an item has the value, but the sentinel names another item, which does not
	MissingClaim             // an item has the value, but there is no sentinel
	Conflict                 // several items have the value
	WrongExpiry              // an item has the value, and the sentinel names it, but does not expire with it
)

// String returns the name of the kind.
func (k Kind) String() string {
	names := []string{"orphaned", "wrong owner", "missing claim", "conflict", "wrong expiry"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// Finding is one value whose sentinel and items do not agree. Its text never contains the value. Keys of items, of
// which the value may be a part, are in its fields only.
type Finding struct {
	Kind      Kind
	Owners    []Owner // the items that have the value
	ClaimedBy *Owner  // the item that the sentinel names; nil if there is no sentinel, or if it names no item

	suspect *suspect
}

// String returns what is wrong, without keys.
func (f Finding) String() string {
	if f.Kind == Conflict {
		return fmt.Sprintf("conflict of %d items", len(f.Owners))
	}
	return f.Kind.String()
}

// Report is the result of [Lookup.Verify].
type Report struct {
	Items      int // items that have a value, including deleted copies that reserve one
	Sentinels  int // sentinels that have not expired
	Unreadable int // items whose value could not be read, because an attribute has another type
	Findings   []Finding
}

// String returns the counts of items, sentinels and findings.
func (r Report) String() string {
	return fmt.Sprintf("%d items, %d sentinels, %d unreadable: %s", r.Items, r.Sentinels, r.Unreadable, count(r.Findings))
}

// VerifyOption is accepted by Verify and Repair: entity.Segments, entity.Budget, [OnProgress].
type VerifyOption interface{ write.VerifyOption }

// OnProgress makes [Lookup.Verify], [Lookup.VerifySegment], [Lookup.Repair], and Check of package migrate call f after each part of the items and
// sentinels was compared, of 100 for unique values, with their number so far. The calls come one after the other. f must not be nil.
func OnProgress(f func(compared int)) VerifyOption {
	return write.ForVerify{Do: func(s *write.Verify) {
		if s.Progress = f; f == nil {
			s.Add(errors.New("OnProgress needs a function"))
		}
	}}
}

// Verify scans the table and compares the values of items with their sentinels, in both directions. A value that does not
// agree is read again, sentinel and items in one transaction, so writes at the same time are not reported as damage. With
// unique:"reserve" of package lifecycle, the newest deleted copy of an item has its value too. Expired items, sentinels and
// copies do not count. If the constraint has a ttl, an item without a sentinel is no finding.
//
// Verify writes nothing. It costs a strongly consistent scan, one read for every sentinel and one for the sentinel of every
// item, in batches of 100, and a few reads for each value that does not agree.
func (l *Lookup[T]) Verify(ctx context.Context, opts ...VerifyOption) (Report, error) {
	return l.untyped().verify(ctx, opts)
}

func (l lookup) verify(ctx context.Context, opts []VerifyOption) (Report, error) {
	c := l.c
	if err := c.Err(); err != nil {
		return Report{}, c.Wrap("Verify", "", err)
	}
	v := newVerification(c, l.k)
	spec := write.Verifies(opts)
	err := c.Measure(ctx, "Verify", "", func(ctx context.Context) error { return v.run(write.WithPace(ctx, spec.Budget), spec) })
	return v.report, err
}

// verification is one run of Verify.
type verification struct {
	c        *engine.Core
	k        *constraint
	s        *schema.Schema
	report   Report
	suspects map[string]*suspect // by the id of the sentinel's key
	note     func(claim) error   // takes what does not agree
}

func newVerification(c *engine.Core, k *constraint) *verification {
	v := &verification{c: c, k: k, s: c.Schema, suspects: map[string]*suspect{}}
	v.note = v.suspect
	return v
}

// batch is how many items are compared at a time.
const batch = 100

func (v *verification) run(ctx context.Context, spec write.Verify) error {
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
func (v *verification) read(ctx context.Context, spec write.Verify) error {
	p := query.BuildScan(query.Source{
		Schema: v.s, Table: v.c.Table, PK: v.s.PK, SK: v.s.SK, Verb: "Verify",
		Code: write.CodeOption, Base: func() expr.Cond { return v.relevant() },
	}, write.Scan{Bounded: write.Bounded{Select: write.Select{Read: write.Read{Mistakes: spec.Mistakes, Strong: true}}}, Parallel: spec.Parallel})
	p.Runner, p.Cursor = v.c.Runner, v.c.Cursor
	var items []item.Item
	compared := 0
	compare := func() error {
		if err := v.compare(ctx, items); err != nil {
			return err
		}
		if compared += len(items); spec.Progress != nil {
			spec.Progress(compared)
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
		expr.Compare(expr.Eq, name, item.S(v.k.entityName())),
		expr.Compare(expr.Eq, expr.Attr(s.SK.Attribute()), item.S(v.k.key.Prefix)),
	)
	var own expr.Cond
	if s.SK.Prefixed {
		kind := expr.Attr(schema.KindAttr)
		holder := expr.Compare(expr.NotExists, kind)
		if v.k.reserves() {
			holder = expr.Any(holder, expr.Compare(expr.Eq, kind, item.S(write.CopyKind)))
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
		case item.Equal(it[schema.EntityAttr], item.S(v.k.entityName())):
			if write.Expired(v.s, it, now) {
				continue
			}
			v.report.Sentinels++
			x := claim{sentinel: write.KeyOf(v.s, it), owner: v.ownerNamed(it), end: write.End(v.s, it)}
			if x.owner == nil {
				if err := v.note(x); err != nil {
					return err
				}
				continue
			}
			x.other = x.owner
			claims = append(claims, x)
		default:
			stored, err := write.Open(v.s, it)
			if err != nil {
				v.report.Unreadable++
				continue
			}
			it = stored.Item
			owner := v.ownerKey(it)
			isCopy := !sameKey(owner, write.KeyOf(v.s, it))
			if owner == nil || isCopy && write.Expired(v.s, it, now) || !write.Live(v.s, it, now) || v.k.claimsNothing(it) {
				continue
			}
			k, err := v.k.storedKey(it)
			if k == nil || err != nil {
				v.report.Unreadable++
				continue
			}
			v.report.Items++
			if v.k.ttl == 0 { // otherwise the claim may have expired
				claims = append(claims, claim{sentinel: k, owner: owner, other: k, end: write.End(v.s, it)})
			}
		}
	}
	got, err := v.lookup(ctx, claims)
	if err != nil {
		return err
	}
	for _, x := range claims {
		stored, err := write.Open(v.s, got[write.KeyID(x.other)])
		if err != nil { // what the item claims is not known; it is counted as unreadable when the scan meets it
			continue
		}
		other := stored.Item
		agrees := write.Live(v.s, other, now) && v.holds(other, x.sentinel)
		if sameKey(x.other, x.sentinel) {
			agrees = other != nil && !write.Expired(v.s, other, now) && sameKey(v.ownerNamed(other), x.owner)
		}
		if !agrees || !item.Equal(write.End(v.s, other), x.end) {
			if err := v.note(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookup reads the counterparts of claims, by the ids of their keys.
func (v *verification) lookup(ctx context.Context, claims []claim) (map[string]item.Item, error) {
	wanted := map[string]item.Item{}
	for _, x := range claims {
		wanted[write.KeyID(x.other)] = x.other
	}
	var keys []engine.Key
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		keys = append(keys, engine.Key{Table: v.c.Table, Key: wanted[id]})
	}
	got := map[string]item.Item{}
	err := v.c.Runner.GetMany(ctx, keys, true, func(_ string, it item.Item) { got[write.KeyID(write.KeyOf(v.s, it))] = it })
	return got, err
}

// suspect records a value to be examined.
func (v *verification) suspect(x claim) error {
	id := write.KeyID(x.sentinel)
	p := v.suspects[id]
	if p == nil {
		p = &suspect{key: x.sentinel, owners: map[string]item.Item{}}
		v.suspects[id] = p
	}
	p.add(x.owner)
	return nil
}

// ownerNamed returns the primary key of the item that a sentinel names; nil if it names none.
func (v *verification) ownerNamed(sentinel item.Item) item.Item {
	if _, err := ownerOf(sentinel); err != nil {
		return nil
	}
	return item.Item{v.s.PK.Attribute(): sentinel[schema.OwnerPKAttr], v.s.SK.Attribute(): sentinel[schema.OwnerSKAttr]}
}

// ownerKey returns the primary key of the current item that an item is, or is a deleted copy of; nil for any other
// item.
func (v *verification) ownerKey(it item.Item) item.Item {
	primary, kind, known := write.Owner(v.s, it)
	if !known || kind != write.CurrentKind && (kind != write.CopyKind || !v.k.reserves()) {
		return nil
	}
	return primary
}

// holds reports whether an item has the value of the sentinel under k.
func (v *verification) holds(it, k item.Item) bool {
	own, err := v.k.storedKey(it)
	return err == nil && own != nil && sameKey(own, k)
}

func sameKey(x, y item.Item) bool { return x != nil && y != nil && write.KeyID(x) == write.KeyID(y) }

func ownerIn(s *schema.Schema, k item.Item) Owner {
	pk, _ := k[s.PK.Attribute()].(*types.AttributeValueMemberS)
	sk, _ := k[s.SK.Attribute()].(*types.AttributeValueMemberS)
	return Owner{pk.Value, sk.Value}
}

// suspect is a value whose sentinel and owner did not agree.
type suspect struct {
	key    item.Item            // of the sentinel
	owners map[string]item.Item // primary keys of the items that had the value, by their ids
}

// add adds the primary key of an item that had the value, nil for none.
func (p *suspect) add(owner item.Item) {
	if owner != nil {
		p.owners[write.KeyID(owner)] = owner
	}
}

const (
	itemsPerRead = 9  // items that one transaction reads with a sentinel: at most 4 MB
	maxLooks     = 10 // how often a value that is being written is examined
)

// state is what is stored of one item.
type state struct {
	key     item.Item
	current write.Stored
	copied  write.Stored // the newest deleted copy that reserves a value
}

// evidence is the sentinel and the items of a value at one instant.
type evidence struct {
	damaged    bool // finding is set
	finding    Finding
	sentinel   item.Item // nil if absent or expired
	holders    []state
	wrongOwner *state // the item that the sentinel names, if it does not have the value
}

// examine reads a suspect's sentinel, the item that it names, and the items that had the value, until no write comes in
// between.
func (v *verification) examine(ctx context.Context, p *suspect) (evidence, error) {
	for range maxLooks {
		e, settled, err := v.look(ctx, p)
		if err != nil || settled {
			return e, err
		}
	}
	return evidence{}, nil // every look met a write, and each write keeps sentinel and item in agreement
}

// look is one attempt to examine a suspect. settled is false if the sentinel was written meanwhile.
func (v *verification) look(ctx context.Context, p *suspect) (e evidence, settled bool, err error) {
	r, now := v.c.Runner, v.c.Runner.Clock()
	first, err := r.Get(ctx, v.c.Table, p.key, true)
	if err != nil {
		return e, false, err
	}
	owners := maps.Clone(p.owners)
	var named item.Item
	if first != nil && !write.Expired(v.s, first, now) {
		e.sentinel = first
		if named = v.ownerNamed(first); named != nil {
			owners[write.KeyID(named)] = named
		}
	}
	states, settled, err := v.states(ctx, p.key, first, owners)
	if unreadable(err) { // what the item claims is not known, so nothing is damaged for certain
		return evidence{}, true, nil
	}
	if err != nil || !settled {
		return evidence{}, false, err
	}
	for _, x := range states {
		switch {
		case write.Live(v.s, x.current.Raw, now) && v.holds(x.current.Item, p.key), x.current.Raw == nil && x.copied.Raw != nil && v.holds(x.copied.Item, p.key):
			e.holders = append(e.holders, x)
		case sameKey(x.key, named):
			e.wrongOwner = &x
		}
	}
	e.resolve(v.s, p, named, v.k.ttl > 0)
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
func (e *evidence) resolve(s *schema.Schema, p *suspect, named item.Item, limited bool) {
	f := Finding{suspect: p}
	mine, sameEnd := false, true
	for _, x := range e.holders {
		f.Owners = append(f.Owners, ownerIn(s, x.key))
		if sameKey(x.key, named) {
			mine, sameEnd = true, item.Equal(write.End(s, x.current.Raw), write.End(s, e.sentinel))
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
				if x.current, err = write.Open(v.s, got[i+1]); err != nil {
					return nil, false, err
				}
			}
			states = append(states, x)
		}
	}
	if !v.k.reserves() {
		return states, true, nil
	}
	for i := range states {
		if states[i].current.Raw == nil {
			op := &write.Op{Schema: v.s, Table: v.c.Table, Key: states[i].key}
			if _, states[i].copied, err = write.ReadNewestCopies(ctx, v.c.Runner, op, v.c.Runner.Clock()); err != nil {
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
