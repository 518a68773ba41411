package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/timeline"
)

// begin lets a month of the chat pass. The view is declared but was never built.
func (s *story) begin(ctx context.Context) error {
	s.report.title("A month of messages; the first %d were stored by last year's program", inOldForm)
	done, err := s.do(ctx, epoch.Add(-time.Second), firstBuild)
	if err != nil {
		return err
	}
	s.report.line("%d writes", done)
	page, err := s.views.States.Page(ctx, 0, 0)
	if err != nil {
		return err
	}
	s.report.line("a page before the first build: %d rows", len(page.Rows))
	s.report.meta(page.Meta)
	s.see(ruleMeta, "before the first build", []string{string(page.Meta.RebuildStatus), fmt.Sprint(page.Authoritative())}, []string{"pending", "false"})
	return nil
}

// cutOff builds the rows. The first attempt is cancelled midway, as if a function ran into its deadline.
func (s *story) cutOff(ctx context.Context) error {
	s.report.title("The first build, cut off half way, and resumed")
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	bar := s.report.bar()
	_, err := s.views.States.Rebuild(inner, timeline.Segments(1), timeline.OnProgress(func(m timeline.Meta) {
		bar.draw(m)
		if m.RebuildProgress != nil && *m.RebuildProgress >= 0.5 {
			cancel()
		}
	}))
	if ctx.Err() != nil || !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the build was not cut off: %w", err)
	}
	meta, err := s.views.States.Meta(ctx)
	if err != nil {
		return err
	}
	s.report.meta(meta)
	s.see(ruleMeta, "after the cut", []string{string(meta.RebuildStatus), fmt.Sprint(meta.NoGapSeen)}, []string{"interrupted", "false"})

	bar = s.report.bar()
	if meta, err = s.views.States.Rebuild(ctx, timeline.Resume(), timeline.Segments(1), timeline.OnProgress(bar.draw)); err != nil {
		return err
	}
	s.report.meta(meta)
	s.report.counters(meta.Counters)
	s.see(ruleMeta, "after the build", []string{string(meta.RebuildStatus), fmt.Sprint(meta.NoGapSeen)}, []string{"complete", "true"})
	s.see(ruleProgress, "of the first build", bar.falls(), nil)
	resumed, err := all(ctx, s.views.States)
	if err != nil {
		return err
	}
	s.report.users(resumed)
	s.see(ruleRows, "after the first build", userLines(resumed), userLines(replay(s.chat, firstBuild, time.Time{})))

	if _, err := s.views.States.Rebuild(ctx); err != nil {
		return err
	}
	clean, err := all(ctx, s.views.States)
	if err != nil {
		return err
	}
	s.report.line("a clean build gives the same %d rows", len(clean))
	s.see(ruleResume, "chat", userLines(resumed), userLines(clean))
	return nil
}

// lookBack shows the rows as they were. They are replayed from the history, without the stored rows.
func (s *story) lookBack(ctx context.Context) error {
	for _, at := range moments {
		rows, err := all(ctx, s.views.States, timeline.AsOf(at))
		if err != nil {
			return err
		}
		s.report.title("The same rows as of %s", instant(at))
		s.report.users(rows)
		s.see(rulePast, instant(at), userLines(rows), userLines(replay(s.chat, firstBuild, at)))
	}
	row, meta, err := s.views.States.Get(ctx, User{"ada"}, timeline.AsOf(moments[1]))
	if err != nil {
		return err
	}
	s.report.line("one row needs a query for each source: of ada %d events, read %d", row.Events, meta.Counters.Scanned)
	return nil
}

// listEvents turns the pages of the log.
func (s *story) listEvents(ctx context.Context) error {
	s.report.title("The event log, page by page")
	var got []string
	for number := 1; ; number++ {
		page, err := s.log.Page(ctx, number, 0)
		if err != nil {
			return err
		}
		s.report.line("page %d of %d:", page.Page, page.Pages)
		s.report.events(page.Rows, 3)
		got = append(got, eventLines(page.Rows)...)
		if int64(number) >= page.Pages {
			break
		}
	}
	s.see(ruleLog, "by pages", got, eventsOf(s.chat, firstBuild))
	got = nil
	for after, more := "", true; more; more = after != "" { // new events do not invalidate a cursor
		page, err := s.log.After(ctx, after, 40)
		if err != nil {
			return err
		}
		got, after = append(got, eventLines(page.Rows)...), page.Next
	}
	s.see(ruleLog, "by cursors", got, eventsOf(s.chat, firstBuild))
	return nil
}

