package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
)

// chapter is one step: what happens, and what must be in the table afterwards.
type chapter struct {
	title string
	who   []string // ids of the records that are shown and compared
	act   func(context.Context) error
	disk  []string // as row.brief describes it
}

// chapters are the whole story, in order.
func chapters(s *story) []chapter {
	var all []chapter
	for _, part := range [][]chapter{s.alice(), s.emails(), s.ending()} {
		all = append(all, part...)
	}
	return all
}

// story is one run: the application, its clock, and where the report goes.
type story struct {
	*app
	client *dynamodb.Client
	table  string
	clock  *clock
	report report
	title  string  // of the current chapter
	broken []error // everything that was wrong
}

func newStory(out io.Writer, client *dynamodb.Client, table string) (*story, error) {
	s := &story{client: client, table: table, clock: &clock{at: time.Now().UTC().Truncate(time.Hour)}, report: report{out}}
	var err error
	s.app, err = open(client, table, s.clock.now)
	return s, err
}

// tell plays the chapters, an hour apart, and compares the table with what must be there after each.
func (s *story) tell(ctx context.Context, chapters []chapter) error {
	if err := tables.Create(ctx, s.db); err != nil {
		return err
	}
	s.report.legend()
	for _, c := range chapters {
		s.title = c.title
		s.report.title("%s   (%s)", c.title, instant(s.clock.at))
		if err := c.act(ctx); err != nil {
			return errors.Join(append(s.broken, fmt.Errorf("%s: %w", c.title, err))...)
		}
		stored, err := readTable(ctx, s.client, s.table)
		if err != nil {
			return err
		}
		if err := s.show(ctx, c.who); err != nil {
			return err
		}
		s.equal("what is stored", stored.about(c.who).briefs(), c.disk)
		s.broken = append(s.broken, stored.check()...)
		s.clock.at = s.clock.at.Add(time.Hour)
	}
	return errors.Join(s.broken...)
}

// violation is something that was wrong.
type violation struct{ where, what string }

func (v *violation) Error() string { return v.where + ": " + v.what }

// must records a violation unless ok.
func (s *story) must(ok bool, format string, args ...any) {
	if !ok {
		s.broken = append(s.broken, &violation{s.title, fmt.Sprintf(format, args...)})
	}
}

// equal records a violation unless the two print the same.
func (s *story) equal(what string, got, want any) {
	s.must(fmt.Sprint(got) == fmt.Sprint(want), "%s: %v, want %v", what, got, want)
}

// done prints the result of a call that succeeded.
func (s *story) done(call, format string, args ...any) {
	s.report.line("%s: ok, %s", call, fmt.Sprintf(format, args...))
}

// refused prints the error of a call that must fail, and records a violation unless it has every class.
func (s *story) refused(call string, err error, classes ...error) {
	s.report.line("%s: %v", call, err)
	for _, class := range classes {
		s.must(errors.Is(err, class), "%s: error %v, want %v", call, err, class)
	}
}

// as prints the error of a call that must fail with an E, and returns it.
func as[E error](s *story, call string, err error) E {
	var data E
	s.refused(call, err)
	s.must(errors.As(err, &data), "%s: error %v, want a %T", call, err, data)
	return data
}

// clock is the story's own time. Each chapter advances it, so that states have different times.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// field is the prototype of Employee: the addresses of its fields name attributes.
var field = entity.Fields[Employee]()

// The records of the story.
var (
	alice = Employee{EmployeeID: "emp-alice"}
	bob   = Employee{EmployeeID: "emp-bob"}
	carol = Employee{EmployeeID: "emp-carol"}
	dora  = Contractor{ContractorID: "con-dora"}
	erin  = Contractor{ContractorID: "con-erin"}
)
