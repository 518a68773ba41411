package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/identify"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/leases"
	"github.com/dynastrata/dynastrata/internal/recorded"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/write"
)

const (
	pointFormat  = "1"
	rewriteInfix = identify.RewriteMark
)

// Attributes of a checkpoint; docs/layout.md describes them.
const (
	formatAttr   = "format"
	workAttr     = "work"
	ownerAttr    = "owner"
	leaseAttr    = "lease"
	fenceAttr    = "fence"
	segmentsAttr = "segments"
	countsAttr   = "counts"
	reasonsAttr  = "reasons"
	problemsAttr = "problems"
	afterAttr    = "after"
	doneAttr     = "done"
)

// checkpoint is the item that holds the progress of a job, and the right to work on it. Every run that takes the lease has
// a higher fence, and saves of runs with a lower one are refused.
type checkpoint struct {
	j     *job
	name  string
	mark  string // entity name that is stored in it
	key   item.Item
	work  string // fingerprint of the declaration and the options
	owner string // id of this run

	mu    sync.Mutex // guards what follows
	fence int64
	lease time.Time
}

// newCheckpoint returns the checkpoint of a job under a name. infix says what the job does.
func newCheckpoint(j *job, infix, name, work string) *checkpoint {
	return &checkpoint{j: j, name: name, mark: j.s.Name + infix, key: stateKey(j.s, infix, name), work: work}
}

// stringKeys reports whether the keys of a table are strings, as those of the items that this package keeps in it.
func stringKeys(s *schema.Schema) bool {
	return s.PK.Type == types.ScalarAttributeTypeS && (s.SK == nil || s.SK.Type == types.ScalarAttributeTypeS)
}

// stateKey returns the primary key of an item in which this package keeps something under a name.
func stateKey(s *schema.Schema, infix, name string) item.Item {
	key := item.Item{s.PK.Attribute(): item.S(s.Prefix + infix + "#" + name)}
	if s.SK != nil {
		key[s.SK.Attribute()] = item.S(s.Prefix + infix)
	}
	return key
}

// fingerprint is equal for equal work: what the items should be, and how they are written.
func fingerprint(s *schema.Schema, newVersion bool) string {
	var b strings.Builder
	line := func(words ...any) { fmt.Fprintln(&b, words...) }
	line(s.Name, s.Prefix, s.Payload, s.Templated, s.HasMetadata, s.Options.TTL, newVersion)
	key := func(k *schema.KeyDef) {
		switch {
		case k == nil:
		case k.Written():
			line(k.Attr, k.Template.Describe())
		default:
			line(k.Attributes())
		}
	}
	for _, u := range s.Upgrades {
		line(u.From)
	}
	key(s.PK)
	key(s.SK)
	for _, x := range s.Indexes {
		line(x.Index, x.Local)
		if n := len(x.Shards); n > 0 {
			line(n)
		}
		key(x.PK)
		key(x.SK)
		if when := recorded.When(x); when != "" {
			line(when)
		}
	}
	for _, f := range s.Features {
		if r, ok := f.(schema.Recorder); ok {
			line(r.Record(s))
		}
	}
	for _, a := range recorded.Of(s) {
		line(a.Path, a.Words)
	}
	for _, a := range s.Filled {
		if a.Role.Default != "" {
			line(a.Name, a.Role.Default)
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:16])
}

// acquire takes the lease and continues from what the checkpoint says. done is set if the work is done.
func (p *checkpoint) acquire(ctx context.Context) (done bool, err error) {
	p.owner = p.j.runner.NewID()
	for range p.j.runner.MaxAttempts {
		stored, err := p.read(ctx)
		if err != nil {
			return false, err
		}
		guard := p.j.s.Absent
		if stored != nil {
			if done, err := p.resume(stored); err != nil || done {
				return done, err
			}
			guard = expr.All(expr.Compare(expr.Eq, expr.Attr(fenceAttr), stored[fenceAttr]), expr.Compare(expr.Eq, expr.Attr(leaseAttr), stored[leaseAttr]))
		}
		p.fence++
		switch err := p.put(ctx, guard, p.owner); {
		case err == nil:
			return false, nil
		case !errors.Is(err, entity.ErrConditionFailed):
			return false, err
		}
	}
	return false, entity.ErrConflict
}

