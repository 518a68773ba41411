package timeline

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// stored is a row as it lies in the table. Rows of one generation are one partition, in the order of their groups.
type storedRow[K comparable, S any] struct {
	_ entity.Key `name:"Timeline" pk:"$#{generation}" sk:"$#{group}"`
	_ expiring

	Generation string    `dynamodbav:"generation"`
	Group      string    `dynamodbav:"group"`
	Key        K         `dynamodbav:"key"`
	State      S         `dynamodbav:"state"`
	Events     int64     `dynamodbav:"events"`
	First      time.Time `dynamodbav:"first"`
	Last       time.Time `dynamodbav:"last"`
	Touched    time.Time `dynamodbav:"touched"`
	Position   string    `dynamodbav:"position"`
	Newest     time.Time `dynamodbav:"newest,omitempty"` // when the last of them was accepted
	Tally      tally     `dynamodbav:"tally,omitempty"`  // of the events that were accepted less than 15 minutes before it
	Fence      int64     `dynamodbav:"fence"`
}

// directory is a part of the list of rows that pages begin at.
type directory struct {
	_ entity.Key `name:"TimelinePages" pk:"$#{generation}" sk:"$#{chunk}"`

	Generation string   `dynamodbav:"generation"`
	Chunk      int      `dynamodbav:"chunk" entity:"zero"`
	Groups     []string `dynamodbav:"groups"`         // of every hundredth row
	Ends       []byte   `dynamodbav:"ends,omitempty"` // for each, when it and the next 99 end, where rows do
	Fence      int64    `dynamodbav:"fence"`
}

// manifest is the one item that says which rows count, and who may change them.
type manifest struct {
	_ entity.Key `name:"TimelineManifest" pk:"$#{view}" sk:"$"`

	View     string       `dynamodbav:"view"`
	Format   int          `dynamodbav:"format"`
	Fence    int64        `dynamodbav:"fence"` // grows with every builder
	Saves    int64        `dynamodbav:"saves"` // grows with every write of the manifest
	Owner    string       `dynamodbav:"owner,omitempty"`
	Lease    time.Time    `dynamodbav:"lease,omitempty"` // until when the owner is trusted to be at work
	Active   *generation  `dynamodbav:"active,omitempty"`
	Building *generation  `dynamodbav:"building,omitempty"`
	Retired  []retirement `dynamodbav:"retired,omitempty"`
	Failure  *Failure     `dynamodbav:"failure,omitempty"`
}

// generation is one set of rows.
type generation struct {
	ID           string            `dynamodbav:"id"`
	Fingerprint  string            `dynamodbav:"fingerprint"`
	Started      time.Time         `dynamodbav:"started"`
	Finished     time.Time         `dynamodbav:"finished,omitempty"`
	Through      time.Time         `dynamodbav:"through"`          // events accepted up to here are in the rows
	Newest       time.Time         `dynamodbav:"newest,omitempty"` // when the last of them was accepted, by the events' own clocks
	ReadAt       time.Time         `dynamodbav:"now"`              // events that had expired by then are not
	Rows         int64             `dynamodbav:"rows"`
	Counts       Counters          `dynamodbav:"counters"`
	Route        string            `dynamodbav:"route"`
	Segments     int               `dynamodbav:"segments,omitempty"`
	Positions    map[string]string `dynamodbav:"positions,omitempty"` // segment → where to go on; "end" when it is through
	Evaluated    int64             `dynamodbav:"evaluated"`           // items read so far
	Unlisted     bool              `dynamodbav:"unlisted,omitempty"`  // rows may have come that the directory does not list
	Baselines    bool              `dynamodbav:"baselines,omitempty"` // items whose oldest states have expired were met
	HistoryStart time.Time         `dynamodbav:"begins,omitempty"`    // sources that lapse had no event before; zero: unknown
	Expected     int64             `dynamodbav:"expected"`            // items that the tables are said to hold
	Fence        int64             `dynamodbav:"fence,omitempty"`     // of the builder that is making it
}

