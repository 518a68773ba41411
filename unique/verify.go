package unique

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Kind says what is wrong with a value.
type Kind int

// What can be wrong with a value.
const (
	Orphaned     Kind = iota // a sentinel, and no item that has the value
	WrongOwner               // an item has the value, and the sentinel names another one, which has it not
	MissingClaim             // an item has the value, and there is no sentinel
	Conflict                 // several items have the value
)

// String is the name of the kind.
func (k Kind) String() string {
	names := []string{"orphaned", "misowned", "unclaimed", "conflict"}
	if k < 0 || int(k) >= len(names) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return names[k]
}

// Finding is one value whose sentinel and owner do not agree. It never shows the value; keys of items, in which a value
// may be a part, are in its fields only.
type Finding struct {
	Kind      Kind
	Owners    []Owner // the items that have the value
	ClaimedBy *Owner  // the item that the sentinel names; nil without a sentinel, or when it names none

	suspect *suspect
}

// String says what is wrong, without keys.
func (f Finding) String() string {
	if f.Kind == Conflict {
		return fmt.Sprintf("conflict of %d items", len(f.Owners))
	}
	return f.Kind.String()
}

// Report is what [Lookup.Verify] found.
type Report struct {
	Items      int // items that have a value, deleted copies that reserve one among them
	Sentinels  int // sentinels that have not expired
	Unreadable int // items whose value could not be composed, since an attribute has another type
	Findings   []Finding
}

// String counts the findings.
func (r Report) String() string {
	return fmt.Sprintf("%d items, %d sentinels, %d unreadable: %s", r.Items, r.Sentinels, r.Unreadable, count(r.Findings))
}

// Verify scans the table and compares the values that items have with their sentinels, in both directions. What does not
// agree at first is read again, sentinel and items at one instant, so that writes at the same time are not taken for
// damage. Under lifecycle's unique:"reserve" the newest deleted copy of an item has its value too. Expired sentinels and
// copies do not count; where the constraint has a ttl, an item without sentinel is as it should be.
//
// It changes nothing, and costs a consistent scan, a read for every sentinel and for the sentinel of every item, 100 in a
// request, and for what does not agree a few more. The only option is entity.Segments.
func (l *Lookup[T]) Verify(ctx context.Context, opts ...entity.QueryOption) (Report, error) {
	c := core.Of(l)
	if err := c.Err(); err != nil {
		return Report{}, c.Wrap("Verify", "", err)
	}
	a := newVerification(c, l.k)
	spec := opt.Queries(opts)
	err := c.Measure(ctx, "Verify", "", func(ctx context.Context) error { return a.run(ctx, spec) })
	return a.report, err
}

// audit is one run of Verify.
type verification struct {
	c        *core.Core
	k        *constraint
	s        *schema.Schema
	report   Report
	suspects map[string]*suspect // by the id of the sentinel's key
}

func newVerification(c *core.Core, k *constraint) *verification {
	return &verification{c: c, k: k, s: c.Schema, suspects: map[string]*suspect{}}
}

// batch is how many items are compared at a time.
const batch = 100

func (a *verification) run(ctx context.Context, spec opt.Spec) error {
	if only := (opt.Spec{Segments: spec.Segments, Errs: spec.Errs}); !reflect.DeepEqual(spec, only) {
		return &entity.InputError{Code: plan.CodeOption, Type: a.s.Type.String(), Problem: "Verify and Repair take no option but Segments"}
	}
	spec.Strong = true
	p := query.Build(query.Source{
		Schema: a.s, Table: a.c.Table, PK: a.s.PK, SK: a.s.SK, Verb: "Verify", Scan: true,
		Code: plan.CodeOption, Base: func(time.Time) expr.Cond { return a.relevant() },
	}, reflect.Value{}, spec)
	p.Runner, p.Cursor = a.c.Runner, a.c.Cursor
	var items []item.Item
	for it, err := range p.All(ctx) {
		if err != nil {
			return err
		}
		if items = append(items, it); len(items) == batch {
			if err := a.compare(ctx, items); err != nil {
				return err
			}
			items = items[:0]
		}
	}
	if err := a.compare(ctx, items); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(a.suspects)) {
		e, err := a.examine(ctx, a.suspects[id])
		if err != nil {
			return err
		}
		if e.damaged {
			a.report.Findings = append(a.report.Findings, e.finding)
		}
	}
	return nil
}

