package migrate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/layout/recorded"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lease"
)

const (
	pointFormat  = "1"
	rewriteInfix = identify.RewriteMark
)

// Attributes of a checkpoint; docs/evolution.md describes them.
const (
	formatAttr   = "format"
	workAttr     = "work"
	writesAttr   = "writes" // of the term
	segmentsAttr = "segments"
	countsAttr   = "counts"
	reasonsAttr  = "reasons"
	problemsAttr = "problems"
	afterAttr    = "after"
	doneAttr     = "done"
)

// checkpoint is the item that holds the progress of a job, and the lease of it.
type checkpoint struct {
	j      *job
	name   string
	mark   string // entity name that is stored in it
	key    item.Item
	work   string    // fingerprint of the declaration and the options
	stored item.Item // as last read
	held   *lease.Held
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
func fingerprint(s *schema.Schema, newVersion, ends bool) string {
	var b strings.Builder
	line := func(words ...any) { fmt.Fprintln(&b, words...) }
	line(s.Name, s.Prefix, s.Payload, s.Templated, s.HasMetadata, s.Options.TTL, newVersion)
	if ends {
		line("ends")
	}
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
	if s.EventID != nil {
		key(s.RelatedKeys[0])
	}
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

// terms are stored as other packages store them.
var terms = item.Codec{Default: key.Nano}

// errDone ends the acquisition of a checkpoint whose work is done.
var errDone = errors.New("the work is done")

// acquire takes the lease and continues from what the checkpoint says. done is set if the work is done.
func (p *checkpoint) acquire(ctx context.Context) (done bool, err error) {
	p.held, err = lease.AcquireIn(ctx, lease.Over(engine.NewHandle(p.j.c), lease.Options{}), p.mark+" "+p.name, p, func(ctx context.Context, t *lease.Term) error {
		if p.stored != nil {
			if done, err := p.resume(); err != nil || done {
				return cmp.Or(err, errDone)
			}
		}
		return p.Store(ctx, t)
	})
	var taken *lease.TakenError
	switch {
	case err == errDone:
		return true, nil
	case errors.As(err, &taken):
		err = &RunningError{Checkpoint: p.name, Owner: taken.Holder, Until: taken.Until}
	}
	return false, err
}

// Load implements [lease.Record].
func (p *checkpoint) Load(ctx context.Context) (t lease.Term, err error) {
	err = p.j.metered(ctx, func(ctx context.Context) (err error) {
		p.stored, err = p.j.runner.Get(ctx, p.j.c.Table, p.key, true)
		return err
	})
	if err != nil || p.stored == nil {
		return t, err
	}
	if format := text(p.stored[formatAttr]); format != pointFormat {
		return t, &CheckpointError{p.name, "it has format " + format + ", this program reads " + pointFormat}
	}
	err = terms.Decode(p.stored, reflect.ValueOf(&t))
	return t, err
}

// resume takes over the progress of the stored checkpoint.
func (p *checkpoint) resume() (done bool, err error) {
	stored := p.stored
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

// Store implements [lease.Record]: it stores the progress with the lease.
func (p *checkpoint) Store(ctx context.Context, t *lease.Term) error {
	it, err := p.item(t)
	if err != nil {
		return err
	}
	writes := expr.Attr(writesAttr)
	guard := expr.Any(expr.Compare(expr.NotExists, writes), expr.Compare(expr.Eq, writes, item.N(strconv.FormatInt(t.Writes-1, 10))))
	op := &plan.Op{Verb: p.j.verb, Schema: p.j.s, Table: p.j.c.Table, Key: p.key, Asked: plan.Asked{SoleWriter: true}, Needs: plan.Needs{AsStored: true}}
	op.Plan = func(_ context.Context, _ layout.Reader, in *plan.Input) (*plan.Plan, error) {
		it[schema.WriteAttr] = item.S(in.WriteID)
		return &plan.Plan{
			Actions: []plan.Action{{Kind: plan.Put, Table: op.Table, Key: p.key, Item: it, Cond: guard, WriteID: in.WriteID}},
			Meaning: &plan.Fixed{IfRefused: plan.Resolution{Err: entity.ErrConditionFailed}},
		}, nil
	}
	return p.j.metered(ctx, func(ctx context.Context) error {
		_, err := p.j.runner.Run(ctx, op)
		return err
	})
}

// item returns the checkpoint as it is stored.
func (p *checkpoint) item(t *lease.Term) (item.Item, error) {
	it, err := terms.Encode(reflect.ValueOf(*t))
	if err != nil {
		return nil, err
	}
	p.j.mu.Lock()
	defer p.j.mu.Unlock()
	maps.Copy(it, p.key)
	it[schema.EntityAttr] = item.S(p.mark)
	it[formatAttr], it[workAttr] = item.N(pointFormat), item.S(p.work)
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
	return it, nil
}

func countMap[K ~string](m map[K]int) types.AttributeValue {
	av := &types.AttributeValueMemberM{Value: item.Item{}}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		av.Value[string(k)] = item.N(strconv.Itoa(m[k]))
	}
	return av
}

// release gives up the lease after the error err, even if ctx is done.
func (p *checkpoint) release(ctx context.Context, err error) error {
	if errors.Is(err, ErrLeaseLost) {
		return err
	}
	if failed := p.held.Release(ctx); failed != nil {
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
