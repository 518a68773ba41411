package timeline

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout/generations"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lease"
)

// storedRow is a row in the table. The rows of one generation are one partition, in group order, or several.
type storedRow[K comparable, S any] struct {
	_ entity.Key `name:"Timeline" pk:"$#{generation}" sk:"$#{group}"`
	_ expiring

	Generation string    `dynamodbav:"generation"` // see partitionOf
	Group      string    `dynamodbav:"group"`
	Key        K         `dynamodbav:"key"`
	State      S         `dynamodbav:"state"`
	Events     int64     `dynamodbav:"events"`
	First      time.Time `dynamodbav:"first"`
	Last       time.Time `dynamodbav:"last"`
	Touched    time.Time `dynamodbav:"touched"`
	Position   string    `dynamodbav:"position"`
	Newest     time.Time `dynamodbav:"newest,omitempty"` // latest accept time of its events
	Tally      tally     `dynamodbav:"tally,omitempty"`  // of the events accepted less than 15 minutes before Newest
	From       int64     `dynamodbav:"from,omitempty"`   // minute whose sum covers all until Tally's other minutes begin; 0: its own
	Marks      []byte    `dynamodbav:"marks,omitempty"`  // marks of the last applied events, 8 bytes each
	Fence      int64     `dynamodbav:"fence"`
	Revision   int64     `dynamodbav:"revision,omitempty"` // grows with each write; absent in a row that a build wrote
}

// directory is a part of the list of rows at which pages start.
type directory struct {
	_ entity.Key `name:"TimelinePages" pk:"$#{generation}" sk:"$#{chunk}"`

	Generation string   `dynamodbav:"generation"`
	Chunk      int      `dynamodbav:"chunk" entity:"zero"`
	Groups     []string `dynamodbav:"groups"`         // of every hundredth row
	Ends       []byte   `dynamodbav:"ends,omitempty"` // expiry of these rows and the 99 after each, if rows expire
	Fence      int64    `dynamodbav:"fence"`
}

// partRead is a part of the history that a worker of a job has read completely.
type partRead struct {
	_ entity.Key `name:"TimelineParts" pk:"$#{generation}" sk:"$#{source}#{of}#{segment}"`

	Generation string    `dynamodbav:"generation"`
	Source     int       `dynamodbav:"source" entity:"zero"` // its number in the ticket
	Of         int       `dynamodbav:"of"`
	Segment    int       `dynamodbav:"segment" entity:"zero"`
	Counts     Counters  `dynamodbav:"counters"`
	Newest     time.Time `dynamodbav:"newest,omitempty"` // latest accept time of its events
	Evaluated  int64     `dynamodbav:"evaluated" entity:"zero"`
	Fence      int64     `dynamodbav:"fence"`
}

// manifest is the one item of a view that says which rows are served, and who may change them.
type manifest struct {
	_ entity.Key `name:"TimelineManifest" pk:"$#{view}" sk:"$"`

	lease.Term // of the builder

	View     string       `dynamodbav:"view"`
	Format   int          `dynamodbav:"format"`
	Active   *generation  `dynamodbav:"active,omitempty"`
	Building *generation  `dynamodbav:"building,omitempty"`
	Retired  []retirement `dynamodbav:"retired,omitempty"`
	Failure  *Failure     `dynamodbav:"failure,omitempty"`
	Applied  bool         `dynamodbav:"applied,omitempty"` // Apply has been called: rows change without a lease
}

