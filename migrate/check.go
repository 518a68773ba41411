package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A Kind classifies what [Check] has found.
type Kind string

// The kinds of findings.
const (
	Unknown  Kind = "unknown"  // no declaration on the table knows the item
	Outdated Kind = "outdated" // Rewrite changes the item; it has Reasons
	Broken   Kind = "broken"   // Rewrite cannot settle the item; it has a Problem
	Orphaned Kind = "orphaned" // a sentinel, event or snapshot whose item has gone, or no longer has the value
	Leftover Kind = "leftover" // the item has expired, and DynamoDB has not removed it yet
	Endless  Kind = "endless"  // the item has no end, as when it was removed or is older than the declaration; it may be wanted
)

// Finding is an item that is not as the declarations say.
type Finding struct {
	Kind    Kind
	Entity  string   // its name; "" if it is unknown
	Key     string   // primary key; of a sentinel that of the item that it names. Secret parts are hidden
	Reasons []Reason // of an outdated item
	Problem Problem  // of a broken item
	Related string   // of an orphaned item: sentinel, event or snapshot
}

// Checked is the result of [Check].
type Checked struct {
	Evaluated int          // items read
	Findings  map[Kind]int // how many of each kind
	Cost      Cost
}

// String returns the counts on one line.
func (c Checked) String() string { return fmt.Sprintf("%d items", c.Evaluated) + counts(c.Findings) }

// Check reads the table of a store and passes f each item that is not as the declarations on that table say: of all
// entities that are declared on the store's database. Declare all of them before, or their items are unknown. It writes
// nothing, and holds one page of items of each segment at a time. f is called by one goroutine at a time; its error ends
// the check.
//
// Programs can write meanwhile: what seems orphaned, not claimed, or to have the value of another item, is read again at
// one instant. A hard delete leaves the snapshots of its item, which are then orphaned without being wrong. Items that are
// marked by this library and are in another namespace, or another version of it, are left out.
//
// It costs a strongly consistent scan of the table, a read for every 100 owners of sentinels and related items and for
// every 100 unique values, and one to four reads for each item that is read again. Errors: *entity.InputError before any
// request; those of f; those of requests that failed after all attempts.
func Check(ctx context.Context, store Store, f func(Finding) error, opts ...PassOption) (Checked, error) {
	c := engine.Of(store)
	none := Checked{Findings: map[Kind]int{}}
	if err := c.Err(); err != nil {
		return none, c.Wrap("Check", "", err)
	}
	spec := bind.Collect(opts)
	k, err := newCheck(c, f, spec)
	if err != nil {
		return none, c.Wrap("Check", "", err)
	}
	err = c.Measure(ctx, "Check", "", func(ctx context.Context) error { return k.run(bind.WithPace(ctx, spec.Budget)) })
	return k.done, err
}

// check is one run of Check.
type check struct {
	c        *engine.Core
	runner   *engine.Runner
	entities []examiner
	segments int
	report   func(Finding) error
	progress func(Progress) // nil if nobody asks

	mu   sync.Mutex
	done Checked
}

func newCheck(c *engine.Core, f func(Finding) error, spec *bind.Options) (*check, error) {
	switch {
	case spec.Err() != nil:
		return nil, bind.Invalid(c.Schema, bind.CodeOption, nil, "%v", spec.Err())
	case f == nil:
		return nil, bind.Invalid(c.Schema, bind.CodeOption, nil, "Check needs a function")
	}
	k := &check{c: c, segments: max(spec.Segments, 1), report: f, progress: spec.Passed, runner: c.Runner, done: Checked{Findings: map[Kind]int{}}}
	for _, s := range c.DB.On(c.Table) {
		k.entities = append(k.entities, examiner{c: &engine.Core{Schema: s, Table: c.Table, Runner: k.runner, DB: c.DB}, s: s})
	}
	return k, nil
}

func (k *check) run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	engine.Parallel(k.segments, k.segments, func(i int) {
		for start, more := item.Item(nil), true; more && ctx.Err() == nil; more = start != nil {
			cost, err := engine.Metered(ctx, func(ctx context.Context) (err error) {
				start, err = k.page(ctx, i, start)
				return err
			})
			k.mu.Lock()
			k.done.Cost.add(cost)
			k.mu.Unlock()
			if err != nil {
				stop(err)
				return
			}
		}
	})
	return context.Cause(ctx)
}

