package main

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
)

// costs adds up what the calls of each verb cost. It is the Tracer of the database.
type costs struct {
	mu    sync.Mutex
	lines map[costKey]*cost
}

// counted is a client that counts the actions of transactions that were applied, for the calls of one context.
type counted struct{ entity.Client }

// actionsKey is the key of the counter in a context.
type actionsKey struct{}

// counting returns a context whose transactions are counted.
func counting(ctx context.Context) context.Context {
	return context.WithValue(ctx, actionsKey{}, new(atomic.Int64))
}

func (c counted) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, optFns ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := c.Client.TransactWriteItems(ctx, in, optFns...)
	if n, ok := ctx.Value(actionsKey{}).(*atomic.Int64); ok && err == nil {
		n.Add(int64(len(in.TransactItems)))
	}
	return out, err
}

// perAction is the cost of an action of a transaction, on an item of up to 1 KB. A check costs as much as a write.
const perAction = 2

type costKey struct{ verb, entity string }

type cost struct {
	costKey
	calls, requests int
	read, write     float64
}

// Start does nothing.
func (c *costs) Start(ctx context.Context, _ entity.Call) context.Context { return ctx }

// Request does nothing.
func (c *costs) Request(context.Context, entity.Attempt) {}

// End adds the cost of a call.
func (c *costs) End(ctx context.Context, r entity.Report) {
	written := r.WriteUnits
	if n, ok := ctx.Value(actionsKey{}).(*atomic.Int64); ok {
		written = float64(perAction * n.Swap(0))
	}
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
	line.write += written
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
