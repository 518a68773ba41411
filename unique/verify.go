package unique

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Verify scans the table and compares the values that items have with their sentinels, in both directions. What does not
// agree at first is read again, sentinel and items at one instant, so that writes at the same time are not taken for
// damage. Under lifecycle's unique:"reserve" the newest deleted copy of an item has its value too. Expired sentinels and
// copies do not count; where the constraint has a ttl, an item without sentinel is as it should be.
//
// It changes nothing, and costs a consistent scan, a read for every sentinel and for the sentinel of every item, 100 in a
// request, and for what does not agree a few more.
func (l *Lookup[T]) Verify(ctx context.Context, opts ...VerifyOption) (Report, error) {
	c := core.Of(l)
	if err := c.Err(); err != nil {
		return Report{}, c.Wrap("Verify", "", err)
	}
	a := newAudit(c, l.k)
	spec := opt.Verifies(opts)
	err := c.Measure(ctx, "Verify", "", func(ctx context.Context) error { return a.run(ctx, spec) })
	return a.report, err
}

// VerifyOption is accepted by Verify and Repair: entity.Segments.
type VerifyOption interface{ opt.VerifyOption }

// audit is one run of Verify.
type audit struct {
	c        *core.Core
	k        *constraint
	s        *schema.Schema
	report   Report
	suspects map[string]*suspect // by the id of the sentinel's key
}

func newAudit(c *core.Core, k *constraint) *audit {
	return &audit{c: c, k: k, s: c.Schema, suspects: map[string]*suspect{}}
}

// batch is how many items are compared at a time.
const batch = 100

func (a *audit) run(ctx context.Context, spec opt.Verify) error {
	p := query.BuildScan(query.Source{
		Schema: a.s, Table: a.c.Table, PK: a.s.PK, SK: a.s.SK, Verb: "Verify",
		Code: plan.CodeOption, Base: func(time.Time) expr.Cond { return a.relevant() },
	}, opt.Scan{Bounded: opt.Bounded{Select: opt.Select{Read: opt.Read{Mistakes: spec.Mistakes, Strong: true}}}, Parallel: spec.Parallel})
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
		if e.found {
			a.report.Findings = append(a.report.Findings, e.finding)
		}
	}
	return nil
}

// relevant holds for the sentinels of the constraint, and for the items that can have a value.
func (a *audit) relevant() expr.Cond {
	s, name := a.s, expr.Attr(schema.EntityAttr)
	sentinel := expr.All(
		expr.Compare(expr.Eq, name, item.S(a.k.entityName())),
		expr.Compare(expr.Eq, expr.Attr(s.SK.Attributes()[0]), item.S(a.k.key.Prefix)),
	)
	var own expr.Cond
	if s.SK.Prefixed {
		kind := expr.Attr(schema.KindAttr)
		current := expr.Compare(expr.NotExists, kind)
		if a.k.reserves() {
			current = expr.Any(current, expr.Compare(expr.Eq, kind, item.S("d")))
		}
		own = expr.All(expr.Compare(expr.Eq, name, item.S(s.Name)), expr.Compare(expr.BeginsWith, expr.Attr(s.SK.Attr), item.S(s.Prefix)), current)
	} else {
		own = expr.Compare(expr.NotExists, name)
		if d := s.Discriminator; d != nil {
			own = expr.All(own, expr.Compare(expr.Eq, expr.Attr(d.Attr), item.S(d.Value)))
		}
	}
	return expr.Any(sentinel, own)
}

// claimed is what an item of the table says about a value.
type claimed struct {
	sentinel, owner item.Item
	by              item.Item // the one of the two keys whose item was not seen yet
}