// retirement is a generation that is read no more, but by those who began to.
type retirement struct {
	ID       string      `dynamodbav:"id"`
	At       time.Time   `dynamodbav:"at"`
	Was      *generation `dynamodbav:"was,omitempty"`      // as it was served; nil for one that was given up
	Sweeping bool        `dynamodbav:"sweeping,omitempty"` // rows may be gone
}

// working is the generation that a builder with a lease is making; nil when none is, or the lease has ended.
func (m *manifest) activeBuild(now time.Time) *generation {
	if g := m.Building; g != nil && g.Fence == m.Fence && m.Owner != "" && m.Lease.After(now) {
		return g
	}
	return nil
}

// behind reports that the served rows account for events that a generation which is being made does not.
func (m *manifest) servesMoreThan(g *generation) bool {
	return m.Active != nil && m.Active.Through.After(g.Through)
}

// progress is how far a build is; nil if unknown.
func (g *generation) progress() *float64 {
	if g == nil || g.Expected <= 0 {
		return nil
	}
	p := min(float64(g.Evaluated)/float64(g.Expected), 0.99)
	return &p
}

// expiring lets rows end with the retention of their view.
type expiring struct{}

// expiry is the compiled declaration.
type expiry struct {
	attr  string
	from  *schema.Attr
	after time.Duration
}

var _ plan.ExpirySetter = (*expiry)(nil) // nothing would miss it: rows would merely stay

// Declare is called by this module when a store is built.
func (expiring) Declare(d *schema.Decl) {
	s := d.Schema
	if s.Options.After == nil {
		return
	}
	d.Keep(&expiry{attr: s.Options.TTL, from: s.Attr("touched"), after: *s.Options.After})
	s.Expires, s.UsesTTL = true, true
}

// Stamps is the attribute that rows expire by.
func (e *expiry) Stamps() string { return e.attr }

// Derives reports that rows get an end without a caller.
func (e *expiry) Derives() bool { return true }

// From is the attribute that a row's end is counted from.
func (e *expiry) From() *schema.Attr { return e.from }

// Stamp is the end of a row.
func (e *expiry) Stamp(from types.AttributeValue, _ time.Time) (types.AttributeValue, error) {
	t, err := e.from.Format.FromValue(from)
	if err != nil {
		return nil, err
	}
	return item.N(strconv.FormatInt(e.end(t), 10)), nil
}

func (e *expiry) end(t time.Time) int64 { return endOf(t, e.after) }

// endOf is when something ends that lives for a time after t, in seconds since 1970.
func endOf(t time.Time, after time.Duration) int64 { return t.Unix() + int64(after/time.Second) }

// Chosen reports that a caller chose the end, which none does.
func (e *expiry) Chosen(types.AttributeValue) bool { return false }

// stores are the tables of one view.
type stores struct {
	rows      rowStore
	pages     *entity.Store[directory]
	manifests *entity.Store[manifest]
	core      *core.Core
}

// itemOptions declare items of a view: what says which ones.
func itemOptions(f Projection[any, any], what string) []entity.StoreOption {
	return []entity.StoreOption{
		entity.Named("Timeline" + what + "-" + f.Name),
		forStore{Do: func(o *opt.Spec) { o.Table, o.Own, o.Derived = f.Table, true, true }},
	}
}

// rowOptions declare the rows of a view.
func rowOptions(f Projection[any, any]) []entity.StoreOption {
	return append(itemOptions(f, ""), forStore{Do: func(o *opt.Spec) {
		if f.Retention > 0 {
			o.After = &f.Retention
		}
	}})
}

// open declares the other items of a view.
func openStores(db *entity.DB, f Projection[any, any], rows rowStore) (s stores, err error) {
	s.rows = rows
	if s.pages, err = entity.New[directory](db, itemOptions(f, "Pages")...); err != nil {
		return s, err
	}
	s.manifests, err = entity.New[manifest](db, itemOptions(f, "Manifest")...)
	if err == nil {
		s.core = core.Of(s.manifests)
	}
	return s, err
}

type (
	forStore = opt.ForStore
	forWrite = opt.ForWrite
)