// relevant holds for the sentinels of the constraint, and for the items that can have a value.
func (a *verification) relevant() expr.Cond {
	s, name := a.s, expr.Attr(schema.EntityAttr)
	sentinel := expr.All(
		expr.Compare(expr.Eq, name, item.S(a.k.entityName())),
		expr.Compare(expr.Eq, expr.Attr(s.SK.Attributes()[0]), item.S(a.k.key.Prefix)),
	)
	var own expr.Cond
	if s.SK.Prefixed {
		kind := expr.Attr(schema.KindAttr)
		holder := expr.Compare(expr.NotExists, kind)
		if a.k.reserves() {
			holder = expr.Any(holder, expr.Compare(expr.Eq, kind, item.S(schema.CopyKind)))
		}
		own = expr.All(plan.OfEntity(s), plan.InNamespace(s), holder)
	} else {
		own = expr.All(expr.Compare(expr.NotExists, name), plan.OfEntity(s))
	}
	return expr.Any(sentinel, own)
}

// claimed is what an item of the table says about a value.
type claim struct {
	sentinel, owner item.Item
	other              item.Item // the one of the two keys whose item was not seen yet
}

// compare looks items' counterparts up and notes what does not agree.
func (a *verification) compare(ctx context.Context, items []item.Item) error {
	now := a.c.Runner.Clock()
	var claims []claim
	for _, it := range items {
		switch {
		case item.Equal(it[schema.EntityAttr], item.S(a.k.entityName())):
			if plan.Expired(a.s, it, now) {
				continue
			}
			a.report.Sentinels++
			x := claim{sentinel: plan.KeyOf(a.s, it), owner: a.ownerNamed(it)}
			if x.owner == nil {
				a.suspect(x)
				continue
			}
			x.other = x.owner
			claims = append(claims, x)
		default:
			owner := a.ownerKey(it)
			if owner == nil || !sameKey(owner, plan.KeyOf(a.s, it)) && plan.Expired(a.s, it, now) || a.k.claimsNothing(it) {
				continue
			}
			k, err := a.k.storedKey(it)
			if k == nil || err != nil {
				a.report.Unreadable++
				continue
			}
			a.report.Items++
			if a.k.ttl == 0 { // else a claim may have ended
				claims = append(claims, claim{k, owner, k})
			}
		}
	}
	got, err := a.lookup(ctx, claims)
	if err != nil {
		return err
	}
	for _, x := range claims {
		other := got[plan.KeyID(x.other)]
		agrees := other != nil && a.holds(other, x.sentinel)
		if sameKey(x.other, x.sentinel) {
			agrees = other != nil && !plan.Expired(a.s, other, now) && sameKey(a.ownerNamed(other), x.owner)
		}
		if !agrees {
			a.suspect(x)
		}
	}
	return nil
}

// lookup reads what is to be seen yet of claims, by the ids of the keys.
func (a *verification) lookup(ctx context.Context, claims []claim) (map[string]item.Item, error) {
	wanted := map[string]item.Item{}
	for _, x := range claims {
		wanted[plan.KeyID(x.other)] = x.other
	}
	var keys []exec.Key
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		keys = append(keys, exec.Key{Table: a.c.Table, Key: wanted[id]})
	}
	got := map[string]item.Item{}
	err := a.c.Runner.GetMany(ctx, keys, true, func(_ string, it item.Item) { got[plan.KeyID(plan.KeyOf(a.s, it))] = it })
	return got, err
}

func (a *verification) suspect(x claim) {
	id := plan.KeyID(x.sentinel)
	p := a.suspects[id]
	if p == nil {
		p = &suspect{key: x.sentinel, owners: map[string]item.Item{}}
		a.suspects[id] = p
	}
	if x.owner != nil {
		p.owners[plan.KeyID(x.owner)] = x.owner
	}
}

// named is the primary key of the item that a sentinel names; nil when it names none.
func (a *verification) ownerNamed(sentinel item.Item) item.Item {
	if _, err := ownerOf(sentinel); err != nil {
		return nil
	}
	return item.Item{a.s.PK.Attributes()[0]: sentinel[schema.OwnerPKAttr], a.s.SK.Attributes()[0]: sentinel[schema.OwnerSKAttr]}
}

// ownerKey is the primary key of a current item, or of the one that a deleted copy is of; nil for anything else.
func (a *verification) ownerKey(it item.Item) item.Item {
	sk, ok := plan.SortKey(a.s, it)
	if !ok || !a.s.SK.Prefixed {
		return plan.KeyOf(a.s, it)
	}
	satellite := it[schema.KindAttr] != nil
	if a.k.shared() { // only the key of an item shows what it is
		satellite = !a.s.SK.Template.Recomposes(it, sk)
	}
	if !satellite {
		return plan.KeyOf(a.s, it)
	}
	if !a.k.reserves() {
		return nil
	}
	k, ok := plan.CurrentKey(a.s, it, schema.CopyInfix)
	if !ok {
		return nil
	}
	if own, _ := plan.SortKey(a.s, k); a.k.shared() && !a.s.SK.Template.Recomposes(it, own) {
		return nil
	}
	return k
}

// has reports that an item has the value of the sentinel under k.
func (a *verification) holds(it, k item.Item) bool {
	own, err := a.k.storedKey(it)
	return err == nil && own != nil && sameKey(own, k)
}

