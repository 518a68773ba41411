package proof_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// game is a set of operations with the model of what they do. S is the state of the model, comparable.
type game[S comparable, I fmt.Stringer, O comparable] struct {
	name   string
	begin  S
	open   func(db *entity.DB, id string) (func(ctx context.Context, in I) (O, error), error)
	choose func(rng *rand.Rand, seen *notes) I
	reads  func(in I) bool // it writes nothing
	// step is what the operation does: the state after it, and what it then says. fits compares that with what was said.
	step func(s S, in I) (S, O, outcome)
	fits func(want, got said[O]) bool
	show func(S) string
	also func(fault faults.Fault, in I) bool // which of the faults beyond faultsOfHistories are promised to do no harm; nil: all
	// paired says that what is delivered twice is so without another request in between.
	paired bool
	// later orders what begins at the same step for the checker, by what was said; nil: as it comes.
	later func(entry[I, O]) int
	// split gives the operations of a call that is several; nil: none is.
	split func(entry[I, O]) []entry[I, O]
}

// said is a result with what the error said.
type said[O any] struct {
	out O
	outcome
}

// notes are what a client remembers of what it read, for operations that expect something.
type notes struct {
	version int64
	text    string
}

// faultsOfHistories are given to requests at random. Those delivered more than once or late come on top, where the game promises to stand them.
var faultsOfHistories = []faults.Fault{faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Unsent, faults.Lost, faults.Cut}

// entry is one operation of a history.
type entry[I, O any] struct {
	client    int
	in        I
	said      said[O]
	call, end int64
	faults    []string
	writes    []string // its requests that write, as the sim names them
	wrote     int64    // the step at which the last of these was applied; 0 for none
	belated   []int64  // the steps at which a copy of one that had been refused was applied
	delivered bool     // it is such a copy, and took effect at its step
}

// play makes the history of a seed.
func (g game[S, I, O]) play(t *testing.T, seed uint64, base *dynamodb.Client, table string, courier *courier, run string) (all []entry[I, O]) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 0))
		s := &sim{rng: rng, courier: courier}
		clients := 3 + rng.IntN(14)
		ops := 2 + rng.IntN(1+30/clients)
		rate := []float64{0, .05, .15, .3}[rng.IntN(4)]
		attempts := 2 + rng.IntN(4)
		id, unsure := fmt.Sprintf("h%d", seed), 0
		work := make([]func(), clients)
		entries := make([][]entry[I, O], clients)
		for c := range clients {
			own := rand.New(rand.NewPCG(seed, uint64(c)+1))
			wire, at := s.join(), &entry[I, O]{}
			ids, skew := 0, time.Duration(own.IntN(4000)-2000)*time.Millisecond
			var cancel func()
			db, err := entity.Open(dynamodb.New(base.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire }), entity.Config{
				Table: table, MaxAttempts: attempts,
				Clock: func() time.Time { return epoch.Add(skew + time.Duration(s.now())*10*time.Millisecond) },
				NewID: func() string { ids++; return fmt.Sprintf("%s%d.%d.%d", run, seed%1e9, c, ids) },
			})
			if err != nil {
				t.Fatal(err)
			}
			do, err := g.open(db, id)
			if err != nil {
				t.Fatal(err)
			}
			luck := &luck{seed: seed, client: c, unlike: strings.NewReplacer(table, "", run, "")}
			wire.Inject(func(r faults.Request) faults.Fault {
				if id := idOf(c, r); isWrite(r) && !slices.Contains(at.writes, id) {
					at.writes = append(at.writes, id)
				}
				f, of := faults.None, luck.of(r)
				if of.Float64() < rate {
					f = g.fault(of, at.in)
				}
				if f == faults.Twice && r.Operation == "DeleteItem" {
					f = faults.Lost // of a removal alone nothing is left that proves it: see docs/production.md
				}
				if unsure >= mostUnsure && isWrite(r) && f != faults.Throttle && f != faults.Conflict {
					f = faults.None
				}
				if f == faults.Twice && g.paired {
					s.pair(c, r)
				}
				switch f {
				case faults.None:
				case faults.Hang: // the context ends while the request is on its way
					s.endAt(c, r, cancel)
					at.faults = append(at.faults, "Cancel "+r.Operation)
					return faults.None
				case faults.Late:
					s.delay(c, r)
					at.faults = append(at.faults, f.String()+" "+r.Operation)
					return faults.None
				default:
					at.faults = append(at.faults, f.String()+" "+r.Operation)
				}
				return f
			})
			work[c] = func() {
				seen := &notes{}
				for range ops {
					var ctx context.Context
					ctx, cancel = context.WithCancel(t.Context())
					*at = entry[I, O]{client: c, in: g.choose(own, seen), call: 2*s.now() + 1}
					out, err := do(ctx, at.in)
					cancel()
					if at.said = (said[O]{out, outcomeOf(err)}); at.said.unsure {
						unsure++ // one client runs at a time
					}
					if at.end = 2 * s.now(); at.end < at.call {
						at.end = at.call // no request was sent
					}
					if n, ok := any(out).(noted); ok && err == nil {
						n.note(seen)
					}
					entries[c] = append(entries[c], *at)
				}
			}
		}
		s.run(func(c int) { work[c]() })
		all = slices.Concat(entries...)
		for i := range all {
			for _, id := range all[i].writes {
				all[i].wrote = max(all[i].wrote, s.wrote[id])
				if step, ok := s.belated[id]; ok {
					all[i].belated = append(all[i].belated, step)
				}
			}
		}
	})
	return all
}