// read reads the checkpoint.
func (p *checkpoint) read(ctx context.Context) (stored item.Item, err error) {
	err = p.j.metered(ctx, func(ctx context.Context) (err error) {
		stored, err = p.j.runner.Get(ctx, p.j.c.Table, p.key, true)
		return err
	})
	return stored, err
}

// resume takes over the progress of a stored checkpoint.
func (p *checkpoint) resume(stored item.Item) (done bool, err error) {
	if format := text(stored[formatAttr]); format != pointFormat {
		return false, &CheckpointError{p.name, "it has format " + format + ", this program reads " + pointFormat}
	}
	until := time.UnixMilli(number[int64](stored[leaseAttr]))
	if owner := text(stored[ownerAttr]); owner != "" && until.After(p.j.runner.Clock()) {
		return false, &RunningError{Checkpoint: p.name, Owner: owner, Until: until}
	}
	p.fence = number[int64](stored[fenceAttr])
	if p.j.spec.Restart {
		return false, nil
	}
	if text(stored[workAttr]) != p.work {
		return false, &CheckpointError{p.name, "it is of another declaration, or of other options; take another name, or Restart"}
	}
	p.j.mu.Lock()
	defer p.j.mu.Unlock()
	p.j.segments = nil
	done = true
	list, _ := stored[segmentsAttr].(*types.AttributeValueMemberL)
	if list == nil || len(list.Value) == 0 {
		return false, &CheckpointError{p.name, "it has no segments"}
	}
	for _, av := range list.Value {
		x := segment{done: item.Equal(fields(av)[doneAttr], &types.AttributeValueMemberBOOL{Value: true})}
		if after := fields(fields(av)[afterAttr]); len(after) > 0 {
			x.after = after
		}
		done = done && x.done
		p.j.segments = append(p.j.segments, x)
	}
	r, counts := newReport(), fields(stored[countsAttr])
	for _, counters := range []map[string]*int{r.counters(), r.copied()} {
		for name, n := range counters {
			*n = number[int](counts[name])
		}
	}
	r.Cost.ReadUnits, r.Cost.WriteUnits = number[float64](counts["readUnits"]), number[float64](counts["writeUnits"])
	for name, av := range fields(stored[reasonsAttr]) {
		r.Reasons[Reason(name)] = number[int](av)
	}
	for name, av := range fields(stored[problemsAttr]) {
		r.Problems[Problem(name)] = number[int](av)
	}
	spent := p.j.spent
	r.Cost.Requests, r.Cost.ReadUnits, r.Cost.WriteUnits = r.Cost.Requests+spent.Requests, r.Cost.ReadUnits+spent.ReadUnits, r.Cost.WriteUnits+spent.WriteUnits
	r.Resumed = true
	p.j.report = r
	return done, nil
}

// counters returns the counts of a report by the names that a checkpoint gives them.
func (r *Report) counters() map[string]*int {
	return map[string]*int{
		"evaluated": &r.Evaluated, "items": &r.Items, "expired": &r.Expired, "rewritten": &r.Rewritten, "conflicts": &r.Conflicts,
		"requests": &r.Cost.Requests,
	}
}

// copied returns the counts that only the report of a copy has.
func (r *Report) copied() map[string]*int {
	return map[string]*int{"omitted": &r.Omitted, "related": &r.Related}
}

// save stores the progress and renews the lease.
func (p *checkpoint) save(ctx context.Context) error {
	err := p.put(ctx, expr.Compare(expr.Eq, expr.Attr(fenceAttr), item.N(strconv.FormatInt(p.fence, 10))), p.owner)
	if errors.Is(err, entity.ErrConditionFailed) {
		return ErrLeaseLost
	}
	return err
}

// put stores the progress under a guard. Without an owner it gives up the lease. A put that arrives late does no harm: under
// the same fence it undoes a little progress, which is made again. It does not wait for a budget, or the lease could end
// meanwhile.
func (p *checkpoint) put(ctx context.Context, guard expr.Cond, owner string) error {
	ctx = write.WithoutPace(ctx)
	lease := p.j.runner.Clock().Add(leases.Duration)
	it := p.item(owner, lease)
	op := &write.Op{Verb: p.j.verb, Schema: p.j.s, Table: p.j.c.Table, Key: p.key, Asked: write.Asked{SoleWriter: true}, Needs: write.Needs{AsStored: true}}
	op.Plan = func(in write.Input) (write.Step, error) {
		it[schema.WriteAttr] = item.S(in.WriteID)
		return write.Step{
			Actions: []write.Action{{Kind: write.Put, Table: op.Table, Key: p.key, Item: it, Cond: guard, WriteID: in.WriteID}},
			Outcome: &write.Fixed{Refused: write.Resolution{Err: entity.ErrConditionFailed}},
		}, nil
	}
	err := p.j.metered(ctx, func(ctx context.Context) error {
		_, err := p.j.runner.Run(ctx, op)
		return err
	})
	if err == nil {
		p.mu.Lock()
		p.lease = lease
		p.mu.Unlock()
	}
	return err
}

