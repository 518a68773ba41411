package timeline

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/dynastrata/dynastrata/internal/spool"
)

// everything reads the whole history of an origin, one page after the other.
func (o *origin) readWhole(ctx context.Context, now time.Time, to recordSink) error {
	if o.feed != nil {
		return o.readFeed(ctx, to)
	}
	return o.scan(ctx, 0, 1, nil, now, to)
}

// feedMemory is what a feed may hold in memory while its duplicates are looked for, in bytes.
const feedMemory = 16 << 20

// drain reads a feed. Nothing keeps it from giving an event twice, or two events with one identity, in any order: they are
// sorted by identity first.
func (o *origin) readFeed(ctx context.Context, to recordSink) (err error) {
	s := spool.New(feedMemory, to.dir)
	defer func() { err = joinClose(err, s.Close()) }()
	for r, err := range o.feed(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		at, err := formatInstant(r.at)
		if err != nil {
			return o.eventError(r, History, err)
		}
		b, err := appendRecord(nil, r)
		if err != nil {
			return o.eventError(r, History, err)
		}
		if err := s.Add([]byte(at+separator+r.key), b); err != nil {
			return err
		}
	}
	var last spool.Entry
	for e, err := range s.Sorted() {
		if err != nil {
			return err
		}
		r, err := parseRecord(e.Value)
		if err != nil {
			return err
		}
		if bytes.Equal(e.Key, last.Key) {
			if !bytes.Equal(e.Value, last.Value) {
				return o.eventError(r, History, ErrDuplicate)
			}
			if to.duplicate != nil {
				to.duplicate()
			}
			continue
		}
		last = e
		if err := to.event(r); err != nil {
			return err
		}
	}
	return nil
}

// joined adds an error of tidying up to one that came before.
func joinClose(err, closing error) error {
	if closing == nil {
		return err
	}
	return errors.Join(err, closing)
}
