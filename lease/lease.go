package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
)

var (
	// ErrTaken reports that another holds the lease; it is a *[TakenError].
	ErrTaken = bind.Sentinel(bind.Unavailable, "another holds the lease")
	// ErrLost reports that the lease is not held any more. Another took it, it was released, or it was not renewed in time.
	ErrLost = bind.Sentinel(bind.Conflict, "the lease is lost")
)

// TakenError says who holds a lease. It matches [ErrTaken].
type TakenError struct {
	Name, Holder string
	Until        time.Time // then it can be taken, unless it is renewed, by the clock of this process
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("lease %s: %v, until %v", e.Name, ErrTaken, e.Until)
}

// Unwrap returns [ErrTaken].
func (e *TakenError) Unwrap() error { return ErrTaken }

// SkewError reports that the clock of a holder is ahead of this process by more than Skew, or was when it renewed the lease. It is joined
// with [ErrLost], or with a *[TakenError]. [Options] has the Skew.
type SkewError struct {
	Name, Holder string
	By           time.Duration // how far in the future the holder renewed the lease
}

func (e *SkewError) Error() string {
	return fmt.Sprintf("lease %s was renewed %v in the future: the clocks of its holders differ too much", e.Name, e.By)
}

// Options say where leases are stored, and how long they last. The zero value of each field is its default.
type Options struct {
	Table    string        // logical name, as in entity.Key; default: that of Config.Table
	Duration time.Duration // after its last renewal others can take a lease; default 30 seconds
	Skew     time.Duration // by how much a clock may be ahead of that of a holder, at most half of Duration; default 2 seconds
	Holder   string        // what errors of others call this process; default its host and process id
}

// Term is the part of a stored record that says who holds the lease. The record is never removed, since it has the last fence.
type Term struct {
	Holder  string    `dynamodbav:"holder,omitempty"`
	Token   string    `dynamodbav:"token,omitempty"` // of the acquisition; absent while nobody holds the lease
	Fence   int64     `dynamodbav:"fence"`           // every acquisition adds one
	Writes  int64     `dynamodbav:"writes"`          // every write of the record adds one
	Renewed time.Time `dynamodbav:"renewed,omitempty"`
	Until   time.Time `dynamodbav:"until,omitempty"` // then others may take the lease: the holder's Duration after Renewed
}

// Released returns the term of a lease that nobody holds. The fence stays.
func (t Term) Released() Term { return Term{Fence: t.Fence, Writes: t.Writes} }

// A Record stores a lease: in its own item, or a record of another package of this module that has a [Term] in it. Load reads it, strongly
// consistently; the term of a missing record is zero. Store writes it with a term, which it may change, over the record with a write less, or else
// returns entity.ErrConditionFailed.
type Record interface {
	Load(ctx context.Context) (Term, error)
	Store(ctx context.Context, t *Term) error
}

// After returns the options for a Put of a record, whose number of writes has the given address, over the one with a write less than t. So a request
// that is sent again, or arrives late, is refused.
func After(writes *int64, t *Term) []entity.WriteOption {
	return []entity.WriteOption{
		entity.If(entity.Or(entity.NotExists(writes), entity.Eq(writes, t.Writes-1))),
		bind.Option{Setting: func(o *bind.Options) { o.SoleWriter = true }},
	}
}

// item is a lease of its own.
type item struct {
	_    entity.Key `name:"Leases" pk:"$#{name}" sk:"$"`
	Name string     `dynamodbav:"name"`
	Term
}

// Leases takes leases. It is safe for concurrent use.
type Leases struct {
	_      opener
	o      Options
	c      *engine.Core
	store  *entity.Store[item]
	unsure sync.Map // name → token of an acquisition that failed, and may have been applied
}

// New declares the items of leases on db, as the entity Leases, or Leases-Table if that is given. It does no I/O. Errors: *entity.InputError for
// durations that do not fit; those of entity.New.
func New(db *entity.DB, o Options) (*Leases, error) {
	store, err := entity.New[item](db, entity.Named(strings.TrimSuffix("Leases-"+o.Table, "-")), bind.Option{Setting: func(w *bind.Options) { w.Table, w.Own = o.Table, true }})
	if err != nil {
		return nil, err
	}
	l := Over(store, o)
	if l.store = store; l.o.Skew < 0 || l.o.Skew > l.o.Duration/2 {
		problem := fmt.Sprintf("it must be positive and at most half of Duration; they are %v and %v", l.o.Skew, l.o.Duration)
		return nil, &entity.InputError{Code: bind.CodeLease, Type: "lease.Options", Field: "Skew", Problem: problem}
	}
	return l, nil
}

