package migrate

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/stream"
)

// mostPasses limits how often [Copier.CutOver] reads both sides until a pass finds nothing to write.
const mostPasses = 4

// A Copier copies the items of one store to another; [Copy] makes one. It is safe for concurrent use, and any number of programs can have one of the same copy.
type Copier[A, B any] struct{ c *copier }

// copier is a Copier without its types.
type copier struct {
	name     string
	from, to examiner
	convert  func(item.Item) (reflect.Value, error) // the value is invalid if the item does not decode

	mu    sync.Mutex
	begun bool // the fences are there
}

func (c *copier) now() time.Time { return c.to.c.Runner.Clock() }

// Copy returns a copy of the items of one entity as items of another: for changes that leave no stored item as it is, such as
// other keys, another entity or another table. It sends no request. name identifies the copy in the table of to: a letter,
// then letters, digits, _ and -.
//
// f makes the new value of an old one. It is called any number of times for each item, also for earlier states, and must
// return the same each time: no clock, no new ids. The error [Skip] leaves an item out; any other one is a problem of the
// item, and the others go on. The copy has the version and the times of the new value: 1 if it has no version, and no time
// if that is zero. Defaults are filled in and values checked; Prepare is not called. Events, snapshots and deleted copies are
// not copied, only counted, and a copy leaves no snapshot.
//
// The steps are described at the methods, and in docs/evolution.md: [Copier.Handle] or [Copier.Apply] follows the changes of
// the old items from a stream, [Copier.Run] copies those that are there, [Copier.Verify] compares both sides, and
// [Copier.CutOver] ends the copy. Each can be ended at any request and called again.
//
// to needs a `$` key and a table whose keys are strings, and transactions; from can be any entity, also of another account. Until
// [Copier.CutOver] nothing but the copy may write the items of to; one that something else has written stays as it is, and is a
// problem. Errors: *entity.InputError.
func Copy[A, B any](name string, from *entity.Store[A], to *entity.Store[B], f func(A) (B, error)) (*Copier[A, B], error) {
	a, b := engine.Of(from), engine.Of(to)
	for _, c := range []*engine.Core{a, b} {
		if err := c.Err(); err != nil {
			return nil, err
		}
	}
	c := &copier{name: name, from: examiner{c: a, s: a.Schema}, to: examiner{c: b, s: b.Schema}}
	c.convert = func(it item.Item) (reflect.Value, error) {
		old, err := engine.Decode[A](a, it)
		if err != nil {
			return reflect.Value{}, err
		}
		v, err := f(old)
		return reflect.ValueOf(&v).Elem(), err
	}
	if err := c.check(f != nil); err != nil {
		return nil, err
	}
	return &Copier[A, B]{c}, nil
}

// check returns what keeps the copy from being made.
func (c *copier) check(function bool) error {
	s := c.to.s
	invalid := func(code, format string, args ...any) error { return bind.Invalid(s, code, nil, format, args...) }
	if err := schema.Name(c.name); err != nil {
		return invalid(bind.CodeCopy, "the name of the copy: %v", err)
	}
	switch {
	case !function:
		return invalid(bind.CodeCopy, "Copy needs a function")
	case c.from.c.DB == c.to.c.DB && c.from.c.Table == c.to.c.Table && c.from.s.Prefix == s.Prefix:
		return invalid(bind.CodeCopy, "the old and the new entity are the same: they have one name, namespace and table")
	case !s.HasMetadata:
		return invalid(bind.CodeCopyTarget, "copies need a write id, which only entities with $ keys have, in tables that are not shared with effect-dynamodb")
	case s.Handle != "" || s.Options.Derived:
		return invalid(bind.CodeCopyTarget, "items of a time series or a timeline are not copies")
	case !stringKeys(s):
		return invalid(bind.CodeCopyTarget, "the state of a copy needs a table whose keys are strings")
	case c.to.c.Runner.NoTransactions != nil:
		return invalid(bind.CodeCopyTarget, "copies are written in transactions, which the table does not have")
	}
	return nil
}

// opened returns the copier, or one whose calls fail.
func (c *Copier[A, B]) opened() (*copier, error) {
	if c == nil || c.c == nil {
		return nil, engine.Unopened(reflect.TypeFor[Copier[A, B]]())
	}
	return c.c, nil
}

