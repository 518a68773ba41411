package main

import (
	"context"
	"errors"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// latest returns the newest reading of a device.
func (b *backend) latest(ctx context.Context, id MAC) (Reading, error) {
	var v violations
	v.ask("hardware_id", id, "hardware_id")
	if err := v.err(); err != nil {
		return Reading{}, err
	}
	// No bound of time, though readings have a retention: it may have been another one when they were written, and what has
	// expired is not shown.
	r, err := b.readings.Query(Reading{HardwareID: id}, entity.Desc()).First(ctx)
	if !errors.Is(err, entity.ErrNotFound) {
		return r, err
	}
	if err := b.mustExist(ctx, id); err != nil {
		return Reading{}, err
	}
	return Reading{}, errNoReadings
}

// mustExist returns errDeviceNotFound for a device that was never registered.
func (b *backend) mustExist(ctx context.Context, id MAC) error {
	_, err := b.devices.Get(ctx, Device{HardwareID: id}, entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		return errDeviceNotFound
	}
	return err
}

// span is a range of time, both ends included.
type span struct{ from, to Millis }

// validate takes times from 1970 up to a year ahead.
func (s span) validate(now time.Time) error {
	var v violations
	latest := Millis(now.AddDate(1, 0, 0).UnixMilli())
	for _, end := range []struct {
		field string
		at    Millis
	}{{"from", s.from}, {"to", s.to}} {
		if end.at < 0 || end.at > latest {
			v.add(end.field, "milliseconds since 1970 are needed, at most a year ahead")
		}
	}
	if s.from > s.to {
		v.add("from", "it must not be after to")
	}
	return v.err()
}

// between returns the readings of a span, the newest first.
func (b *backend) between(ctx context.Context, id MAC, s span, limit int, cursor string) (entity.Page[Reading], error) {
	var v violations
	v.ask("hardware_id", id, "hardware_id")
	v.take("", s.validate(b.now()))
	if err := v.err(); err != nil {
		return entity.Page[Reading]{}, err
	}
	q := b.readings.Query(Reading{HardwareID: id}, entity.Between(&readingField.TimestampMS, s.from, s.to), entity.Desc(), entity.Limit(limit))
	page, err := q.Page(ctx, cursor)
	if err == nil && len(page.Items) == 0 && cursor == "" {
		err = b.mustExist(ctx, id)
	}
	return page, err
}
