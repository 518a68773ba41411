package main

import (
	"context"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/timeline"
)

// views are the handles of a program with two views.
type views struct {
	handles
	States *timeline.View[User, UserState]
	Spans  *timeline.View[string, DeviceState]
}

// story is one run: today's program with its views, what happens, and what was seen.
type story struct {
	program
	client   *dynamodb.Client
	table    string
	clock    *clock
	report   report
	lastYear *entity.Store[messageV1]

	views        *views
	log, reports *timeline.LogView

	chat  []deed
	fleet []Reading
	seen  []sight
}

// clock is the story's own time. The scenes advance it.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newStory(out io.Writer, client *dynamodb.Client, table string, seed uint64) (*story, error) {
	s := &story{
		client: client, table: table, clock: &clock{epoch}, report: report{out},
		chat: newChat(seed), fleet: newReadings(seed, firstBuild.Add(9*day)),
	}
	db, err := connect(client, table, s.clock.now)
	if err != nil {
		return nil, err
	}
	s.views, err = entity.Bind[views](db, keep(), // or every mistake at once
		timeline.Define(func(v *views) timeline.Projection[User, UserState] { return v.userMessageState() }),
		timeline.Define(func(v *views) timeline.Projection[string, DeviceState] { return v.deviceSpans() }))
	if err != nil {
		return nil, err
	}
	s.program = program{&s.views.handles, db}
	if s.lastYear, err = lastYearsStore(client, table, s.clock.now); err != nil {
		return nil, err
	}
	if s.log, err = timeline.NewLog(s.db, s.messageEventLog()); err != nil {
		return nil, err
	}
	s.reports, err = timeline.NewLog(s.db, s.readingLog())
	return s, err
}

// scenes are the whole story, in order.
func (s *story) scenes() []scene {
	return []scene{
		s.begin, s.cutOff, s.lookBack, s.listEvents, s.catchUp, s.release, // the chat
		s.measure, s.crash, s.inspectDevice, s.limits, // the fleet
	}
}

type scene = func(context.Context) error

// tell plays scenes.
func (s *story) tell(ctx context.Context, scenes []scene) error {
	if err := tables.Create(ctx, s.db); err != nil { // the tables of rows, too
		return err
	}
	s.report.legend()
	for _, scene := range scenes {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	return nil
}

// all returns all rows of a view.
func all[K comparable, S any](ctx context.Context, v *timeline.View[K, S], opts ...timeline.RowsOption) (rows []timeline.Row[K, S], err error) {
	for row, err := range v.All(ctx, opts...) {
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
