package studio

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"
)

// job is long work. Its page shows how far it is, and stops it.
type job struct {
	ID, Kind, What string
	Started        time.Time
	stop           context.CancelFunc
	meter          *Meter

	mu       sync.Mutex
	progress Progress
	result   any
	err      error
	done     bool
}

// mostJobs are kept; the oldest that are done make room.
const mostJobs = 20

type jobs struct {
	mu     sync.Mutex
	all    map[string]*job
	order  []string
	health *job // the last check
}

func (j *jobs) add(x *job) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i := 0; len(j.order) >= mostJobs && i < len(j.order); i++ {
		if old := j.all[j.order[i]]; old.finished() {
			delete(j.all, old.ID)
			j.order = slices.Delete(j.order, i, i+1)
			i--
		}
	}
	if len(j.order) >= mostJobs {
		return &Mistaken{errors.New("too much is running: stop something first")}
	}
	j.all[x.ID], j.order = x, append(j.order, x.ID)
	if x.Kind == "check" {
		j.health = x
	}
	return nil
}

func (j *jobs) find(id string) (*job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if x := j.all[id]; x != nil {
		return x, nil
	}
	return nil, ErrNotFound
}

func (j *jobs) lastCheck() *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.health
}

func (j *jobs) stopAll() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range j.all {
		x.stop()
	}
}

func (x *job) finished() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.done
}

func (x *job) report(p Progress) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.progress = p
}

// jobView is what the page of a job shows.
type jobView struct {
	ID, Kind, What string
	Started        time.Time
	Progress       Progress
	Percent        int // -1 if unknown
	Done, Stopped  bool
	Failed         string
	Health         *Health
	Counts         []Count
	Hits           []hitView
	Used           Cost
}

func (s *Server) viewOf(x *job) jobView {
	x.mu.Lock()
	defer x.mu.Unlock()
	v := jobView{ID: x.ID, Kind: x.Kind, What: x.What, Started: x.Started, Progress: x.progress, Percent: -1, Done: x.done, Used: x.meter.Used()}
	if t := x.progress.Total; t > 0 {
		v.Percent = int(min(x.progress.Done, t) * 100 / t)
	}
	switch {
	case errors.Is(x.err, context.Canceled):
		v.Stopped = true
	case x.err != nil:
		v.Failed = x.err.Error()
	}
	switch r := x.result.(type) {
	case Health:
		v.Health = &r
	case []Count:
		v.Counts = r
	case Found:
		v.Hits = s.hits(r.Hits)
	}
	return v
}

// start begins long work.
func (s *Server) start(r *visit) (*view, error) {
	kind, text := r.PostFormValue("kind"), r.PostFormValue("what")
	x := &job{ID: rand.Text(), Kind: kind, What: text, Started: s.options.Clock(), meter: &Meter{budget: s.budget, waits: true}}
	var work func(context.Context) (any, error)
	switch kind {
	case "check":
		work = func(ctx context.Context) (any, error) { return s.data.Check(ctx, x.report) }
	case "count":
		work = func(ctx context.Context) (any, error) { return s.data.Count(ctx, text, x.report) }
	case "search":
		var words []string
		if err := s.open("search", text, &words); err != nil {
			return nil, err
		}
		x.What = ""
		work = func(ctx context.Context) (any, error) { return s.data.Search(ctx, words, x.report) }
	default:
		return nil, &Mistaken{errors.New("there is no such work: " + strconv.Quote(kind))}
	}
	ctx, stop := context.WithCancel(withMeter(context.WithoutCancel(r.ctx), x.meter)) // it outlives the request
	x.stop = stop
	if err := s.jobs.add(x); err != nil {
		stop()
		return nil, err
	}
	go func() {
		defer stop()
		result, err := work(ctx)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.result, x.err, x.done = result, err, true
	}()
	return &view{To: "job?id=" + x.ID}, nil
}

// job shows long work. While it runs, the page loads itself again.
func (s *Server) job(r *visit) (*view, error) {
	x, err := s.jobs.find(r.URL.Query().Get("id"))
	if err != nil {
		return nil, err
	}
	v := s.viewOf(x)
	titles := map[string]string{"check": "Check", "count": "Count", "search": "Search of all items"}
	return &view{Page: "job", Title: titles[x.Kind], Body: v, Again: !v.Done}, nil
}

func (s *Server) stop(r *visit) (*view, error) {
	x, err := s.jobs.find(r.PostFormValue("id"))
	if err != nil {
		return nil, err
	}
	x.stop()
	return &view{To: "job?id=" + x.ID}, nil
}