// luck gives each request of a client a source of chance of its own, so that requests which a call makes in parallel get the same in any order.
type luck struct {
	seed   uint64
	client int
	unlike *strings.Replacer // takes out what differs between two runs of a seed
	seen   map[string]int
}

func (l *luck) of(r faults.Request) *rand.Rand {
	text := l.unlike.Replace(orderOf(r.Operation, r.Body))
	if l.seen == nil {
		l.seen = map[string]int{}
	}
	l.seen[text]++
	h := fnv.New64a()
	fmt.Fprintln(h, l.client, l.seen[text], text)
	return rand.New(rand.NewPCG(l.seed, h.Sum64()))
}

// noted is a result that a client remembers.
type noted interface{ note(*notes) }

// epoch is far enough in the future that the database expires nothing.
var epoch = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)

// fault chooses a fault for a request of in.
func (g game[S, I, O]) fault(rng *rand.Rand, in I) faults.Fault {
	more := []faults.Fault{faults.Twice, faults.Late, faults.Hang}
	i := rng.IntN(len(faultsOfHistories) + len(more))
	if i < len(faultsOfHistories) {
		return faultsOfHistories[i]
	}
	f := more[i-len(faultsOfHistories)]
	if !g.reads(in) && g.also != nil && !g.also(f, in) {
		return faults.Lost
	}
	return f
}

// model is the game for the checker. An operation whose error was ambiguous has no end: it takes effect once, at any time after its call, perhaps
// after everything that was seen, which is the same as not at all.
func (g game[S, I, O]) model() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return g.begin },
		Step: func(state, input, output any) (bool, any) {
			s, got := state.(S), output.(said[O])
			next, out, want := g.step(s, input.(I))
			return got.unsure || g.fits(said[O]{out, want}, got), next
		},
		Hash:              func(state any) uint64 { return maphash.Comparable(hashSeed, state.(S)) },
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v → %s", input, output.(said[O]).result()) },
		DescribeState:     func(state any) string { return g.show(state.(S)) },
	}
}

var hashSeed = maphash.MakeSeed()

func (s said[O]) result() string {
	if s.class == "" && !s.idle {
		return fmt.Sprintf("%v", s.out)
	}
	return s.outcome.String()
}

// operations are the entries for the checker: without those that say nothing and wrote nothing. The checker tries those that may come next in the
// order of their calls. Of calls at the same step, those in doubt come last: most of them are never seen.
//
// Each comes with the step at which it took effect, as far as is known: where its last request was applied; 0 if none was.
func (g game[S, I, O]) operations(all []entry[I, O]) (ops []porcupine.Operation, at []int64) {
	if g.split != nil {
		var each []entry[I, O]
		for _, e := range all {
			each = append(each, g.split(e)...)
		}
		all = each
	}
	last := int64(0)
	for _, e := range all {
		last = max(last, e.end)
	}
	for _, e := range all {
		if e.said.idle && !e.said.unsure || e.said.unsure && g.reads(e.in) {
			continue
		}
		op := porcupine.Operation{ClientId: e.client, Input: e.in, Call: e.call * spread, Output: e.said, Return: e.end*spread + spread - 1}
		if e.said.unsure && !e.delivered {
			op.Call, op.Return = op.Call+spread-2, (last+1)*spread
		} else if g.later != nil {
			op.Call += min(int64(g.later(e)), spread-3)
		}
		ops, at = append(ops, op), append(at, e.wrote)
	}
	return ops, at
}

// spread is how many calls at one step can be put into an order.
const spread = 1 << 10