// Run copies the items that have no copy, and brings copies up to date, segment by segment. Start the consumer of the stream
// before, with [Copier.Handle]: Run does not see changes of items that it has already copied. It keeps its progress in the
// table of the new items, and goes on there after it was ended or killed; once all is copied, it returns the report for
// two reads. While one run is at work, others fail with [ErrRunning]. [DryRun] reads only.
//
// It costs, for each page of 250 items, a strongly consistent scan of the old items, a read unit for each new item, 32 read
// units, and one transaction for every eight new items, more or less: two write units for each KB of an item, and two
// for the transaction. Errors: *entity.InputError before any request; [ErrRunning]; [ErrLeaseLost]; [ErrOtherWork];
// [ErrCutOver]; *[ItemError] with [Strict]; those of requests that failed after all attempts. The report is of what was done
// until then.
func (c *Copier[A, B]) Run(ctx context.Context, opts ...CopyOption) (Report, error) {
	x, err := c.opened()
	if err != nil {
		return newReport(), err
	}
	spec := bind.Collect(opts)
	j, err := newJob("Copy", x.to.c, spec)
	if err == nil && spec.Dry && spec.Restart {
		err = bind.Invalid(x.to.s, bind.CodeOption, nil, "a dry run writes nothing, and so cannot restart")
	}
	if err != nil {
		return newReport(), x.to.c.Wrap("Copy", "", err)
	}
	pass := &copyPass{copier: x, writes: !spec.Dry, strict: spec.Strict}
	j.page, j.written = pass.sources, "copied"
	if !spec.Dry {
		j.point = newCheckpoint(j, copyInfix, x.name, fingerprint(x.from.s, false, false)+" "+fingerprint(x.to.s, false, false)+" "+x.source())
	}
	err = x.to.c.Measure(ctx, "Copy", "", func(ctx context.Context) error {
		ctx = bind.WithPace(ctx, spec.Budget)
		if !spec.Dry {
			if err := j.metered(ctx, func(ctx context.Context) error { return x.begin(ctx, true) }); err != nil {
				return err
			}
		}
		return j.run(ctx)
	})
	return j.result(), err
}

// Apply brings the copies of the changed items up to date. It takes the changes of package stream, of all kinds; those of
// events, snapshots and deleted copies are ignored. A change says only that an item was changed and where its copy may have
// been: what is copied is the item as it is when Apply reads it. So changes can come twice, late, in any order, and to any
// number of programs at once. The stream needs old images (NEW_AND_OLD_IMAGES).
//
// An error says that the changes have to be applied again. An item with a problem is not one: it is in the report, and its copy
// stays as it is until the item is changed again, or until CutOver, which does not succeed before.
//
// It costs three reads and one transaction for each change, and no transaction for one whose state was copied already.
// Errors: *entity.InputError and *stream.ImageError before any request; [ErrCutOver] for changes that come too late;
// [ErrOtherWork]; entity.ErrConflict if an item or its copy was written again and again; those of requests that failed after
// all attempts.
func (c *Copier[A, B]) Apply(ctx context.Context, changes ...stream.Change[A]) (Report, error) {
	report := newReport()
	report.written = "copied"
	x, err := c.opened()
	if err != nil {
		return report, err
	}
	var all []changed
	for _, change := range changes {
		one, of, err := changedBy(x, change)
		if err != nil {
			return report, x.to.c.Wrap("Apply", "", err)
		}
		if of {
			all = append(all, one)
		}
	}
	j := &job{report: newReport()}
	err = x.to.c.Measure(ctx, "Apply", "", func(ctx context.Context) error {
		return j.metered(ctx, func(ctx context.Context) error {
			if err := x.begin(ctx, false); err != nil || len(all) == 0 {
				return err
			}
			for _, one := range all {
				if err := x.applied(ctx, one, &report); err != nil {
					return err
				}
			}
			return nil
		})
	})
	report.Cost, report.Done = j.report.Cost, err == nil
	return report, err
}

