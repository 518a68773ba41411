package proof_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/lease"
)

// Fenced is what holders of a lease write.
type Fenced struct {
	_     entity.Key `name:"Fenced" pk:"$#{id}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	Fence int64      `dynamodbav:"fence"`
}

// leaseState is a lease, and the fence of the last transaction that a holder has made. Whether a holder's time has ended is not in it: the clocks of
// the clients differ by hours, so that any of them may find that.
type leaseState struct {
	fence int64
	held  bool
	last  int64
}

// leaseOut is the fence of an acquisition, or the one that was read.
type leaseOut int64

func (o leaseOut) note(seen *notes) {
	if o > 0 {
		seen.version = int64(o)
	}
}

type leaseIn struct {
	verb  string
	fence int64 // of the acquisition that the client uses; of an acquire: the one that it got
}

func (in leaseIn) String() string { return fmt.Sprintf("%s %d", in.verb, in.fence) }

var leaseVerbs = []string{"acquire", "acquire", "acquire", "write", "write", "write", "write", "renew", "renew", "release", "read", "read"}

// leaseOptions make leases end within a history, whose steps take ten milliseconds.
var leaseOptions = lease.Options{Duration: 200 * time.Millisecond, Skew: 100 * time.Millisecond}

// clocks gives the program of p a wall clock that is right within the skew of the histories, stops, is an hour ahead, both, or jumps; and a clock that is
// never set, but may stop, as that of a machine that is suspended.
func (p *leasePlayer) clocks() {
	r := engine.Of(p.s).Runner
	base, begun := r.Clock, r.Clock()
	kind, stops := begun.UnixMilli()%6, time.Duration(begun.UnixMilli()%7)*100*time.Millisecond
	passed := func() time.Duration { return base().Sub(begun) }
	r.Elapsed = passed
	r.Clock = func() time.Time {
		switch at := base(); kind {
		case 1:
			return begun.Add(min(passed(), stops))
		case 2:
			return at.Add(time.Hour)
		case 3:
			return begun.Add(time.Hour + min(passed(), stops))
		case 4:
			return at.Add(time.Duration(passed()/(150*time.Millisecond)*7%5-2) * time.Hour)
		default:
			return at
		}
	}
	if kind == 5 {
		r.Elapsed = func() time.Duration { return min(passed(), stops) + max(0, passed()-stops-300*time.Millisecond) }
	}
}

// leaseGame is the game of clients that write under one lease. Some are paused for long, and their clocks differ by more and by less than is declared, stop,
// run ahead and jump.
func leaseGame(name string) game[leaseState, leaseIn, leaseOut] {
	return game[leaseState, leaseIn, leaseOut]{
		name: name,
		open: func(db *entity.DB, id string) (func(context.Context, leaseIn) (leaseOut, error), error) {
			p := &leasePlayer{db: db, id: id, held: map[int64]*lease.Held{}}
			var err error
			if p.s, err = entity.New[Fenced](db); err == nil {
				calm(p.s)
				p.clocks()
				p.leases, err = lease.New(db, leaseOptions)
			}
			return p.do, err
		},
		choose: func(rng *rand.Rand, seen *notes) leaseIn {
			in := leaseIn{verb: leaseVerbs[rng.IntN(len(leaseVerbs))]}
			if seen.version == 0 && in.verb != "read" {
				in.verb = "acquire"
			}
			if in.verb != "acquire" && in.verb != "read" {
				in.fence = seen.version
			}
			return in
		},
		reads: func(in leaseIn) bool { return in.verb == "read" || in.verb == "renew" },
		step:  stepLease,
		fits: func(want, got said[leaseOut]) bool {
			return want.out == got.out && (want.class == got.class || want.either != "" && want.either == got.class)
		},
		show:  func(s leaseState) string { return fmt.Sprintf("%+v", s) },
		split: splitLease,
	}
}

type leasePlayer struct {
	db     *entity.DB
	s      *entity.Store[Fenced]
	leases *lease.Leases
	id     string
	held   map[int64]*lease.Held
}

func (p *leasePlayer) do(ctx context.Context, in leaseIn) (leaseOut, error) {
	switch in.verb {
	case "acquire":
		h, err := p.leases.Acquire(ctx, p.id)
		if err != nil {
			return 0, err
		}
		p.held[h.Fence()] = h
		return leaseOut(h.Fence()), nil
	case "renew":
		return 0, p.held[in.fence].Renew(ctx)
	case "release":
		return 0, p.held[in.fence].Release(ctx)
	case "write":
		return 0, p.db.Transact(ctx, p.held[in.fence].Op(), p.s.Op().Put(Fenced{ID: p.id, Fence: in.fence}))
	}
	many, err := p.s.GetMany(ctx, []Fenced{{ID: p.id}}, entity.Consistent())
	if err != nil || many[0] == nil {
		return 0, err
	}
	return leaseOut(-many[0].Fence), nil // negative, so that it is not taken for one of an acquisition
}

// splitLease gives an acquire the fence that it got. One whose request was repeated may have taken the lease before, and lost it to another, until it
// took it or found it taken: that ended the time of the holder before it. One whose context ended gave up what it took, or would have.
func splitLease(e entry[leaseIn, leaseOut]) (all []entry[leaseIn, leaseOut]) {
	if e.in.verb != "acquire" {
		return []entry[leaseIn, leaseOut]{e}
	}
	if !e.said.unsure {
		e.in.fence = int64(e.said.out)
		all = append(all, e)
	}
	if e.said.unsure || slices.ContainsFunc(e.faults, func(f string) bool { return applied.MatchString(f) }) {
		for _, verb := range []string{"seize", "vacate"} {
			e.in, e.said = leaseIn{verb: verb}, said[leaseOut]{outcome: outcome{unsure: true}}
			all = append(all, e)
		}
	}
	return all
}

// applied matches the faults under which a request is applied, and may be repeated.
var applied = regexp.MustCompile("^(InternalApplied|Lost|Cut|Twice|Late|Cancel) UpdateItem")

// stepLease is what docs/leases.md promises, whatever the clocks show.
func stepLease(s leaseState, in leaseIn) (leaseState, leaseOut, outcome) {
	mine := s.held && s.fence == in.fence
	switch in.verb {
	case "read":
		return s, leaseOut(-s.last), outcome{}
	case "seize":
		return leaseState{s.fence + 1, true, s.last}, 0, outcome{}
	case "vacate":
		return leaseState{s.fence, false, s.last}, 0, outcome{}
	case "acquire":
		if in.fence == 0 {
			if s.held {
				return s, 0, outcome{class: "Held", either: "Held+Skew"}
			}
			return s, 0, outcome{class: "impossible"}
		}
		if in.fence <= s.fence {
			return s, 0, outcome{class: "a fence was used again"}
		}
		return leaseState{in.fence, true, s.last}, leaseOut(in.fence), outcome{}
	}
	if !mine {
		return s, 0, outcome{class: "Lost", either: "Lost+Skew"}
	}
	switch in.verb {
	case "write":
		s.last = s.fence
	case "release":
		s.held = false
	}
	return s, 0, outcome{}
}