func sameKey(x, y item.Item) bool { return x != nil && y != nil && plan.KeyID(x) == plan.KeyID(y) }

func ownerIn(s *schema.Schema, k item.Item) Owner {
	pk, _ := k[s.PK.Attributes()[0]].(*types.AttributeValueMemberS)
	sk, _ := k[s.SK.Attributes()[0]].(*types.AttributeValueMemberS)
	return Owner{pk.Value, sk.Value}
}

// suspect is a value that was seen where sentinel and owner did not agree.
type suspect struct {
	key    item.Item            // of the sentinel
	owners map[string]item.Item // primary keys of items that were seen with the value, by their ids
}

const (
	itemsPerRead = 9  // items that are read at one instant with a sentinel: 4 MB at most
	maxLooks    = 10 // how often a value that is being written is looked at
)

// state is what there is of one item.
type state struct {
	key     item.Item
	current item.Item // nil if absent
	copied  item.Item // the newest deleted copy that reserves a value; nil if absent
}

// evidence is what a value's sentinel and items were at one instant.
type evidence struct {
	damaged    bool // something is wrong
	finding  Finding
	sentinel item.Item // nil if absent, or when it has expired
	holders   []state
	wrongOwner    *state // whom the sentinel names, when that item has not the value
}

// examine looks at a suspect's sentinel, the item that it names and those that were seen with the value.
func (a *verification) examine(ctx context.Context, p *suspect) (evidence, error) {
	for range maxLooks {
		e, settled, err := a.look(ctx, p)
		if err != nil || settled {
			return e, err
		}
	}
	return evidence{}, nil // writes go on and on, each of which keeps the two in step
}

// look is one attempt; settled is false when the sentinel was written meanwhile.
func (a *verification) look(ctx context.Context, p *suspect) (e evidence, settled bool, err error) {
	r, now := a.c.Runner, a.c.Runner.Clock()
	first, err := r.Get(ctx, a.c.Table, p.key, true)
	if err != nil {
		return e, false, err
	}
	owners := maps.Clone(p.owners)
	var named item.Item
	if first != nil && !plan.Expired(a.s, first, now) {
		e.sentinel = first
		if named = a.ownerNamed(first); named != nil {
			owners[plan.KeyID(named)] = named
		}
	}
	states, settled, err := a.states(ctx, p.key, first, owners)
	if err != nil || !settled {
		return evidence{}, false, err
	}
	for _, x := range states {
		switch {
		case x.current != nil && a.holds(x.current, p.key), x.current == nil && x.copied != nil && a.holds(x.copied, p.key):
			e.holders = append(e.holders, x)
		case sameKey(x.key, named):
			e.wrongOwner = &x
		}
	}
	e.resolve(a.s, p, named, a.k.ttl > 0)
	return e, true, nil
}

// resolve says what the evidence means. Claims of limited duration leave items behind that have a value without claiming it.
func (e *evidence) resolve(s *schema.Schema, p *suspect, named item.Item, limited bool) {
	f := Finding{suspect: p}
	mine := false
	for _, x := range e.holders {
		f.Owners = append(f.Owners, ownerIn(s, x.key))
		mine = mine || sameKey(x.key, named)
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

// states reads the items with the sentinel, a few at one instant. settled is false when the sentinel is not what it was
// at first: whatever moves a value from one item to another, or into a deleted copy, writes it.
func (a *verification) states(ctx context.Context, key, first item.Item, owners map[string]item.Item) (states []state, settled bool, err error) {
	ids := slices.Sorted(maps.Keys(owners))
	for chunk := range slices.Chunk(ids, itemsPerRead) {
		keys := []exec.Key{{Table: a.c.Table, Key: key}}
		for _, id := range chunk {
			keys = append(keys, exec.Key{Table: a.c.Table, Key: owners[id]})
		}
		got, err := a.c.Runner.TransactGet(ctx, keys)
		if err != nil {
			return nil, false, err
		}
		if !sameItem(got[0], first) {
			return nil, false, nil
		}
		for i, id := range chunk {
			x := state{key: owners[id]}
			if len(got[i+1]) > 0 {
				x.current = got[i+1]
			}
			states = append(states, x)
		}
	}
	if !a.k.reserves() {
		return states, true, nil
	}
	for i := range states {
		if states[i].current == nil {
			op := &plan.Op{Schema: a.s, Table: a.c.Table, Key: states[i].key}
			if states[i].copied, err = plan.Newest(ctx, a.c.Runner, op, schema.CopyInfix, a.c.Runner.Clock()); err != nil {
				return nil, false, err
			}
		}
	}
	last, err := a.c.Runner.Get(ctx, a.c.Table, key, true)
	return states, sameItem(last, first), err
}

func sameItem(x, y item.Item) bool {
	return item.Equal(&types.AttributeValueMemberM{Value: x}, &types.AttributeValueMemberM{Value: y})
}
