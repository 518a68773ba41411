package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// A sample holds what one round of one operation cost.
type sample struct{ cpu, allocs, bytes float64 } // nanoseconds of CPU, allocations and bytes of one call

// series is the samples of one operation with one library, one for each round.
type series []sample

// measured is a row with its samples by library.
type measured struct {
	name   string
	series [6]series
}

// measure runs each row in many short rounds, with the libraries in turn, so that whatever slows the machine slows all of them.
func measure(ctx context.Context, c *canned, all []timed, rounds int, length time.Duration, progress func(string)) ([]measured, error) {
	results := make([]measured, len(all))
	calls := make([]int, len(all))
	for i, r := range all {
		results[i].name = r.name
		for _, run := range r.run { // the first calls fill caches
			if err := repeat(ctx, c, r.row, run, 20); err != nil {
				return nil, err
			}
		}
		s, err := take(ctx, c, r.row, r.run[withRaw], 50)
		if err != nil {
			return nil, err
		}
		calls[i] = max(1, int(float64(length)/s.cpu))
	}
	for round := range rounds {
		progress(fmt.Sprintf("round %d of %d", round+1, rounds))
		for i, r := range all {
			for turn := range libraries {
				lib := (turn + round) % len(libraries)
				s, err := take(ctx, c, r.row, r.run[lib], calls[i])
				if err != nil {
					return nil, err
				}
				results[i].series[lib] = append(results[i].series[lib], s)
			}
		}
	}
	return results, nil
}

func repeat(ctx context.Context, c *canned, r row, run operation, n int) error {
	c.answer(r.answers, false)
	for range n {
		if _, err := run(ctx); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// take measures n calls.
func take(ctx context.Context, c *canned, r row, run operation, n int) (sample, error) {
	c.answer(r.answers, false)
	runtime.GC() // what the round before left is not this one's
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpuTime()
	for range n {
		if _, err := run(ctx); err != nil {
			return sample{}, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	used := cpuTime() - start
	runtime.ReadMemStats(&after)
	return sample{
		cpu:    float64(used) / float64(n),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
	}, nil
}

// cpuTime returns the time that the process has used, in user and system, on all threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // the arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// median returns the middle of values, and the lowest and highest quarter of them.
func median(values []float64) (middle, low, high float64) {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	at := func(part float64) float64 { return sorted[int(part*float64(len(sorted)-1)+0.5)] }
	return at(0.5), at(0.25), at(0.75)
}

func (s series) pick(f func(sample) float64) []float64 {
	values := make([]float64, len(s))
	for i, one := range s {
		values[i] = f(one)
	}
	return values
}

func (s series) cpu() float64 {
	m, _, _ := median(s.pick(func(one sample) float64 { return one.cpu }))
	return m
}

func (s series) allocs() float64 {
	m, _, _ := median(s.pick(func(one sample) float64 { return one.allocs }))
	return m
}

// ratio compares the CPU time of a library with that of the raw SDK in the same rounds, with the same client.
func (m measured) ratio(lib library) (middle, low, high float64) {
	ratios := make([]float64, len(m.series[lib]))
	for i, s := range m.series[lib] {
		ratios[i] = s.cpu / m.series[lib.base()][i].cpu
	}
	return median(ratios)
}