// With gives options to the [Leases] that entity.Bind opens.
func With(o Options) entity.BindOption {
	return bind.Option{Setting: func(all *bind.Options) {
		all.Bound = append(all.Bound, bind.Bound{Type: reflect.TypeFor[Leases](), Value: o})
	}}
}

// opener opens leases for entity.Bind.
type opener struct{}

func (opener) OpenSole(db *entity.DB, _ string, given []any, _ map[reflect.Type]any) (handle any, used int, err error) {
	if len(given) == 0 {
		handle, err = New(db, Options{})
		return handle, -1, err
	}
	handle, err = New(db, given[0].(Options))
	return handle, 0, err
}

// Over returns leases of records in the table of h; it is for packages of this module.
func Over(h entity.Handle, o Options) *Leases {
	host, _ := os.Hostname()
	o.Holder = cmp.Or(o.Holder, fmt.Sprintf("%s/%d", host, os.Getpid()))
	o.Duration, o.Skew = cmp.Or(o.Duration, 30*time.Second), cmp.Or(o.Skew, 2*time.Second)
	return &Leases{o: o, c: engine.Of(h)}
}

// record is the item of a lease, a [Record].
type record struct {
	store *entity.Store[item]
	name  string
}

func (r record) Load(ctx context.Context) (Term, error) {
	it, err := r.store.Get(ctx, item{Name: r.name}, entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		err = nil
	}
	return it.Term, err
}

func (r record) Store(ctx context.Context, t *Term) error {
	_, err := r.store.Put(ctx, item{Name: r.name, Term: *t}, After(&entity.Fields[item]().Writes, t)...)
	return err
}

// Acquire takes the lease of a name, any text, with a new fence: one that nobody holds, that has ended, or that calls of this process with the
// same DB have seen unchanged for its holder's Duration, whatever end is stored in it. If Acquire fails and its write may have been applied, the next
// Acquire of these Leases does not wait for its end; and if ctx has ended, Acquire gives up the lease, for at most 5 seconds.
//
// It costs a read and a write, and as much for giving up. Errors: *[TakenError] while another holds it, also in this process, with a *[SkewError]
// if the holder's clock is ahead; *entity.InputError for an empty name; those of requests.
func (l *Leases) Acquire(ctx context.Context, name string) (*Held, error) {
	if l == nil || l.c == nil {
		return nil, engine.Unopened(reflect.TypeFor[*Leases]())
	}
	rec := record{l.store, name}
	h, err := AcquireIn(ctx, l, name, rec, rec.Store)
	if err != nil {
		return nil, err
	}
	op := *engine.PlanOf(ctx, l.store.Op().CheckExists(item{Name: name}, entity.Eq(&entity.Fields[item]().Token, h.token)))
	exists := op.Plan
	op.Plan = func(ctx context.Context, r layout.Reader, in *plan.Input) (*plan.Plan, error) {
		p, err := exists(ctx, r, in)
		if err == nil {
			p.Meaning = &plan.Fixed{IfRefused: plan.Resolution{Err: ErrLost}}
		}
		return p, err
	}
	h.op = engine.NewWrite[item](engine.Operation{Core: l.c, Op: &op})
	return h, nil
}

// AcquireIn takes the lease of a record, which store writes; it is for packages of this module. The result has no use with an error.
func AcquireIn(ctx context.Context, l *Leases, name string, rec Record, store func(context.Context, *Term) error) (h *Held, err error) {
	if err := engine.CheckContext(ctx); err != nil {
		return nil, err
	}
	h = &Held{l: l, name: name, rec: rec, token: l.c.Runner.NewID(), turn: make(chan struct{}, 1)}
	token, again := l.unsure.LoadAndDelete(name)
	if again {
		h.token = token.(string)
	}
	if h.term, err = rec.Load(ctx); err == nil {
		err = h.save(ctx, true, store)
	}
	if err == nil || errors.Is(err, ErrTaken) {
		return h, err
	}
	l.unsure.Store(name, h.token)
	if ctx.Err() != nil && (again || entity.IsAmbiguous(err)) {
		h.abandon(ctx)
	}
	return h, err
}

// giveUp returns a context for giving up a lease, also after ctx has ended.
func giveUp(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
}