// check has the history of a seed judged, and writes down one that is illegal.
func (g game[S, I, O]) check(t *testing.T, seed uint64, all []entry[I, O]) porcupine.CheckResult {
	t.Helper()
	ops, at := g.operations(all)
	if sharp := g.witness(ops, at); sharp != nil {
		if result := porcupine.CheckOperationsTimeout(g.model(), sharp, patience); result == porcupine.Ok {
			return result
		}
	}
	result, info := porcupine.CheckOperationsVerbose(g.model(), ops, patience)
	if result == porcupine.Ok {
		return result
	}
	dir, err := os.MkdirTemp("", "history-")
	if err != nil {
		t.Fatal(err)
	}
	text := g.text(all)
	if err := os.WriteFile(filepath.Join(dir, "history.txt"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := porcupine.VisualizePath(g.model(), info, filepath.Join(dir, "history.html")); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s: the history of seed %d is %s: %s\nagain: DYNASTRATA_TEST_SEED=%d DYNASTRATA_HISTORIES=1 go test -run 'TestHistories$/%s$'\n%s",
		g.name, seed, strings.ToLower(string(result)), filepath.Join(dir, "history.html"), seed, g.name, text)
	return result
}

// patience is how long one history may be judged. mostUnsure is how many of its operations may end in doubt: each is tried at every later place.
const (
	patience   = 2 * time.Minute
	mostUnsure = 6
)

// text is a history, in the order in which its operations began.
func (g game[S, I, O]) text(all []entry[I, O]) string {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b entry[I, O]) int { return int(a.call - b.call) })
	var b strings.Builder
	for _, e := range sorted {
		slices.Sort(e.faults) // of what a call does at the same time there is no order
		fmt.Fprintf(&b, "%4d–%-4d client %-2d %v → %s %v\n", e.call, e.end, e.client, e.in, e.said.result(), e.faults)
		if strings.HasPrefix(e.said.class, "unexpected") {
			fmt.Fprintf(&b, "           %s\n", e.said.text)
		}
	}
	return b.String()
}

// mostSteps is how far a witness is looked for.
const mostSteps = 200_000

// witness looks for an order that explains a history, and returns the history with each operation at its place in that order, which lies between its
// call and its end. What holds for this holds for the history; for the checker it takes no search. nil when none was found.
//
// The search knows what the checker does not: at which request an operation wrote, which comes first then, and that one which wrote nothing can be put
// next as soon as it may, and leaves the state as it is.
func (g game[S, I, O]) witness(ops []porcupine.Operation, at []int64) []porcupine.Operation {
	w := &search[S]{ops: ops, at: at, dead: map[string]bool{}}
	model := g.model()
	w.step = func(s S, i int) (S, bool) {
		ok, next := model.Step(s, w.ops[i].Input, w.ops[i].Output)
		return next.(S), ok
	}
	w.done, w.key = make([]bool, len(ops)), func(s S) string { return g.show(s) }
	if !w.from(g.begin) {
		return nil
	}
	sharp := make([]porcupine.Operation, len(w.order))
	for at, i := range w.order {
		sharp[at] = w.ops[i]
		sharp[at].Call, sharp[at].Return = int64(2*at), int64(2*at+1)
	}
	return sharp
}

type search[S comparable] struct {
	ops   []porcupine.Operation
	at    []int64
	step  func(s S, i int) (S, bool)
	key   func(S) string
	done  []bool
	order []int
	steps int
	dead  map[string]bool // what leads nowhere: operations that are done, and the state
}

// from continues the order from a state; it puts everything back when that leads nowhere.
func (w *search[S]) from(s S) bool {
	if w.steps++; w.steps > mostSteps {
		return false
	}
	begun := len(w.order)
	back := func() bool {
		for _, i := range w.order[begun:] {
			w.done[i] = false
		}
		w.order = w.order[:begun]
		return false
	}
	var ready []int
	for again := true; again; {
		again, ready = false, ready[:0]
		for _, i := range w.ready() {
			switch next, ok := w.step(s, i); {
			case ok && next == s && w.at[i] == 0:
				w.take(i)
				again = true
			case ok:
				ready = append(ready, i)
			}
		}
	}
	if len(w.order) == len(w.ops) {
		return true
	}
	id := w.id(s)
	if w.dead[id] {
		return back()
	}
	slices.SortStableFunc(ready, func(i, j int) int { return cmp.Compare(uint64(w.at[i]-1), uint64(w.at[j]-1)) })
	for _, i := range ready {
		next, _ := w.step(s, i)
		w.take(i)
		if w.from(next) {
			return true
		}
		w.order = w.order[:len(w.order)-1]
		w.done[i] = false
	}
	w.dead[id] = true
	return back()
}

func (w *search[S]) take(i int) {
	w.done[i] = true
	w.order = append(w.order, i)
}

// ready are the operations that may come next: those that began before any other that is left has ended.
func (w *search[S]) ready() (all []int) {
	first := int64(1) << 62
	for i, op := range w.ops {
		if !w.done[i] {
			first = min(first, op.Return)
		}
	}
	for i, op := range w.ops {
		if !w.done[i] && op.Call <= first {
			all = append(all, i)
		}
	}
	return all
}

func (w *search[S]) id(s S) string {
	bits := make([]byte, len(w.done))
	for i, d := range w.done {
		if d {
			bits[i] = 1
		}
	}
	return string(bits) + w.key(s)
}
