package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/dynastrata/dynastrata/entity"
)

// costs adds up what the calls of each verb cost. Its observe is the Config.Observe of the database.
type costs struct {
	mu    sync.Mutex
	lines map[costKey]*cost
}

type costKey struct{ verb, entity string }

type cost struct {
	costKey
	calls, requests int
	read, write     float64
}

func (c *costs) observe(_ context.Context, r entity.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines == nil {
		c.lines = map[costKey]*cost{}
	}
	k := costKey{r.Verb, r.Entity}
	if c.lines[k] == nil {
		c.lines[k] = &cost{costKey: k}
	}
	line := c.lines[k]
	line.calls++
	line.requests += r.Requests
	line.read += r.ReadUnits
	line.write += r.WriteUnits
}

// sorted returns a copy of the lines, by verb and entity.
func (c *costs) sorted() []cost {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []cost
	for line := range maps.Values(c.lines) {
		all = append(all, *line)
	}
	slices.SortFunc(all, func(a, b cost) int { return cmp.Or(cmp.Compare(a.verb, b.verb), cmp.Compare(a.entity, b.entity)) })
	return all
}
