package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

const (
	ruleJoined = "a transaction stores a report together with its alarm"
	ruleStale  = "a stale append fails its transaction as a whole"
)

// raise is a report of a forced door, with what must happen in the same transaction: the device is still in service, and an
// alarm is raised.
type raise struct {
	event  Telemetry
	alarm  Alarm
	report entity.Write[timeseries.Result[Telemetry]]
	guard  entity.Op
	create entity.Write[Alarm]
}

// raise builds the three operations without I/O. Each can print its plan.
func (a *app) raise(key Telemetry, at time.Time) raise {
	forced, door := true, "door"
	event := key
	event.Timestamp, event.Alert, event.Location = at, &forced, &door
	alarm := Alarm{Channel: key.Channel, DeviceID: key.DeviceID, RaisedAt: at, Text: "the door was forced open"}
	r := entity.Fields[Registration]()
	return raise{
		event:  event,
		alarm:  alarm,
		report: a.Telemetry.Op().Append(event),
		guard:  a.Registrations.Op().CheckExists(Registration{Channel: key.Channel, DeviceID: key.DeviceID}, entity.Eq(&r.InService, true)),
		create: a.Alarms.Op().Create(alarm),
	}
}

// transactions raises an alarm with a new report, and then tries to raise one with a late report.
func (s *simulation) transactions(ctx context.Context) error {
	d := s.fleet[0]
	current, err := s.Telemetry.Get(ctx, d.key, entity.Consistent())
	if err != nil {
		return err
	}
	fresh := s.raise(d.key, current.Timestamp.Add(interval))
	s.report.title("The plan of one append, printed without sending it")
	s.report.plans(fresh.report)
	s.report.title("The plans of one transaction: report, guard and alarm")
	s.report.plans(fresh.report, fresh.guard, fresh.create)
	if err := s.db.Transact(counting(ctx), fresh.report, fresh.guard, fresh.create); err != nil {
		return fmt.Errorf("raise an alarm: %w", err)
	}
	applied, err := receive(ctx, fresh.event, fresh.report.Result())
	if err != nil {
		return err
	}
	d.receipts = append(d.receipts, applied)
	if _, err := s.Alarms.Get(ctx, fresh.alarm, entity.Consistent()); err != nil {
		return fmt.Errorf("%w: %w", &violation{d.name(), ruleJoined, "the alarm cannot be read"}, err)
	}
	s.report.line("Applied: current is %s, and the alarm is raised.", applied.current)
	return s.staleTransaction(ctx, d, s.raise(d.key, current.Timestamp.Add(interval/2)))
}

// staleTransaction sends a transaction whose report is older than the current item. A separate append would return an
// outcome. In a transaction that would leave the alarm undecided, so it is an error, and nothing is written.
func (s *simulation) staleTransaction(ctx context.Context, d *device, late raise) error {
	err := s.db.Transact(counting(ctx), late.report, late.guard, late.create)
	var stale *timeseries.NotAppliedError
	switch {
	case err == nil:
		return &violation{d.name(), ruleStale, "it was applied"}
	case !errors.As(err, &stale):
		return fmt.Errorf("raise a late alarm: %w", err)
	}
	winner, ok := entity.StoredItem[Telemetry](err)
	if !ok {
		return &violation{d.name(), ruleStale, "the error does not hold the item that won"}
	}
	d.receipts = append(d.receipts, receipt{late.event, timeseries.Result[Telemetry]{Reason: stale.Reason}, winner})
	_, getErr := s.Alarms.Get(ctx, late.alarm, entity.Consistent())
	if !errors.Is(getErr, entity.ErrNotFound) {
		return errors.Join(&violation{d.name(), ruleStale, "its alarm was raised all the same"}, getErr)
	}
	s.report.title("The same with a report that comes too late")
	s.report.line("error: %v", err)
	s.report.line("Nothing was written: the append is %q; the guard and the alarm had no objection (%v, %v).",
		stale.Reason, entity.FailureOf(err, late.guard), entity.FailureOf(err, late.create))
	s.report.line("sent:   %s", late.event)
	s.report.line("stored: %s", winner)
	return nil
}