// compare looks items' counterparts up and notes what does not agree.
func (a *audit) compare(ctx context.Context, items []item.Item) error {
	now := a.c.Runner.Clock()
	var claims []claimed
	for _, it := range items {
		switch {
		case item.Equal(it[schema.EntityAttr], item.S(a.k.entityName())):
			if plan.Expired(a.s, it, now) {
				continue
			}
			a.report.Sentinels++
			x := claimed{sentinel: plan.KeyOf(a.s, it), owner: a.named(it)}
			if x.owner == nil {
				a.suspect(x)
				continue
			}
			x.by = x.owner
			claims = append(claims, x)
		default:
			owner := a.ownerKey(it)
			if owner == nil || !sameKey(owner, plan.KeyOf(a.s, it)) && plan.Expired(a.s, it, now) || a.k.empty(it) {
				continue
			}
			k, err := a.k.heldKey(it)
			if k == nil || err != nil {
				a.report.Unreadable++
				continue
			}
			a.report.Items++
			if a.k.ttl == 0 { // else a claim may have ended
				claims = append(claims, claimed{k, owner, k})
			}
		}
	}
	got, err := a.lookup(ctx, claims)
	if err != nil {
		return err
	}
	for _, x := range claims {
		other := got[plan.KeyID(x.by)]
		agrees := other != nil && a.has(other, x.sentinel)
		if sameKey(x.by, x.sentinel) {
			agrees = other != nil && !plan.Expired(a.s, other, now) && sameKey(a.named(other), x.owner)
		}
		if !agrees {
			a.suspect(x)
		}
	}
	return nil
}

// lookup reads what is to be seen yet of claims, by the ids of the keys.
func (a *audit) lookup(ctx context.Context, claims []claimed) (map[string]item.Item, error) {
	wanted := map[string]item.Item{}
	for _, x := range claims {
		wanted[plan.KeyID(x.by)] = x.by
	}
	var keys []exec.Key
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		keys = append(keys, exec.Key{Table: a.c.Table, Key: wanted[id]})
	}
	got := map[string]item.Item{}
	err := a.c.Runner.GetMany(ctx, keys, true, func(_ string, it item.Item) { got[plan.KeyID(plan.KeyOf(a.s, it))] = it })
	return got, err
}

func (a *audit) suspect(x claimed) {
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
func (a *audit) named(sentinel item.Item) item.Item {
	if _, err := ownerOf(sentinel); err != nil {
		return nil
	}
	return item.Item{a.s.PK.Attributes()[0]: sentinel[schema.OwnerPKAttr], a.s.SK.Attributes()[0]: sentinel[schema.OwnerSKAttr]}
}

// ownerKey is the primary key of a current item, or of the one that a deleted copy is of; nil for anything else.
func (a *audit) ownerKey(it item.Item) item.Item {
	k := plan.KeyOf(a.s, it)
	sk, ok := plan.SortKey(a.s, it)
	if !ok || !a.s.SK.Prefixed {
		return k
	}
	own, infix := sk, ""
	if m, moves := schema.Feature[plan.SoftDeleter](a.s); moves && a.k.reserves() {
		infix = m.Infix()
	}
	copied := it[schema.KindAttr] != nil
	if a.k.shared() { // where only the key of an item shows what it is
		copied = !a.s.SK.Template.Recomposes(it, sk)
	}
	if copied {
		at := strings.LastIndex(sk, infix)
		if at < 0 || infix == "" {
			return nil
		}
		own = sk[:at]
	}
	if a.k.shared() && !a.s.SK.Template.Recomposes(it, own) {
		return nil
	}
	k[a.s.SK.Attr] = item.S(own)
	return k
}

// has reports that an item has the value of the sentinel under k.
func (a *audit) has(it, k item.Item) bool {
	own, err := a.k.heldKey(it)
	return err == nil && own != nil && sameKey(own, k)
}

func sameKey(x, y item.Item) bool { return x != nil && y != nil && plan.KeyID(x) == plan.KeyID(y) }

func ownerIn(s *schema.Schema, k item.Item) Owner {
	pk, _ := k[s.PK.Attributes()[0]].(*types.AttributeValueMemberS)
	sk, _ := k[s.SK.Attributes()[0]].(*types.AttributeValueMemberS)
	return Owner{pk.Value, sk.Value}
}