// item returns the checkpoint as it is stored.
func (p *checkpoint) item(owner string, lease time.Time) item.Item {
	p.j.mu.Lock()
	defer p.j.mu.Unlock()
	it := item.Clone(p.key)
	it[schema.EntityAttr] = item.S(p.mark)
	it[formatAttr], it[workAttr], it[fenceAttr] = item.N(pointFormat), item.S(p.work), item.N(strconv.FormatInt(p.fence, 10))
	it[leaseAttr] = item.N(strconv.FormatInt(lease.UnixMilli(), 10))
	if owner != "" {
		it[ownerAttr] = item.S(owner)
	}
	var list []types.AttributeValue
	for _, x := range p.j.segments {
		m := item.Item{doneAttr: &types.AttributeValueMemberBOOL{Value: x.done}}
		if x.after != nil {
			m[afterAttr] = &types.AttributeValueMemberM{Value: x.after}
		}
		list = append(list, &types.AttributeValueMemberM{Value: m})
	}
	it[segmentsAttr] = &types.AttributeValueMemberL{Value: list}
	r, counts := p.j.report, item.Item{}
	for name, n := range r.counters() {
		counts[name] = item.N(strconv.Itoa(*n))
	}
	for name, n := range r.copied() {
		if *n > 0 {
			counts[name] = item.N(strconv.Itoa(*n))
		}
	}
	decimal := func(f float64) types.AttributeValue { return item.N(strconv.FormatFloat(f, 'f', -1, 64)) }
	counts["readUnits"], counts["writeUnits"] = decimal(r.Cost.ReadUnits), decimal(r.Cost.WriteUnits)
	it[countsAttr] = &types.AttributeValueMemberM{Value: counts}
	it[reasonsAttr], it[problemsAttr] = countMap(r.Reasons), countMap(r.Problems)
	return it
}

func countMap[K ~string](m map[K]int) types.AttributeValue {
	av := &types.AttributeValueMemberM{Value: item.Item{}}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		av.Value[string(k)] = item.N(strconv.Itoa(m[k]))
	}
	return av
}

// keepAlive renews the lease while work runs, and cancels work when the lease is lost.
func (p *checkpoint) keepAlive(ctx context.Context, work func(context.Context) error) error {
	return leases.Keep(ctx, ErrLeaseLost, p.renewIfDue, work)
}

// renewIfDue renews the lease if that is due.
func (p *checkpoint) renewIfDue(ctx context.Context) error {
	p.mu.Lock()
	due := leases.Due(p.j.runner.Clock(), p.lease)
	p.mu.Unlock()
	if !due {
		return nil
	}
	p.j.saving.Lock()
	defer p.j.saving.Unlock()
	return p.save(ctx)
}

// release gives up the lease after the error err, even if ctx is done.
func (p *checkpoint) release(ctx context.Context, err error) error {
	if errors.Is(err, ErrLeaseLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	guard := expr.Compare(expr.Eq, expr.Attr(fenceAttr), item.N(strconv.FormatInt(p.fence, 10)))
	if failed := p.put(ctx, guard, ""); failed != nil {
		return errors.Join(err, fmt.Errorf("the lease of checkpoint %s was not given up: %w", p.name, failed))
	}
	return err
}

// text returns the content of a string or a number, "" for others.
func text(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// number returns a number, 0 for others.
func number[N int | int64 | float64](av types.AttributeValue) N {
	f, err := strconv.ParseFloat(text(av), 64)
	if err != nil {
		return 0
	}
	return N(f)
}

// fields returns the entries of a map, nil for others.
func fields(av types.AttributeValue) item.Item {
	m, _ := av.(*types.AttributeValueMemberM)
	if m == nil {
		return nil
	}
	return m.Value
}