// generation is one set of rows.
type generation struct {
	ID           string            `dynamodbav:"id"`
	Fingerprint  string            `dynamodbav:"fingerprint"`
	Version      int               `dynamodbav:"version,omitempty"` // of the definition
	Started      time.Time         `dynamodbav:"started"`
	Finished     time.Time         `dynamodbav:"finished,omitempty"`
	Through      time.Time         `dynamodbav:"through"`          // the rows contain events accepted up to here
	Newest       time.Time         `dynamodbav:"newest,omitempty"` // latest accept time of their events, by the events' own clocks
	ReadAt       time.Time         `dynamodbav:"now"`              // events that had expired by then are not in the rows
	Rows         int64             `dynamodbav:"rows"`
	Counts       Counters          `dynamodbav:"counters"`
	Route        string            `dynamodbav:"route"`
	Segments     int               `dynamodbav:"segments,omitempty"`
	Positions    map[string]string `dynamodbav:"positions,omitempty"` // segment → where to resume; "end" if it is done
	Evaluated    int64             `dynamodbav:"evaluated"`           // items read so far
	Unlisted     bool              `dynamodbav:"unlisted,omitempty"`  // there may be rows that the directory does not list
	Baselines    bool              `dynamodbav:"baselines,omitempty"` // oldest states of some items had expired
	HistoryStart time.Time         `dynamodbav:"begins,omitempty"`    // sources with expiring events had none before; zero: unknown
	Expected     int64             `dynamodbav:"expected"`            // items in the tables, by their statistics
	Fence        int64             `dynamodbav:"fence,omitempty"`     // of its builder
	Closing      bool              `dynamodbav:"closing,omitempty"`   // its rows are written, and change under their revisions from now on
	Since        time.Time         `dynamodbav:"since,omitempty"`     // accept time of an event that Apply left to the next catch-up
	Job          bool              `dynamodbav:"job,omitempty"`       // a Job has built it, and stored the parts that it has read
}

// retirement is a generation that is no longer served, but still read by those who started before.
type retirement struct {
	ID       string      `dynamodbav:"id"`
	At       time.Time   `dynamodbav:"at"`
	Was      *generation `dynamodbav:"was,omitempty"`      // as it was served; nil for an abandoned build
	Sweeping bool        `dynamodbav:"sweeping,omitempty"` // rows may be missing
	Job      bool        `dynamodbav:"job,omitempty"`      // as in the generation
}

// activeBuild returns the generation that a builder with a lease is building; nil without one, or if the lease has
// ended.
func (m *manifest) activeBuild(now time.Time) *generation {
	if g := m.Building; g != nil && g.Fence == m.Fence && m.Token != "" && m.Until.After(now) {
		return g
	}
	return nil
}

// rereads reports whether the builder at work may have read the history again, to bring g up to date. The end of its lease does
// not show that it has stopped.
func (m *manifest) rereads(g *generation) bool {
	switch b := m.Building; {
	case m.Token == "":
		return false
	case b != nil && b.Fence == m.Fence:
		return g == b && b.Closing
	}
	return g == m.Active
}

// servesMoreThan reports whether the served rows contain events that g, which is being built, does not.
func (m *manifest) servesMoreThan(g *generation) bool {
	return m.Active != nil && m.Active.Through.After(g.Through)
}

// progress returns how much of a build is done, from 0 to 1; nil if unknown.
func (g *generation) progress() *float64 {
	if g == nil || g.Expected <= 0 {
		return nil
	}
	p := min(float64(g.Evaluated)/float64(g.Expected), 0.99)
	return &p
}

// expiring makes rows expire with the retention of their view.
type expiring struct{ _ expiringDecl }

// expiry is the compiled declaration.
type expiry struct {
	attr  string
	from  *schema.Attr
	after time.Duration
}

var _ bind.ExpirySetter = (*expiry)(nil) // without it rows would silently stay

// expiringDecl is the declaration that a field of type expiring is.
type expiringDecl struct{}

func (expiringDecl) Declare(d *schema.Decl) {
	s := d.Schema
	if group := s.Attr("group"); s.Options.Secret {
		group.Role.Roles = append(group.Role.Roles, schema.Secret) // which a group key may be
	}
	if s.Options.After == nil {
		return
	}
	d.Keep(&expiry{attr: s.Options.TTL, from: s.Attr("touched"), after: *s.Options.After})
	s.Expires, s.UsesTTL = true, true
}

// Stamps returns the TTL attribute of rows.
func (e *expiry) Stamps() string { return e.attr }

// Derives reports that rows expire without the caller's doing.
func (e *expiry) Derives() bool { return true }

// From returns the attribute from which the retention counts.
func (e *expiry) From() *schema.Attr { return e.from }

// Stamp returns the TTL value of a row.
func (e *expiry) Stamp(from types.AttributeValue, _ time.Time) (types.AttributeValue, error) {
	t, err := e.from.Format.FromValue(from)
	if err != nil {
		return nil, err
	}
	return item.N(strconv.FormatInt(e.end(t), 10)), nil
}

func (e *expiry) end(t time.Time) int64 { return endOf(t, e.after) }