// catchUp lets a week pass in which moderators return from their holidays.
func (s *story) catchUp(ctx context.Context) error {
	later := firstBuild.Add(9 * day)
	if _, err := s.do(ctx, firstBuild, later); err != nil {
		return err
	}
	s.report.title("Nine days later: messages were deleted, and verdicts came that are weeks old")
	var late int
	for _, d := range s.chat {
		if d.event != "" && d.accepted.After(firstBuild) && d.at.Before(firstBuild) {
			late++
		}
	}
	s.report.line("events that came late: %d", late)
	stored, err := all(ctx, s.views.States)
	if err != nil {
		return err
	}
	s.see(ruleRows, "before the catch-up", userLines(stored), userLines(replay(s.chat, firstBuild, time.Time{})))
	meta, err := s.views.States.CatchUp(ctx)
	if err != nil {
		return err
	}
	s.report.meta(meta)
	if stored, err = all(ctx, s.views.States); err != nil {
		return err
	}
	s.report.users(stored)
	s.see(ruleRows, "after the catch-up", userLines(stored), userLines(replay(s.chat, later, time.Time{})))

	s.report.title("What happened by %s, and what was known of it at that time", instant(moments[2]))
	happened, err := all(ctx, s.views.States, timeline.AsOf(moments[2]))
	if err != nil {
		return err
	}
	known, err := all(ctx, s.views.States, timeline.AsKnownAt(moments[2]))
	if err != nil {
		return err
	}
	s.report.differences(happened, known)
	s.see(rulePast, "with what came late", userLines(happened), userLines(replay(s.chat, later, moments[2])))
	s.see(ruleKnown, instant(moments[2]), userLines(known), userLines(replay(s.chat, moments[2], time.Time{})))
	return nil
}

// release deploys a program with another definition of the view.
func (s *story) release(ctx context.Context) error {
	s.report.title("The next release counts channels, too")
	next, err := open(s.client, s.table, s.clock.now)
	if err != nil {
		return err
	}
	states, err := timeline.New(next.db, next.nextRelease())
	if err != nil {
		return err
	}
	_, err = states.Page(ctx, 0, 0)
	var stale *timeline.StaleError
	if !errors.As(err, &stale) {
		return fmt.Errorf("rows of another definition were served: %w", err)
	}
	s.report.line("%v", timeline.ErrRebuildRequired)
	s.see(ruleStale, "fingerprints", []string{stale.Have, stale.Want}, []string{s.views.States.Fingerprint(), states.Fingerprint()})
	served, err := states.Page(ctx, 0, 0, timeline.AllowStale())
	if err != nil {
		return err
	}
	s.report.line("with AllowStale: %d rows, status %s, history complete %t", len(served.Rows), served.Meta.RebuildStatus, served.Meta.HistoryComplete)
	s.see(ruleStale, "the old rows", channelLines(served.Rows, false), userLines(replay(s.chat, s.clock.at, time.Time{})))

	bar := s.report.bar()
	meta, err := states.Rebuild(ctx, timeline.Segments(1), timeline.OnProgress(bar.draw))
	if err != nil {
		return err
	}
	s.see(ruleProgress, "of the next release", bar.falls(), nil)
	s.report.meta(meta)
	_, err = states.Page(ctx, 1, 0, timeline.RequireComplete()) // verdicts expire: nothing proves that there were no others
	s.see(ruleMeta, "of what expires", []string{fmt.Sprint(errors.Is(err, timeline.ErrIncomplete))}, []string{"true"})
	page, err := states.Page(ctx, 1, 0)
	if err != nil {
		return err
	}
	s.report.channels(page.Rows)
	s.see(ruleRows, "of the next release", channelLines(page.Rows, true), channelsOf(s.chat, s.clock.at))
	return nil
}