// abandon gives up the lease if the write of an acquisition has taken it, or else writes the record so that the write is refused when it arrives.
// If that fails, the lease ends by itself.
func (h *Held) abandon(ctx context.Context) {
	ctx, cancel := giveUp(ctx)
	defer cancel()
	if t, err := h.rec.Load(ctx); err == nil && (t.Token == h.token || t.Writes == h.term.Writes) {
		t.Writes++
		t = t.Released()
		_ = h.rec.Store(ctx, &t)
	}
}

// sight is a term that another holds, as this process saw it first.
type sight struct {
	token  string
	writes int64
	at     time.Duration // by elapsed, after it was read
}

var begun = time.Now()

// elapsed returns the time by a clock that is never set.
func (l *Leases) elapsed() time.Duration {
	if f := l.c.Runner.Elapsed; f != nil {
		return f()
	}
	return time.Since(begun)
}

// Free returns nil if the lease of a name can be taken, by its term that was just read: nobody holds it; its end has passed; or it was seen for so
// long as its holder keeps it. By then the holder has stopped, whatever the clocks show, since it counts from before it sent what was seen. The
// caller's write has the condition that the number of writes is still that of the term. It is for packages of this module.
func (l *Leases) Free(name string, t Term) error {
	if l == nil || l.c == nil {
		return engine.Unopened(reflect.TypeFor[*Leases]())
	}
	sights, key, now, at := &l.c.Runner.Sights, [2]string{l.c.Table, name}, l.c.Runner.Clock(), l.elapsed()
	if t.Token == "" || now.After(t.Until) {
		sights.Delete(key)
		return nil
	}
	lasts := t.Until.Sub(t.Renewed)
	if t.Renewed.IsZero() || lasts <= 0 { // another program wrote it
		lasts = l.o.Duration
	}
	seen, _ := sights.LoadOrStore(key, sight{t.Token, t.Writes, at})
	first := seen.(sight)
	if first.token != t.Token || first.writes != t.Writes {
		first.at = at
		sights.Store(key, sight{t.Token, t.Writes, at})
	}
	left := first.at + lasts - at
	switch by := t.Renewed.Sub(now); {
	case left <= 0:
		return nil
	case by > l.o.Skew:
		return errors.Join(&TakenError{name, t.Holder, now.Add(left).UTC()}, &SkewError{name, t.Holder, by})
	}
	return &TakenError{name, t.Holder, t.Until}
}

// Held is a lease that [Leases.Acquire] has taken. It is safe for concurrent use.
type Held struct {
	l     *Leases
	name  string
	rec   Record
	token string
	fence int64
	op    entity.Op

	turn     chan struct{}       // has an element while the record is written
	term     Term                // as last stored or read; for the one whose turn it is
	end      atomic.Pointer[end] // when the lease counts as lost
	released atomic.Bool         // by this process, or it tried to
}

// end is a time by both clocks of this process.
type end struct {
	at    time.Time
	after time.Duration // by elapsed
}

// ready returns an error for a handle that was not acquired, or a nil context.
func (h *Held) ready(ctx context.Context) error {
	if h == nil || h.l == nil {
		return engine.Unopened(reflect.TypeFor[*Held]())
	}
	return engine.CheckContext(ctx)
}

// Fence returns the number of this acquisition: each has a higher one than all before it. It is 0 for a zero value.
func (h *Held) Fence() int64 { return cmp.Or(h, &Held{}).fence }

// Op returns an operation for DB.Transact and DB.TransactWithToken of the DB of the leases. It checks, as part of the transaction, that nobody has
// taken the lease since, and that it was not released: otherwise the transaction is refused, and the failure of the operation is [ErrLost]. It costs
// two write units and no request. For a zero value it is nil, which transactions refuse.
func (h *Held) Op() entity.Op { return cmp.Or(h, &Held{}).op }

// Renew prolongs the lease, also late if nobody has taken it. It costs a write; after a lost answer a read and a write more. Errors: [ErrLost], with a
// *[SkewError] if it was taken too early; those of requests, after which the lease is held until its end.
func (h *Held) Renew(ctx context.Context) error { return h.RenewBy(ctx, nil) }

// Release gives up the lease, so that another can take it at once, also when ctx is done, for at most 5 seconds. Inside [Held.Keep] it is the last
// thing to do. It costs a write. Errors: [ErrLost] if another took the lease, or it was released before; those of requests, after which it ends by itself.
func (h *Held) Release(ctx context.Context) error {
	if err := h.ready(ctx); err != nil {
		return err
	}
	ctx, cancel := giveUp(ctx)
	defer cancel()
	return h.RenewBy(ctx, func(ctx context.Context, t *Term) error {
		*t = t.Released()
		return h.rec.Store(ctx, t)
	})
}

