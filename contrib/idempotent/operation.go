package idempotent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// maxAnswer is how many bytes an answer can have: an item has 409,600, with its names, its key and what DynamoDB adds.
const maxAnswer = 400_000

// Options are the settings of an operation. They are its own: another operation on the same store has others.
type Options struct {
	Name string // of the operation, in keys and errors; letters, digits and ._- ; never change it

	Keep  time.Duration // how long an answer is kept; default 24 hours, at least a second
	Lease time.Duration // how long the function may run; default a minute, shorter if the context of the call ends before
	Skew  time.Duration // by how much clocks may differ: another call takes over so much later; default 2 seconds

	MaxAnswer int // bytes of JSON that an answer may have; default and at most 400,000
	Cache     int // how many kept answers the process remembers; default none
}

// Operation is something to be done once for each key. It is safe for concurrent use.
type Operation struct {
	o       Options
	records records
	cache   *cache
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// New returns an operation whose records are in store. It does no I/O. The error joins an *entity.InputError with the code
// IDEM-01 for each mistake.
func New[T any, P Embeds[T]](store *entity.Store[T], o Options) (*Operation, error) {
	var errs []error
	bad := func(field, problem string) {
		errs = append(errs, mistake(codeOptions, "idempotent.Options", field, problem))
	}
	if store == nil {
		bad("", "the store is nil: open it with entity.Bind or entity.New")
	}
	if !nameForm.MatchString(o.Name) {
		bad("Name", "it must have 1 to 100 letters, digits, dots, underscores and hyphens")
	}
	o.Keep, o.Lease, o.Skew = cmp.Or(o.Keep, 24*time.Hour), cmp.Or(o.Lease, time.Minute), cmp.Or(o.Skew, 2*time.Second)
	o.MaxAnswer = cmp.Or(o.MaxAnswer, maxAnswer)
	if o.Keep < time.Second {
		bad("Keep", "it must be a second or more")
	}
	if o.Lease < time.Millisecond {
		bad("Lease", "it must be a millisecond or more")
	}
	if o.Skew < 0 {
		bad("Skew", "it must not be negative")
	}
	if o.MaxAnswer < 0 || o.MaxAnswer > maxAnswer {
		bad("MaxAnswer", fmt.Sprintf("it must be at most %d, what fits into an item", maxAnswer))
	}
	if o.Cache < 0 {
		bad("Cache", "it must not be negative")
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Operation{o: o, records: storeOf[T, P]{store}, cache: newCache(o.Cache)}, nil
}

// A claim is the right of a call to run the function: its record, as it is stored while the function runs.
type claim struct {
	Record
	now  time.Time // of the DB's clock, before the first request
	ends time.Time // when the lease ends, by the clock of the process
}

// begin returns the claim that a call would have.
func (o *Operation) begin(ctx context.Context, key string, payload any) (*claim, error) {
	if key == "" {
		return nil, mistake(codeKey, "idempotent.Operation", "key", "it must not be empty: call the function itself for what has no key")
	}
	content, err := canonical(payload)
	if err != nil {
		return nil, mistake(codePayload, "idempotent.Operation", "payload", fmt.Sprintf("JSON cannot express this %T", payload))
	}
	started := time.Now()
	c := &claim{Record: Record{Operation: o.o.Name, Key: digest("key", o.o.Name, key), Payload: digest("payload", o.o.Name, key, content), State: running}}
	if c.Record, c.now, err = o.records.stamped(ctx, c.Record); err != nil {
		return nil, err
	}
	lease := o.o.Lease
	if deadline, ok := ctx.Deadline(); ok {
		lease = min(lease, deadline.Sub(started))
	}
	c.ends = started.Add(lease)
	c.Until = c.now.Add(lease)
	c.Ends = c.Until.Add(o.o.Keep)
	return c, nil
}

// judge returns nil if a call may take the place of the record held, and what the call gets otherwise.
func (o *Operation) judge(held *Record, c *claim) (kept *Record, err error) {
	if !c.now.Before(held.Ends) {
		return nil, nil // it has ended, and the table has not removed it
	}
	if held.Payload != c.Payload {
		return nil, &PayloadMismatchError{o.o.Name}
	}
	if held.State != running {
		return held, nil
	}
	if left := held.Until.Add(o.o.Skew).Sub(c.now); left > 0 {
		return nil, &InProgressError{o.o.Name, left}
	}
	return nil, nil
}

// turns is how often a call tries to claim a key that others claim and release meanwhile.
const turns = 10

// take claims the key, or returns the record whose answer is kept.
func (o *Operation) take(ctx context.Context, c *claim) (kept *Record, err error) {
	if held := o.cache.get(c.Key); held != nil {
		if kept, err := o.judge(held, c); kept != nil || err != nil {
			return kept, err
		}
	}
	var held *Record // what refused the last attempt
	for range turns {
		err = insist(func() error {
			if held == nil {
				return o.records.create(ctx, c.Record)
			}
			return o.records.replace(ctx, c.Record, held)
		})
		if err == nil {
			return nil, nil
		}
		refused, found := o.records.refused(err)
		switch {
		case found && refused.Token == c.Token:
			return nil, nil // by an earlier request of this call
		case found:
			held = refused
			if kept, err := o.judge(held, c); kept != nil || err != nil {
				o.cache.add(kept)
				return kept, err
			}
		case held != nil && errors.Is(err, entity.ErrConditionFailed): // it was removed
			held = nil
		case entity.IsAmbiguous(err) || errors.Is(err, entity.ErrReadBack): // it may be this call's, which will not run
			_ = o.release(ctx, c) // or the lease ends
			return nil, &ClaimError{o.o.Name, err}
		default:
			return nil, err
		}
	}
	return nil, entity.ErrConflict
}

// detached returns a context for ending a claim, also after ctx has ended.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
}

// insist repeats a write while its outcome is unknown. Its condition allows one application, and an earlier one refuses it.
func insist(write func() error) error {
	var unsure error
	for range 3 {
		err := write()
		switch class := entity.ClassOf(err); {
		case entity.IsAmbiguous(err):
			unsure = err
		case unsure != nil && (class == entity.ClassUnavailable || class == entity.ClassConflict || class == entity.ClassBug):
			// this one was not applied, the earlier one may have been
		default:
			return err
		}
	}
	return unsure
}

// release gives up a claim, so that a repetition can run. What another call has made of the record stays.
func (o *Operation) release(ctx context.Context, c *claim) error {
	ctx, cancel := detached(ctx)
	defer cancel()
	err := insist(func() error { return o.records.remove(ctx, &c.Record) })
	if err == nil || errors.Is(err, entity.ErrConditionFailed) {
		return nil
	}
	return &ClaimError{o.o.Name, err}
}

// finish keeps the answer of a claim, or that it cannot be kept.
func (o *Operation) finish(ctx context.Context, c *claim, answer []byte, failed error) (*Record, error) {
	ctx, cancel := detached(ctx)
	defer cancel()
	_, now, err := o.records.stamped(ctx, c.Record)
	if err != nil {
		return nil, &NotKeptError{o.o.Name, err}
	}
	r, size := c.Record, 0
	r.State, r.Answer, r.Ends = done, string(answer), now.Add(o.o.Keep)
	write := func() error { return o.records.replace(ctx, r, &c.Record) }
	if len(answer) > o.o.MaxAnswer {
		size = len(answer)
	} else if failed == nil {
		if err = insist(write); entity.ClassOf(err) == entity.ClassInvalid {
			failed = err // such as text that is not UTF-8
		}
	}
	if size > 0 || failed != nil {
		r.State, r.Answer, r.Size = unkept, "", size
		err = insist(write)
	}
	refused, found := o.records.refused(err)
	switch {
	case err == nil, errors.Is(err, entity.ErrReadBack), found && refused.Token == c.Token:
	case errors.Is(err, entity.ErrConditionFailed):
		return nil, &TakenOverError{o.o.Name}
	default:
		return nil, &NotKeptError{o.o.Name, err}
	}
	o.cache.add(&r)
	if r.State == unkept {
		return &r, &AnswerError{o.o.Name, size, o.o.MaxAnswer, failed}
	}
	return &r, nil
}
