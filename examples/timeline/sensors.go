package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
)

// measure stores the readings of the fleet, in a table that was not made for this library.
func (s *story) measure(ctx context.Context) error {
	s.report.title("%d devices report %d readings each, in a table with a locked format", devices, eachMeasures)
	if _, err := s.Readings.PutMany(ctx, s.fleet); err != nil {
		return err
	}
	s.clock.at = s.clock.at.Add(time.Hour)
	plan, err := s.views.Spans.Explain(ctx)
	if err != nil {
		return err
	}
	s.report.line("a build reads by %s; one device as of a moment: %s", plan.Route, plan.OneRow)
	return nil
}

// crash builds the rows in a process that loses the network for good: it cannot even release its lease.
func (s *story) crash(ctx context.Context) error {
	s.report.title("A build whose process dies, and another one that goes on with it")
	wire := faults.New(s.client.Options().HTTPClient)
	victim, err := open(dynamodb.New(s.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire }), s.table, s.clock.now, impatient)
	if err != nil {
		return err
	}
	doomed, err := timeline.New(victim.db, victim.deviceSpans())
	if err != nil {
		return err
	}
	inner, die := context.WithCancel(ctx)
	defer die()
	rows := 0 // each row in a request names the attribute
	wire.Inject(func(r faults.Request) faults.Fault {
		if rows += bytes.Count(r.Body, []byte(`"position"`)); rows > devices*2/3 {
			die() // no request is repeated
			return faults.Drop
		}
		return faults.None
	})
	bar := s.report.bar()
	if _, err = doomed.Rebuild(inner, timeline.Segments(1), timeline.CheckpointEvery(20), timeline.OnProgress(bar.draw)); err == nil {
		return errors.New("the build survived")
	}
	s.see(ruleProgress, "of the build that died", bar.falls(), nil)

	_, err = s.views.Spans.Rebuild(ctx, timeline.Resume())
	var busy *timeline.BuildingError
	if !errors.As(err, &busy) {
		return fmt.Errorf("a builder that may be alive was not respected: %w", err)
	}
	s.report.line("%v", busy)
	s.clock.at = busy.Until.Add(time.Second)
	bar = s.report.bar()
	meta, err := s.views.Spans.Rebuild(ctx, timeline.Resume(), timeline.Segments(1), timeline.OnProgress(bar.draw))
	if err != nil {
		return err
	}
	s.report.meta(meta)
	s.report.counters(meta.Counters)
	s.see(ruleCount, "folded by both processes", []string{fmt.Sprint(meta.Counters.Folded)}, []string{fmt.Sprint(len(s.fleet))})
	s.see(ruleProgress, "of the build that went on", bar.falls(), nil)
	resumed, err := all(ctx, s.views.Spans)
	if err != nil {
		return err
	}
	s.see(ruleRows, "devices", deviceLines(resumed), deviceLines(spansOf(s.fleet, time.Time{})))
	if _, err := s.views.Spans.Rebuild(ctx); err != nil {
		return err
	}
	clean, err := all(ctx, s.views.Spans)
	if err != nil {
		return err
	}
	s.report.line("a clean build gives the same %d rows", len(clean))
	s.see(ruleResume, "devices", deviceLines(resumed), deviceLines(clean))

	page, err := s.views.Spans.Page(ctx, 15, 4)
	if err != nil {
		return err
	}
	s.report.line("page %d of %d:", page.Page, page.Pages)
	s.report.devices(page.Rows)
	s.see(ruleRows, "page 15", deviceLines(page.Rows), deviceLines(spansOf(s.fleet, time.Time{}))[56:60])
	return nil
}

// impatient keeps a program without a network from retrying.
func impatient(c *entity.Config) { c.MaxAttempts = 2 }

// inspectDevice shows one device: its row as it was, and its readings.
func (s *story) inspectDevice(ctx context.Context) error {
	id, at := "24:6F:28:00:00:2A", firstBuild.Add(9*day+20*time.Minute)
	s.report.title("Device %s as of %s, and its readings", id, instant(at))
	row, meta, err := s.views.Spans.Get(ctx, id, timeline.AsOf(at))
	if err != nil {
		return err
	}
	s.report.devices([]timeline.Row[string, DeviceState]{row})
	s.report.line("a query of its partition: read %d readings, folded %d", meta.Counters.Scanned, meta.Counters.Folded)
	want := spansOf(of(s.fleet, id), at)
	s.see(rulePast, id, deviceLines([]timeline.Row[string, DeviceState]{row}), deviceLines(want))

	var got []string
	for after, more := "", true; more; more = after != "" {
		page, err := s.reports.After(ctx, after, 0, timeline.ForKey(Reading{HardwareID: id}))
		if err != nil {
			return err
		}
		s.report.readings(page.Rows, 2)
		got, after = append(got, readingLines(page.Rows)...), page.Next
	}
	s.see(ruleLog, id, got, readingsOf(of(s.fleet, id)))
	return nil
}

// limits shows what cannot be known about such a table, and the errors that say so.
func (s *story) limits(ctx context.Context) error {
	s.report.title("What such a table cannot tell")
	_, err := s.views.Spans.CatchUp(ctx)
	s.refused("CatchUp", err, timeline.ErrNoAcceptTime)
	_, err = all(ctx, s.views.Spans, timeline.AsKnownAt(s.clock.at))
	s.refused("AsKnownAt", err, timeline.ErrNoAcceptTime)
	_, _, err = s.views.Spans.Get(ctx, s.fleet[0].HardwareID, timeline.AsOf(s.clock.at.Add(-retention-time.Hour)))
	s.refused("AsOf a moment before the oldest reading that is kept", err, timeline.ErrHistoryGap)
	_, _, err = s.views.Spans.Get(ctx, "24:6F:28:FF:FF:FF")
	s.refused("Get of a device without readings", err, entity.ErrNotFound)
	return nil
}

// refused prints the error of a call that must fail.
func (s *story) refused(call string, err, class error) {
	s.report.line("%s: %v", call, class)
	s.see(ruleRefused, call, []string{fmt.Sprint(errors.Is(err, class))}, []string{"true"})
}