// RenewBy is Renew by another write of the record, which may also release the lease; it is for packages of this module.
func (h *Held) RenewBy(ctx context.Context, store func(context.Context, *Term) error) error {
	if err := h.ready(ctx); err != nil {
		return err
	}
	if store == nil {
		store = h.rec.Store
	}
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return h.save(ctx, false, store)
}

// save writes the record with this holder, unless it is another's.
func (h *Held) save(ctx context.Context, acquire bool, store func(context.Context, *Term) error) error {
	ctx = context.WithValue(ctx, bind.PaceKey{}, []*bind.Pace(nil)) // or the lease could end while it waits
	for range 10 {
		t, now, after := h.term, h.l.c.Runner.Clock(), h.l.elapsed()
		if t.Token != h.token {
			if !acquire {
				h.end.Store(&end{})
				if by := t.Renewed.Sub(now); by > h.l.o.Skew {
					return errors.Join(ErrLost, &SkewError{h.name, t.Holder, by})
				}
				return ErrLost
			}
			if err := h.l.Free(h.name, t); err != nil {
				return err
			}
		}
		if t.Writes++; acquire {
			t.Fence++
			h.fence = t.Fence
		}
		t.Holder, t.Token, t.Renewed, t.Until = h.l.o.Holder, h.token, now.UTC(), now.Add(h.l.o.Duration).UTC()
		lasts := h.l.o.Duration - h.l.o.Skew // from before the request
		ends := &end{now.Add(lasts), after + lasts}
		err := store(ctx, &t)
		if t.Token == "" {
			ends = &end{}
			h.end.Store(ends)
			h.released.Store(true)
		}
		switch {
		case err == nil:
			h.term = t
			h.end.Store(ends)
			return nil
		case !errors.Is(err, entity.ErrConditionFailed):
			return err
		}
		if t, err = h.rec.Load(ctx); err != nil {
			return err
		}
		h.term = t // it is lost, or an earlier write of ours was applied
	}
	return entity.ErrConflict
}

// left returns how long the lease is held without another renewal: by a wall clock that was set back no longer, nor by one that stood still.
func (h *Held) left() time.Duration {
	end := h.end.Load()
	return min(end.after-h.l.elapsed(), end.at.Round(0).Sub(h.l.c.Runner.Clock().Round(0)))
}

// Keep runs work and renews the lease while it runs, three times in its duration, and more often after an error. If it is lost, or could not be renewed
// in time, Keep cancels the context of work with [ErrLost] as its cause, before another can take the lease, and returns that after work has
// returned. Otherwise it returns the error of work, and the lease is still held. It costs a write for each renewal.
func (h *Held) Keep(ctx context.Context, work func(context.Context) error) error {
	if work == nil {
		return &entity.InputError{Code: bind.CodeLeaseWork, Type: "lease.Held", Problem: "Keep needs a function to run"}
	}
	if err := h.ready(ctx); err != nil {
		return err
	}
	if h.left() <= 0 { // or work could begin while another holds it
		return ErrLost
	}
	ctx, stop := context.WithCancelCause(ctx)
	ended, lost := make(chan struct{}), error(nil) // lost is set before ended is closed
	end := sync.OnceFunc(func() {
		stop(nil)
		<-ended
	})
	defer end() // also if work panics
	go func() {
		defer close(ended)
		if lost = h.renewals(ctx); lost != nil {
			stop(lost)
		}
	}()
	err := work(ctx)
	if end(); lost != nil && (err != nil || !h.released.Load()) { // the cause of ctx may be the loss of another lease
		return lost
	}
	return err
}

// renewals renews the lease until ctx is done, or until it is lost: then it returns why.
func (h *Held) renewals(ctx context.Context) error {
	period := (h.l.o.Duration - h.l.o.Skew) / 3
	for wait := h.left() - 2*period; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(min(wait, h.left())):
		}
		var err error
		if left := h.left(); left > 0 {
			attempt, cancel := context.WithTimeout(ctx, min(left, period/2))
			err = h.Renew(attempt)
			cancel()
		}
		if h.left() <= 0 {
			return errors.Join(ErrLost, err)
		}
		if wait = period; err != nil {
			wait = period / 4
		}
	}
}