// endOf returns when something expires that lives for a duration after t, in seconds since 1970.
func endOf(t time.Time, after time.Duration) int64 { return t.Unix() + int64(after/time.Second) }

// Chosen reports whether a caller chose the expiry, which none does.
func (e *expiry) Chosen(types.AttributeValue) bool { return false }

// stores are the stored items of one view.
type stores struct {
	rows      rowStore
	pages     *entity.Store[directory]
	parts     *entity.Store[partRead]
	manifests *entity.Store[manifest]
	leases    *lease.Leases
	core      *engine.Core
}

// itemOptions returns the store options for a view's items; what names the kind of item.
func itemOptions(p Projection[any, any], what string) []entity.StoreOption {
	return []entity.StoreOption{
		entity.Named("Timeline" + what + "-" + p.Name),
		bind.Option{Setting: func(o *bind.Options) {
			o.Table, o.Own, o.Derived, o.Sources = p.Table, true, true, sourceNames(p.Source)
		}},
	}
}

// sourceNames returns the entities whose events a source yields, in order. Feeds have none.
func sourceNames(s Source) []string {
	var names []string
	for _, o := range s.origins() {
		if o.core != nil {
			names = append(names, o.core.Schema.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rowOptions returns the store options for a view's rows.
func rowOptions(d *definition) []entity.StoreOption {
	return append(itemOptions(d.Projection, ""), bind.Option{Setting: func(o *bind.Options) {
		if o.Secret = holdSecret(d.types(), map[reflect.Type]bool{}); d.Retention > 0 {
			o.After = &d.Retention
		}
	}})
}

// openStores declares the page directory, the parts of jobs and the manifest of a view.
func openStores(db *entity.DB, p Projection[any, any], rows rowStore) (s stores, err error) {
	s.rows = rows
	if s.pages, err = entity.New[directory](db, itemOptions(p, "Pages")...); err != nil {
		return s, err
	}
	if s.parts, err = entity.New[partRead](db, itemOptions(p, "Parts")...); err != nil {
		return s, err
	}
	s.manifests, err = entity.New[manifest](db, itemOptions(p, "Manifest")...)
	if err == nil {
		s.core = engine.Of(s.manifests)
		s.leases = lease.Over(engine.NewHandle(s.core), lease.Options{})
	}
	return s, err
}

// fenced marks a write as safe to send again after a lost answer. Its condition is on the fence, which only grows, so
// it fails for ever once another builder has written, and a builder does not write an item again before the first
// write has ended. The manifest is never removed, so creating it twice fails.
func fenced() bind.Option {
	return bind.Option{Setting: func(o *bind.Options) { o.SoleWriter = true }}
}

// rowStore stores the rows of a view by generation and group.
type rowStore interface {
	// put stores a row unless a builder with a higher fence did, or the row is not as it was read; see groupState.stored.
	put(ctx context.Context, generation string, fence int64, g *groupState) error
	// putAll stores rows in one transaction: all of them, or none.
	putAll(ctx context.Context, generation string, fence int64, rows []*groupState) error
	// drop deletes a row under the same condition.
	drop(ctx context.Context, generation string, fence int64, g *groupState) error
	get(ctx context.Context, generation, group string) (*groupState, error)
	// getAll returns the rows of groups, consistently, also those that have expired; nil for one that does not exist.
	getAll(ctx context.Context, generation string, groups []string) ([]*groupState, error)
	// all yields the rows of a generation in group order.
	all(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[*groupState, error]
	// list is all with a part of each row only.
	list(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[rowSummary, error]
	// after and from narrow all to the groups after one, or from it on.
	after(group string) entity.QueryOption
	from(group string) entity.QueryOption
	remove(ctx context.Context, generation string, groups []string) error
}

// rowSummary is the part of a row that the page directory needs.
type rowSummary struct {
	Group   string    `dynamodbav:"group"`
	Touched time.Time `dynamodbav:"touched"`
}

// typedRowStore stores rows with their types.
type typedRowStore[K comparable, S any] struct {
	db    *entity.DB
	store *entity.Store[storedRow[K, S]]
}

// groupState returns a row as the state from which a fold continues.
func (r storedRow[K, S]) groupState() *groupState {
	return &groupState{
		group: r.Group, key: r.Key, state: &r.State, events: r.Events, first: r.First, last: r.Last, touched: r.Touched,
		position: r.Position, newest: r.Newest, tally: r.Tally, from: r.From, recent: r.Marks,
		stored: &storedVersion{exists: true, revision: r.Revision, fence: r.Fence},
	}
}

// row returns a state as it is stored.
func (s *typedRowStore[K, S]) row(generation string, fence int64, g *groupState) storedRow[K, S] {
	r := storedRow[K, S]{
		Generation: partitionOf(generation, g.group), Group: g.group, Key: g.key.(K), State: *g.state.(*S), Events: g.events,
		First: g.first, Last: g.last, Touched: g.touched, Position: g.position, Fence: fence, Newest: g.newest,
	}
	r.Tally, r.From = g.keptTally()
	if g.marks {
		r.Marks = g.recent.last()
	}
	if g.stored != nil {
		r.Revision = g.stored.revision + 1
	}
	return r
}

// under holds unless a builder with a higher fence has written the row, and if the row is as it was read.
func (s *typedRowStore[K, S]) under(fence int64, g *groupState) entity.GuardOption {
	f := entity.Fields[storedRow[K, S]]()
	return asRead(&f.Fence, &f.Revision, fence, g)
}

// asRead is the guard of a write of g's row, whose attributes have these addresses. Nobody reads a row before a build has written it
// first, so that write must not find a revision. It is a function because a program has a method once for each view.
func asRead(fence, revision *int64, mine int64, g *groupState) entity.GuardOption {
	unfenced := entity.Or(entity.NotExists(fence), entity.Le(fence, mine))
	switch {
	case g.stored == nil:
		return entity.If(unfenced, entity.NotExists(revision))
	case !g.stored.exists:
		return entity.If(entity.NotExists(fence))
	case g.stored.revision == 0:
		return entity.If(entity.Le(fence, mine), entity.NotExists(revision))
	}
	return entity.If(unfenced, entity.Eq(revision, g.stored.revision))
}

func (s *typedRowStore[K, S]) put(ctx context.Context, generation string, fence int64, g *groupState) error {
	_, err := s.store.Put(ctx, s.row(generation, fence, g), s.under(fence, g), fenced())
	return err
}

func (s *typedRowStore[K, S]) putAll(ctx context.Context, generation string, fence int64, rows []*groupState) error {
	ops := make([]entity.Op, len(rows))
	for i, g := range rows {
		ops[i] = s.store.Op().Put(s.row(generation, fence, g), s.under(fence, g), fenced())
	}
	return s.db.Transact(ctx, ops...)
}

func (s *typedRowStore[K, S]) drop(ctx context.Context, generation string, fence int64, g *groupState) error {
	err := s.store.Delete(ctx, storedRow[K, S]{Generation: partitionOf(generation, g.group), Group: g.group}, s.under(fence, g), fenced())
	if errors.Is(err, entity.ErrNotFound) {
		return nil
	}
	return err
}

func (s *typedRowStore[K, S]) get(ctx context.Context, generation, group string) (*groupState, error) {
	r, err := s.store.Get(ctx, storedRow[K, S]{Generation: partitionOf(generation, group), Group: group})
	return r.groupState(), err
}

func (s *typedRowStore[K, S]) getAll(ctx context.Context, generation string, groups []string) ([]*groupState, error) {
	keys := make([]storedRow[K, S], len(groups))
	for i, group := range groups {
		keys[i] = storedRow[K, S]{Generation: partitionOf(generation, group), Group: group}
	}
	found, err := s.store.GetMany(ctx, keys, entity.Consistent(), entity.IncludeExpired())
	if err != nil {
		return nil, err
	}
	rows := make([]*groupState, len(groups))
	for i, r := range found {
		if r != nil {
			rows[i] = r.groupState()
		}
	}
	return rows, nil
}

func (s *typedRowStore[K, S]) query(generation string, opts ...entity.QueryOption) entity.Query[storedRow[K, S]] {
	var keys []storedRow[K, S]
	for _, partition := range generations.Partitions(generation) {
		keys = append(keys, storedRow[K, S]{Generation: partition})
	}
	if len(keys) == 1 {
		return s.store.Query(keys[0], opts...)
	}
	return s.store.QueryAny(keys, opts...)
}

func (s *typedRowStore[K, S]) all(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[*groupState, error] {
	return func(yield func(*groupState, error) bool) {
		for r, err := range s.query(generation, opts...).All(ctx) {
			if !yield(r.groupState(), err) {
				return
			}
		}
	}
}

func (s *typedRowStore[K, S]) list(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[rowSummary, error] {
	var parts []iter.Seq2[rowSummary, error]
	for _, partition := range generations.Partitions(generation) {
		q := s.store.Query(storedRow[K, S]{Generation: partition}, opts...)
		parts = append(parts, entity.Project[rowSummary](q).All(ctx)) // which takes no query of several partitions
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return inGroupOrder(parts)
}

func (s *typedRowStore[K, S]) after(group string) entity.QueryOption {
	return entity.Gt(&entity.Fields[storedRow[K, S]]().Group, group)
}

func (s *typedRowStore[K, S]) from(group string) entity.QueryOption {
	return entity.Ge(&entity.Fields[storedRow[K, S]]().Group, group)
}

func (s *typedRowStore[K, S]) remove(ctx context.Context, generation string, groups []string) error {
	batch := make([]storedRow[K, S], len(groups))
	for i, group := range groups {
		batch[i] = storedRow[K, S]{Generation: partitionOf(generation, group), Group: group}
	}
	_, err := s.store.DeleteMany(ctx, batch)
	return err
}

// sweepGrace is the time that replaced rows stay for readers that began before.
const sweepGrace = 15 * time.Minute

// Sweep removes the rows of generations that were replaced or abandoned more than 15 minutes ago, or that are followed
// by 50 later ones. Rebuild and CatchUp do so too. It needs the builder's lease, and costs a write for each row and
// two for each generation. Errors: *[BuildingError]; [ErrLeaseLost].
func (v *View[K, S]) Sweep(ctx context.Context) error { return v.opened().sweepDue(ctx) }

func (v *view) sweepDue(ctx context.Context) error {
	return v.core.Measure(ctx, "Timeline.Sweep", v.Name, func(ctx context.Context) error {
		m, err := v.manifest(ctx)
		if err != nil || len(v.due(m)) == 0 && !slices.ContainsFunc(m.Retired, v.ahead) {
			return err
		}
		h, err := v.acquire(ctx, func(*manifest) error { return nil })
		if err != nil {
			return err
		}
		if err := h.held.Keep(ctx, func(ctx context.Context) error { return v.sweep(ctx, h) }); err != nil {
			return h.release(ctx, err, func(*manifest) {})
		}
		return h.save(ctx, func(m *manifest) { m.Term = m.Released() })
	})
}

// maxRetired limits the retired generations that a manifest lists: it is one item, however often a view is rebuilt.
const maxRetired = 50

// due returns the generations that nobody reads any more, and the oldest ones beyond the limit.
func (v *view) due(m *manifest) []retirement {
	var due []retirement
	for i, r := range m.Retired {
		if !r.At.Add(sweepGrace).After(v.now()) || len(m.Retired)-i > maxRetired {
			due = append(due, r)
		}
	}
	return due
}

// ahead reports whether a generation was retired by a clock that is ahead of this one.
func (v *view) ahead(r retirement) bool { return r.At.After(v.now()) }

// clampRetirementTimes restarts the grace of such generations now, since their clock may be years ahead.
func (v *view) clampRetirementTimes(ctx context.Context, h *tenure) error {
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

// sweep removes what is due, after announcing it to readers in the manifest. Removing a generation twice is harmless,
// since no generation is used again.
func (v *view) sweep(ctx context.Context, h *tenure) error {
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
		if err := v.removeGeneration(ctx, r); err != nil {
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

func (v *view) removeGeneration(ctx context.Context, r retirement) error {
	id := r.ID
	var batch []string
	flush := func() error {
		err := retryUnknown(ctx, func() error {
			return v.rows.remove(ctx, id, batch)
		})
		batch = nil
		return err
	}
	for g, err := range v.rows.list(ctx, id, entity.Consistent(), entity.IncludeExpired()) {
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
	err = retryUnknown(ctx, func() error {
		_, err := v.pages.DeleteMany(ctx, chunks)
		return err
	})
	if err != nil || !r.Job {
		return err
	}
	parts, err := v.parts.Query(partRead{Generation: id}, entity.Consistent()).Collect(ctx)
	if err != nil {
		return err
	}
	return retryUnknown(ctx, func() error {
		_, err := v.parts.DeleteMany(ctx, parts)
		return err
	})
}