// fenced marks a write as one that may be sent again after a lost answer. Its condition is on the fence, which only
// grows, so that it fails for ever once another builder has written; and a builder writes an item no second time before
// the first write has ended. The manifest is never removed, so that creating it twice is refused.
func fenced() entity.WriteOption {
	return forWrite{Do: func(o *opt.Spec) { o.SoleWriter = true }}
}

// rows are the stored rows of a view, by generation and group.
type rowStore interface {
	// put stores a row unless a builder with a higher fence has.
	put(ctx context.Context, generation string, fence int64, g *groupState) error
	get(ctx context.Context, generation, group string, opts ...entity.ReadOption) (*groupState, error)
	// all yields the rows of a generation in the order of their groups.
	all(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[*groupState, error]
	// list is all with a part of each row only.
	list(generation string, opts ...entity.QueryOption) entity.Query[rowSummary]
	// after and from narrow all to the groups that follow one, or that begin with it.
	after(group string) entity.QueryOption
	from(group string) entity.QueryOption
	remove(ctx context.Context, generation string, groups []string) error
}

// listed is what listing rows needs of them.
type rowSummary struct {
	Group   string    `dynamodbav:"group"`
	Touched time.Time `dynamodbav:"touched"`
}

// rowStore is where rows are stored with their types.
type typedRowStore[K comparable, S any] struct {
	store *entity.Store[storedRow[K, S]]
}

// folded is a row as a replay goes on from it.
func (r storedRow[K, S]) groupState() *groupState {
	return &groupState{
		group: r.Group, key: r.Key, state: &r.State, events: r.Events, first: r.First, last: r.Last, touched: r.Touched,
		position: r.Position, newest: r.Newest, tally: r.Tally,
	}
}

func (s typedRowStore[K, S]) put(ctx context.Context, generation string, fence int64, g *groupState) error {
	f := entity.Fields[storedRow[K, S]]()
	_, err := s.store.Put(ctx, storedRow[K, S]{
		Generation: generation, Group: g.group, Key: g.key.(K), State: *g.state.(*S), Events: g.events,
		First: g.first, Last: g.last, Touched: g.touched, Position: g.position, Fence: fence,
		Newest: g.newest, Tally: g.tally.since(g.newest),
	}, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, fence))), fenced())
	return err
}

func (s typedRowStore[K, S]) get(ctx context.Context, generation, group string, opts ...entity.ReadOption) (*groupState, error) {
	r, err := s.store.Get(ctx, storedRow[K, S]{Generation: generation, Group: group}, opts...)
	return r.groupState(), err
}

func (s typedRowStore[K, S]) query(generation string, opts ...entity.QueryOption) entity.Query[storedRow[K, S]] {
	return s.store.Query(storedRow[K, S]{Generation: generation}, opts...)
}