// page reads and examines one page of a segment.
func (k *check) page(ctx context.Context, i int, start item.Item) (last item.Item, err error) {
	page, err := k.runner.ReadPage(ctx, segmentOf(k.c.Table, i, k.segments, start))
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.done.Evaluated += page.Evaluated
	k.mu.Unlock()
	if err := k.examine(ctx, page.Items()); err != nil {
		return nil, err
	}
	if k.progress != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.progress(Progress{Evaluated: k.done.Evaluated, Segments: k.segments})
	}
	return page.Last, nil
}

// found counts and reports a finding.
func (k *check) found(f Finding) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.done.Findings[f.Kind]++
	return k.report(f)
}

// examine examines the items of a page, entity by entity.
func (k *check) examine(ctx context.Context, items []item.Item) error {
	now := k.runner.Clock()
	var unknown []item.Item
	of := make([][]item.Item, len(k.entities))
	sentinels := make([][]item.Item, len(k.entities))
	for _, it := range items {
		i, role := k.entityOf(it)
		switch role {
		case identify.Foreign:
			if !identify.Elsewhere(k.c.Schema, it) {
				unknown = append(unknown, it)
			}
		case identify.Own:
			of[i] = append(of[i], it)
		case identify.Sentinel:
			sentinels[i] = append(sentinels[i], it)
		}
	}
	for i, e := range k.entities {
		findings, err := e.findings(ctx, k.runner, of[i], true)
		if err != nil {
			return err
		}
		if err := k.settle(ctx, e, findings, sentinels[i], now); err != nil {
			return err
		}
	}
	for _, it := range unknown {
		if err := k.found(Finding{Kind: Unknown, Key: k.keyText(it)}); err != nil {
			return err
		}
	}
	return nil
}

// sentinelRole names a sentinel in findings.
const sentinelRole = "sentinel"

// entityOf returns the index of the entity that an item is of, and its role.
func (k *check) entityOf(it item.Item) (i int, role identify.Role) {
	for i, e := range k.entities {
		if role := identify.Of(e.s, it).Role; role != identify.Foreign {
			return i, role
		}
	}
	return 0, identify.Foreign
}

// keyText formats the key of an item that no entity knows, as cautiously as that of any entity of the table.
func (k *check) keyText(it item.Item) string {
	shown := ""
	for _, e := range k.entities {
		shown = layout.KeyText(e.s, layout.KeyOf(e.s, it))
		if strings.Contains(shown, layout.HiddenValue) {
			return shown
		}
	}
	return shown
}

// settle reports the findings of an entity's items, and those of its sentinels and related items without an owner.
func (k *check) settle(ctx context.Context, e examiner, findings []*finding, sentinels []item.Item, now time.Time) error {
	var suspects []suspect
	for _, f := range findings {
		x := Finding{Entity: e.s.Name, Key: layout.KeyText(e.s, layout.KeyOf(e.s, f.image))}
		switch {
		case f.expired:
			x.Kind = Leftover
		case f.problem != "":
			x.Kind, x.Problem = Broken, f.problem
		case len(f.reasons) > 0:
			x.Kind, x.Reasons = Outdated, f.reasons
		case f.endless:
			x.Kind = Endless
		}
		if x.Kind != "" {
			if err := k.found(x); err != nil {
				return err
			}
		}
		alone := f.kind == layout.EventKind && e.s.NoCurrent // it belongs to no item
		if !f.expired && f.owner != nil && !alone && (f.kind == layout.EventKind || f.kind == layout.SnapshotKind) {
			name := map[string]string{layout.EventKind: "event", layout.SnapshotKind: "snapshot"}[f.kind]
			suspects = append(suspects, suspect{it: f.image, owner: f.owner, what: name})
		}
	}
	for _, it := range sentinels {
		owner := identify.Of(e.s, it).Owner
		x := Finding{Entity: e.s.Name, Key: layout.KeyText(e.s, owner), Related: sentinelRole}
		switch named := isText(owner); {
		case layout.Expired(e.s, it, now):
			x.Kind = Leftover
		case !named:
			x.Kind, x.Key = Orphaned, ""
		default:
			suspects = append(suspects, suspect{it: it, owner: owner, what: sentinelRole})
			continue
		}
		if err := k.found(x); err != nil {
			return err
		}
	}
	return k.orphans(ctx, e, suspects, now)
}

// isText reports whether all attributes of a key are strings.
func isText(key item.Item) bool {
	for _, av := range key {
		if _, ok := av.(*types.AttributeValueMemberS); !ok {
			return false
		}
	}
	return true
}

