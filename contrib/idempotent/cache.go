package idempotent

import (
	"container/list"
	"sync"
)

// cache has the records of kept answers that the process used last. It keeps no record that is still running, and its records
// are judged as those of the table are. Nil keeps nothing.
type cache struct {
	mu    sync.Mutex
	size  int
	order *list.List // of *Record, the last used first
	of    map[string]*list.Element
}

func newCache(size int) *cache {
	if size == 0 {
		return nil
	}
	return &cache{size: size, order: list.New(), of: map[string]*list.Element{}}
}

// get returns the record of a key, or nil.
func (c *cache) get(key string) *Record {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.of[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*Record)
}

// add remembers a record, instead of another with its key, and of the one used longest ago if there are too many.
func (c *cache) add(r *Record) {
	if c == nil || r == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.of[r.Key]; e != nil {
		c.order.Remove(e)
	}
	c.of[r.Key] = c.order.PushFront(r)
	if c.order.Len() > c.size {
		last := c.order.Back()
		c.order.Remove(last)
		delete(c.of, last.Value.(*Record).Key)
	}
}