func (s typedRowStore[K, S]) all(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[*groupState, error] {
	return func(yield func(*groupState, error) bool) {
		for r, err := range s.query(generation, opts...).All(ctx) {
			if !yield(r.groupState(), err) {
				return
			}
		}
	}
}

func (s typedRowStore[K, S]) list(generation string, opts ...entity.QueryOption) entity.Query[rowSummary] {
	return entity.Project[rowSummary](s.query(generation, opts...))
}

func (s typedRowStore[K, S]) after(group string) entity.QueryOption {
	return entity.Gt(&entity.Fields[storedRow[K, S]]().Group, group)
}

func (s typedRowStore[K, S]) from(group string) entity.QueryOption {
	return entity.Ge(&entity.Fields[storedRow[K, S]]().Group, group)
}

func (s typedRowStore[K, S]) remove(ctx context.Context, generation string, groups []string) error {
	batch := make([]storedRow[K, S], len(groups))
	for i, group := range groups {
		batch[i] = storedRow[K, S]{Generation: generation, Group: group}
	}
	_, err := s.store.DeleteMany(ctx, batch)
	return err
}

// grace is how long rows of an earlier generation stay for those who began to read them.
const sweepGrace = 15 * time.Minute

// Sweep removes the rows of generations that were replaced, or given up, more than 15 minutes ago, and of those that 50 later
// ones have followed; Rebuild and CatchUp do it too. It needs the lease of a builder and costs a write per row, and two for each generation. Errors: *[BuildingError].
func (v *View[K, S]) Sweep(ctx context.Context) error { return v.opened().sweepDue(ctx) }

func (v *view) sweepDue(ctx context.Context) error {
	return v.core.Measure(ctx, "Timeline.Sweep", v.Name, func(ctx context.Context) error {
		m, err := v.manifest(ctx)
		if err != nil || len(v.due(m)) == 0 && !slices.ContainsFunc(m.Retired, v.ahead) {
			return err
		}
		h, err := acquire(ctx, v.manifests, v.Name, v.core.Runner.NewID(), v.core.Runner.Clock, func(*manifest) error { return nil })
		if err != nil {
			return err
		}
		if err := h.keepAlive(ctx, func(ctx context.Context) error { return v.sweep(ctx, h) }); err != nil {
			return h.release(ctx, err, func(*manifest) {})
		}
		return h.save(ctx, func(m *manifest) { m.Owner = "" })
	})
}

// mostRetired is how many earlier generations a manifest lists: it is one item, however fast one build follows the other.
const maxRetired = 50

// due are the generations that nobody reads any more, and the oldest of those that are too many.
func (v *view) due(m *manifest) []retirement {
	var due []retirement
	for i, r := range m.Retired {
		if !r.At.Add(sweepGrace).After(v.now()) || len(m.Retired)-i > maxRetired {
			due = append(due, r)
		}
	}
	return due
}

// ahead reports that a generation was retired by a clock that is ahead of this one.
func (v *view) ahead(r retirement) bool { return r.At.After(v.now()) }

// settleClocks counts the grace of such generations from now: their own clock may be years ahead.
func (v *view) clampRetirementTimes(ctx context.Context, h *lease) error {
	if m := h.last(); !slices.ContainsFunc(m.Retired, v.ahead) {
		return nil
	}
	now := v.now()
	return h.save(ctx, func(m *manifest) {
		m.Retired = slices.Clone(m.Retired)
		for i := range m.Retired {
			m.Retired[i].At = earlier(m.Retired[i].At, now)
		}
	})
}

// sweep removes what is due, after it has announced to readers that rows will be missing. Removing it twice, or by two, does no
// harm: no generation is ever used again.
func (v *view) sweep(ctx context.Context, h *lease) error {
	if err := v.clampRetirementTimes(ctx, h); err != nil {
		return err
	}
	m := h.last()
	for _, r := range v.due(&m) {
		err := h.save(ctx, func(m *manifest) {
			m.Retired = slices.Clone(m.Retired)
			for i := range m.Retired {
				if m.Retired[i].ID == r.ID {
					m.Retired[i].Sweeping = true
				}
			}
		})
		if err != nil {
			return err
		}
		if err := v.removeGeneration(ctx, h, r.ID); err != nil {
			return err
		}
		err = h.save(ctx, func(m *manifest) {
			m.Retired = slices.DeleteFunc(slices.Clone(m.Retired), func(x retirement) bool { return x.ID == r.ID })
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *view) removeGeneration(ctx context.Context, h *lease, id string) error {
	var batch []string
	flush := func() error {
		err := retryUnknown(ctx, func() error {
			return v.rows.remove(ctx, id, batch)
		})
		if batch = nil; err == nil {
			err = h.renewIfDue(ctx)
		}
		return err
	}
	for g, err := range v.rows.list(id, entity.Consistent(), entity.IncludeExpired()).All(ctx) {
		if err != nil {
			return err
		}
		if batch = append(batch, g.Group); len(batch) == 500 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	chunks, err := v.pages.Query(directory{Generation: id}, entity.Consistent()).Collect(ctx)
	if err != nil {
		return err
	}
	return retryUnknown(ctx, func() error {
		_, err := v.pages.DeleteMany(ctx, chunks)
		return err
	})
}