// suspect is a sentinel or related item whose owner has to exist.
type suspect struct {
	it, owner item.Item
	what      string
}

// orphans reports the suspects without an owner.
func (k *check) orphans(ctx context.Context, e examiner, suspects []suspect, now time.Time) error {
	keys := make([]engine.Key, len(suspects))
	for i, x := range suspects {
		keys[i] = engine.Key{Table: k.c.Table, Key: x.owner}
	}
	owners, err := k.runner.GetMany(ctx, keys)
	if err != nil {
		return err
	}
	kept := map[string]bool{} // whether an owner that has gone has left what keeps such suspects
	for i, x := range suspects {
		if e.owns(owners[i], x) {
			continue
		}
		orphan, gone, err := k.confirm(ctx, e, x, now)
		if orphan && gone {
			id := x.what + layout.KeyID(x.owner)
			has, known := kept[id]
			for n := 0; n < 2 && !known && !has && err == nil; n++ { // a read that meets a restore finds neither item nor copy
				has, err = k.keeps(ctx, e, x, now)
			}
			kept[id], orphan = has, !has
		}
		switch {
		case err != nil:
			return err
		case !orphan:
			continue
		}
		f := Finding{Kind: Orphaned, Entity: e.s.Name, Key: layout.KeyText(e.s, layout.KeyOf(e.s, x.it)), Related: x.what}
		if x.what == sentinelRole { // its own key holds the value
			f.Key = layout.KeyText(e.s, x.owner)
		}
		if err := k.found(f); err != nil {
			return err
		}
	}
	return nil
}

// owns reports whether an item, nil if absent, is the owner of a suspect.
func (e examiner) owns(owner item.Item, x suspect) bool {
	if owner == nil || x.what != sentinelRole {
		return owner != nil
	}
	stored, err := layout.Open(e.s, owner)
	if err != nil {
		return true // what it claims is not known
	}
	key := layout.KeyOf(e.s, x.it)
	return slices.ContainsFunc(plan.UniqueConstraints(e.s), func(g plan.UniqueConstraint) bool {
		keys, err := g.Sentinels(stored.Item)
		return err == nil && slices.ContainsFunc(keys, func(own item.Item) bool { return sameKey(own, key) }) || earlier(e.s, g, owner, key)
	})
}

// confirm reads a suspect and its owner again, at one instant. gone says that there is no owner.
func (k *check) confirm(ctx context.Context, e examiner, x suspect, now time.Time) (orphan, gone bool, err error) {
	got, err := k.runner.TransactGet(ctx, []engine.Key{{Table: k.c.Table, Key: layout.KeyOf(e.s, x.it)}, {Table: k.c.Table, Key: x.owner}})
	if err != nil || len(got[0]) == 0 || layout.Expired(e.s, got[0], now) {
		return false, false, err
	}
	owner := got[1]
	if len(owner) == 0 {
		owner = nil
	}
	if x.what == sentinelRole && !layout.OwnedBy(e.s, x.owner).Holds(got[0]) {
		return false, false, nil // another item has the value now
	}
	return !e.owns(owner, x), owner == nil, nil
}

// keeps reports whether an owner that has gone has left what keeps a suspect: a deleted copy, or a history that ends with
// the expiry of the item. So does an owner that exists again.
func (k *check) keeps(ctx context.Context, e examiner, x suspect, now time.Time) (bool, error) {
	op := &plan.Op{Schema: e.s, Table: k.c.Table, Key: x.owner}
	m, deletes := schema.Feature[plan.SoftDeleter](e.s)
	switch {
	case e.s.Expires && x.what != sentinelRole: // such items have no deleted copies
		_, last, err := plan.ReadNewest(ctx, k.runner, op, schema.SnapshotInfix, now, true)
		if err != nil || layout.IsDeletedState(e.s, last.Item) || layout.Expired(e.s, layout.State(e.s, last.Item), now) {
			return err == nil && !layout.IsDeletedState(e.s, last.Item), err
		}
		owner, err := k.runner.Get(ctx, k.c.Table, x.owner, true)
		return owner != nil, err
	case !deletes || x.what == sentinelRole && !m.Reserves():
		return false, nil
	}
	current, _, copied, err := plan.ReadItemAndCopy(ctx, k.runner, op, nil, now)
	if unreadable(err) {
		return true, nil // what it claims is not known
	}
	return current.Raw != nil || copied.Raw != nil, err
}
