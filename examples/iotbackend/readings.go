package main

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/entity"
)

// latest returns the newest reading of a device.
func (b *backend) latest(ctx context.Context, id MAC) (Reading, error) {
	var v violations
	v.ask("hardware_id", id, "hardware_id")
	if err := v.err(); err != nil {
		return Reading{}, err
	}
	// No bound of time although readings have a retention: it may have been different when they were written, and reads hide
	// expired readings.
	r, err := b.Readings.Query(Reading{HardwareID: id}, entity.Desc()).First(ctx)
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
	_, err := b.Devices.Get(ctx, Device{HardwareID: id}, entity.Consistent())
	if errors.Is(err, entity.ErrNotFound) {
		return errDeviceNotFound
	}
	return err
}

// between returns the readings between two times, both included, the newest first.
func (b *backend) between(ctx context.Context, id MAC, from, to Millis, limit int, cursor string) (entity.Page[Reading], error) {
	var v violations
	v.ask("hardware_id", id, "hardware_id")
	if from < 0 {
		v.add("from", "milliseconds since 1970 are needed")
	}
	if latest := Millis(b.now().AddDate(1, 0, 0).UnixMilli()); to < from || to > latest {
		v.add("to", "a time from then on is needed, at most a year ahead")
	}
	if err := v.err(); err != nil {
		return entity.Page[Reading]{}, err
	}
	q := b.Readings.Query(Reading{HardwareID: id}, entity.Between(&readingField.TimestampMS, from, to), entity.Desc(), entity.Limit(limit))
	page, err := q.Page(ctx, cursor)
	if err == nil && len(page.Items) == 0 && cursor == "" {
		err = b.mustExist(ctx, id)
	}
	return page, err
}
