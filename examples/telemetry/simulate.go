package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
)

// simulation is one run: the application, the fleet, and where the report goes.
type simulation struct {
	*app
	fleet  []*device
	costs  *costs
	report report
}

func newSimulation(out io.Writer, client entity.Client, table string, seed uint64) (*simulation, error) {
	s := &simulation{fleet: newFleet(seed), costs: &costs{}, report: report{out}}
	var err error
	s.app, err = open(client, table, s.costs)
	return s, err
}

// play runs all scenes. check examines what they leave in the table.
func (s *simulation) play(ctx context.Context) error {
	if err := tables.Create(ctx, s.db); err != nil {
		return err
	}
	for _, scene := range []func(context.Context) error{s.live, s.closeUp, s.history, s.transactions} {
		if err := scene(ctx); err != nil {
			return err
		}
	}
	s.report.title("What it cost")
	s.report.costs(s.costs.sorted())
	return nil
}

// live lets all devices publish at the same time, while the background job enriches what they write.
func (s *simulation) live(ctx context.Context) error {
	if err := register(ctx, s.app, s.fleet); err != nil {
		return err
	}
	seen := make(chan sighting, devices*reports) // has room for all, so that no device ever waits for the job
	updates := 0
	jobs := []func(context.Context) error{
		func(ctx context.Context) error {
			defer close(seen)
			return together(ctx, len(s.fleet), func(ctx context.Context, i int) error { return s.fleet[i].publish(ctx, s.app, seen) })
		},
		func(ctx context.Context) (err error) {
			updates, err = enrich(ctx, s.app, seen, s.fleet[0])
			return err
		},
	}
	if err := together(ctx, len(jobs), func(ctx context.Context, i int) error { return jobs[i](ctx) }); err != nil {
		return err
	}
	s.report.title("The fleet publishes, one report at a time, while a background job enriches")
	s.report.legend()
	s.report.answers(s.fleet, func(d *device) []receipt { return d.receipts })
	s.report.line("updates by the background job meanwhile: %d, of all devices but %s", updates, s.fleet[0].name())
	return nil
}

// closeUp shows the current item of one device before and after an enrichment and the bulk upload.
func (s *simulation) closeUp(ctx context.Context) error {
	d := s.fleet[0]
	before, err := s.Telemetry.Get(ctx, d.key, entity.Consistent())
	if err != nil {
		return err
	}
	enriched, err := d.enrich(ctx, s.app, "sold after its first reports")
	if err != nil {
		return err
	}
	uploaded, err := uploadBacklog(ctx, s.app, s.fleet)
	if err != nil {
		return err
	}
	after, err := s.Telemetry.Get(ctx, d.key, entity.Consistent())
	if err != nil {
		return err
	}
	s.report.title("The devices upload what they collected offline, all in one AppendAll")
	s.report.answers(s.fleet, func(d *device) []receipt { return uploaded[d] })
	s.report.title("The current item of %s: enrichment survives the appends after it", d.name())
	s.report.items([]string{"before enrichment", "enriched", "after the upload"}, before, enriched, after)
	return nil
}

// history reads back what one device did: a range of events, a filtered count, the state at an instant, and an index.
func (s *simulation) history(ctx context.Context) error {
	d := s.fleet[0]
	from, to := epoch.Add(3*time.Minute), epoch.Add(4*time.Minute)
	between := s.Telemetry.History(d.key, entity.Between(&field.Timestamp, from, to))
	events, err := between.Collect(ctx)
	if err != nil {
		return err
	}
	alerts, err := s.Telemetry.History(d.key, entity.Filter(entity.Eq(field.Alert, true))).Count(ctx)
	if err != nil {
		return err
	}
	moment := from.Add(interval / 2)
	newest, err := s.Telemetry.At(ctx, d.key, moment)
	if err != nil {
		return err
	}
	account, err := s.ByAccount.Query(Telemetry{AccountID: d.account}).Collect(ctx)
	if err != nil {
		return err
	}
	s.report.title("The history of %s from %s to %s", d.name(), clock(from), clock(to))
	s.report.plans(between)
	s.report.events(events)
	s.report.line("alerts in all of its history: %d", alerts)
	s.report.line("at %s its newest event was %s", clock(moment), newest)
	s.report.line("devices of %s, by the index byAccount: %s", d.account, names(account))
	return nil
}

// check examines what play left in the table.
func (s *simulation) check(ctx context.Context) error {
	s.report.title("The check")
	if err := check(ctx, s.app, s.fleet); err != nil {
		return err
	}
	events := 0
	for _, d := range s.fleet {
		events += len(d.receipts)
	}
	s.report.line("%d devices, %d answers: those of both tables above, and of the two transactions. For each device:", len(s.fleet), events)
	for _, rule := range []string{ruleAnswer, ruleCurrent, ruleHistory} {
		s.report.line("ok: %s", rule)
	}
	return nil
}

// cleanup bounds the deletion of tables, which must happen even after the context of the run has ended.
const cleanup = 5 * time.Minute

// drop deletes the table, even after ctx has ended.
func drop(ctx context.Context, client *dynamodb.Client, table string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	var gone *types.ResourceNotFoundException
	if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}); err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("delete table %s: %w", table, err)
	}
	return nil
}
