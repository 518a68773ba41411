package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/contrib/idempotent"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// model is what a record is to the calls: one variable for each key.
type model struct {
	state       string // "" is no record
	call        int    // that wrote it
	payload     int
	answer      int64
	until, ends time.Time
}

// modelCall is a call whose function runs.
type modelCall struct {
	n       int
	key     string
	payload int
	end     chan error  // what the function returns
	done    chan string // what the call returns
}

const (
	modelLease = time.Minute
	modelSkew  = 2 * time.Second
	modelKeep  = 90 * time.Second
)

// said is what a call returns, in a word.
func said(r idempotent.Result[int64], err error) string {
	var progress *idempotent.InProgressError
	var mismatch *idempotent.PayloadMismatchError
	var taken *idempotent.TakenOverError
	switch {
	case errors.As(err, &progress):
		return fmt.Sprint("in progress for ", progress.RetryAfter)
	case errors.As(err, &mismatch):
		return "another payload"
	case errors.As(err, &taken):
		return fmt.Sprint("taken over, not ", r.Answer)
	case err != nil:
		return err.Error()
	case r.Replayed:
		return fmt.Sprint("kept ", r.Answer, " until ", r.Until.UnixMilli())
	}
	return fmt.Sprint("answer ", r.Answer, " until ", r.Until.UnixMilli())
}

// program is a random program against the model.
type program struct {
	*lab
	rt      *rapid.T
	ops     []*idempotent.Operation
	prefix  string
	records map[string]*model
	running []*modelCall
	calls   int
	now     time.Time // of the clock, in milliseconds
}

// gone reports whether there is no record, as the store sees it, which counts whole seconds.
func (p *program) gone(m *model) bool {
	return m.state == "" || p.now.Unix() >= m.ends.Add(time.Second).Unix()
}

// begin starts a call, which ends at once, or runs its function.
func (p *program) begin(key string, payload int, op *idempotent.Operation) {
	p.calls++
	c := &modelCall{n: p.calls, key: key, payload: payload, end: make(chan error), done: make(chan string, 1)}
	entered := make(chan struct{})
	go func() {
		c.done <- said(idempotent.DoResult(p.Ctx, op, p.prefix+key, payload, func(context.Context) (int64, error) {
			close(entered)
			return int64(c.n), <-c.end
		}))
	}()
	m := p.records[key]
	var want string
	switch {
	case p.gone(m) || !p.now.Before(m.ends):
	case m.payload != payload:
		want = "another payload"
	case m.state == "done":
		want = fmt.Sprint("kept ", m.answer, " until ", m.ends.UnixMilli())
	case p.now.Before(m.until.Add(modelSkew)):
		want = fmt.Sprint("in progress for ", m.until.Add(modelSkew).Sub(p.now))
	}
	select {
	case got := <-c.done:
		if got != want {
			p.rt.Fatalf("call %d of %s: got %q, want %q", c.n, key, got, want)
		}
	case <-entered:
		if want != "" {
			p.rt.Fatalf("call %d of %s runs, want %q", c.n, key, want)
		}
		until := p.now.Add(modelLease)
		*m = model{state: "running", call: c.n, payload: payload, until: until, ends: until.Add(modelKeep)}
		p.running = append(p.running, c)
	}
}

// end lets the function of a running call return.
func (p *program) end(i int, err error) {
	c := p.running[i]
	p.running = append(p.running[:i:i], p.running[i+1:]...)
	m := p.records[c.key]
	mine := !p.gone(m) && m.call == c.n && m.state == "running"
	var want string
	switch {
	case err != nil && mine:
		*m = model{}
		want = err.Error()
	case err != nil:
		want = err.Error()
	case mine:
		m.state, m.answer, m.ends = "done", int64(c.n), p.now.Add(modelKeep)
		want = fmt.Sprint("answer ", c.n, " until ", m.ends.UnixMilli())
	default:
		want = fmt.Sprint("taken over, not ", c.n)
	}
	c.end <- err
	if got := <-c.done; got != want {
		p.rt.Fatalf("the end of call %d of %s: got %q, want %q", c.n, c.key, got, want)
	}
}

// Programs of calls that begin and end in any order, while the clock moves, do what the model does.
func TestModel_RandomPrograms(t *testing.T) {
	l := newLab(t)
	o := idempotent.Options{Keep: modelKeep, Lease: modelLease, Skew: modelSkew}
	cached := o
	cached.Cache = 2
	programs := 0
	testsize.Check(t, testsize.Pick(40, 400), func(rt *rapid.T) {
		programs++
		// A process that remembers answers knows nothing of records that others write after they have ended, so each program has its own.
		p := &program{lab: l, rt: rt, ops: []*idempotent.Operation{l.open(o), l.other(nil, o), l.open(cached)}, prefix: fmt.Sprint(programs, "-"), records: map[string]*model{"a": {}, "b": {}}}
		defer func() {
			for _, c := range p.running {
				c.end <- errDeclined
				<-c.done
			}
		}()
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			p.now = l.Clock.Move(0).Truncate(time.Millisecond)
			switch kind := rapid.IntRange(0, 9).Draw(rt, "kind"); {
			case kind < 4:
				key, payload := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key"), rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(rt, "payload")
				p.begin(key, payload, rapid.SampledFrom(p.ops).Draw(rt, "process"))
			case kind < 7 && len(p.running) > 0:
				err := rapid.SampledFrom([]error{nil, nil, errDeclined}).Draw(rt, "error")
				p.end(rapid.IntRange(0, len(p.running)-1).Draw(rt, "call"), err)
			default:
				l.Clock.Move(rapid.SampledFrom([]time.Duration{1, 500, 1000, 30_000, 61_999, 62_000, 90_000, 152_000}).Draw(rt, "milliseconds") * time.Millisecond)
			}
		}
	})
}