// Handle is Apply for one change, as stream.On takes it:
//
//	stream.Handle(ctx, event, stream.On(orders, copier.Handle))
//
// It returns nil for an item with a problem; Verify shows it.
func (c *Copier[A, B]) Handle(ctx context.Context, change stream.Change[A]) error {
	_, err := c.Apply(ctx, change)
	return err
}

// Verify compares both sides and writes nothing. Rewritten counts what [Copier.CutOver] would write: items without a copy, copies
// that differ, and copies without an item, with up to ten examples each. Both items are read again before they count. A
// change that the stream has not brought yet counts. The sides are equal if the report is [Report.Clean]. After the cut over
// it shows late writes of the old program, and as a problem each item that the new program has written since.
//
// It costs strongly consistent scans of both sides, one read unit for each item of both, and two reads for each
// difference. Errors: *entity.InputError before any request; [ErrOtherWork]; those of requests that failed after all attempts.
func (c *Copier[A, B]) Verify(ctx context.Context, opts ...PassOption) (Report, error) {
	x, err := c.opened()
	if err != nil {
		return newReport(), err
	}
	return x.passes(ctx, "Verify", "differ", bind.Collect(opts), func(ctx context.Context, both bothSides) error {
		if _, err := x.state(ctx); err != nil {
			return err
		}
		_, err := both(ctx, false)
		return err
	})
}

// CutOver ends the copy: it brings all copies up to date, removes those without an item, repeats that until a pass over both
// sides finds nothing to write, and sets the state to [CutOver]. From then on no program copies anything, not even one that
// has waited since long before. Call it when the old program has stopped writing, and start the new program when it has
// returned nil.
//
// If the sides cannot be made equal, because an item has a problem or is written again and again, or if [Copier.Thaw] is called
// meanwhile, the error is an *[UnsettledError] and nothing is cut over. A CutOver that was ended or killed has either cut over, see [Copier.State], or
// can be called again; it begins with reading both sides. The library cannot stop the old program: what that writes after
// CutOver has read the item is not in the new one. [Copier.Freeze] asks it to stop. Verify shows afterwards what was written
// too late.
//
// Each pass costs what Verify costs, 64 write units, and a transaction for each write; there are one or two, at most four. To
// begin and to end costs 64 write units each.
// Errors: *entity.InputError before any request; [ErrUnsettled]; [ErrOtherWork]; [ErrNotBegun] before the first Run or Apply;
// those of requests that failed after all attempts. It returns nil if the copy was cut over before.
func (c *Copier[A, B]) CutOver(ctx context.Context, opts ...PassOption) (Report, error) {
	x, err := c.opened()
	if err != nil {
		return newReport(), err
	}
	return x.passes(ctx, "CutOver", "copied", bind.Collect(opts), x.cutOver)
}

// State reads how far the copy is, strongly consistent: one read unit. Programs of both sides can ask for it when they start, or
// from time to time. Errors: [ErrOtherWork]; those of requests that failed after all attempts.
func (c *Copier[A, B]) State(ctx context.Context) (is State, err error) {
	err = c.do(ctx, "State", func(ctx context.Context, x *copier) error {
		is, err = x.state(ctx)
		return err
	})
	return is, err
}

// Freeze sets the state to [Freezing], for old programs that look at it: they stop writing. Copies still follow. It costs 64 write
// units. Errors: [ErrNotBegun]; [ErrCutOver]; those of requests that failed after all attempts.
func (c *Copier[A, B]) Freeze(ctx context.Context) error {
	return c.do(ctx, "Freeze", func(ctx context.Context, x *copier) error { return x.freeze(ctx) })
}

// Thaw sets the state back to [Copying], after a Freeze, or a CutOver that failed. A CutOver that is still at work, or whose last
// request is still on its way, does not succeed after that. Cost and errors are those of [Copier.Freeze].
func (c *Copier[A, B]) Thaw(ctx context.Context) error {
	return c.do(ctx, "Thaw", func(ctx context.Context, x *copier) error { return x.thaw(ctx) })
}

// do runs f as one call.
func (c *Copier[A, B]) do(ctx context.Context, verb string, f func(context.Context, *copier) error) error {
	x, err := c.opened()
	if err != nil {
		return err
	}
	return x.to.c.Measure(ctx, verb, "", func(ctx context.Context) error { return f(ctx, x) })
}
