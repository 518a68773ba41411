package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// Delivery is a scanner's report about a parcel. Scanners have clocks of their own and often report late.
type Delivery struct {
	_ entity.Key        `name:"Delivery" pk:"$#{parcel}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Parcel string    `dynamodbav:"parcel"`
	At     time.Time `dynamodbav:"at"`
	Place  string    `dynamodbav:"place" entity:"append"`
}

// Journey is where a parcel has been.
type Journey struct {
	Places []string `dynamodbav:"places"`
}

// The database of the examples: none, or a local one while a test runs them.
var (
	exampleClient entity.Client
	exampleTable  = "app"
	exampleTest   localdb.TB
)

// morning is when the examples start. Their clock advances by a millisecond with each reading.
var morning = time.Date(2101, 4, 22, 9, 0, 0, 0, time.UTC)

// depot opens the database. Each example has a namespace of its own.
func depot(example string) *entity.DB {
	var readings atomic.Int64 // builders read the clock at the same time
	return entity.Must(entity.Open(exampleClient, entity.Config{
		Table:     exampleTable,
		Namespace: entity.Namespace{Name: example},
		Clock:     func() time.Time { return morning.Add(time.Hour + time.Duration(readings.Add(1))*time.Millisecond) },
	}))
}

func parcelOf(d Delivery) string { return d.Parcel }

// journeys is a view of the places that each parcel has been at.
func journeys(db *entity.DB) *timeline.View[string, Journey] {
	series := entity.Must(timeseries.New[Delivery](db))
	return entity.Must(timeline.New(db, timeline.Projection[string, Journey]{
		Name: "journeys", Version: 1,
		Source: timeline.Series(series, timeline.PartitionKey(func(parcel string) Delivery { return Delivery{Parcel: parcel} })),
		Handlers: []timeline.Handler[string, Journey]{
			timeline.On("delivery.appended", parcelOf, func(j *Journey, e timeline.Event[Delivery]) error {
				j.Places = append(j.Places, e.Payload.Place)
				return nil
			}),
		},
	}))
}

// report appends reports of scanners, in minutes of the morning.
func report(ctx context.Context, db *entity.DB, parcel string, minutes int, place string) {
	series := entity.Must(timeseries.New[Delivery](db))
	entity.Must(series.Append(ctx, Delivery{Parcel: parcel, At: morning.Add(time.Duration(minutes) * time.Minute), Place: place}))
}

// A view is built, read, and read as it was.
func ExampleView() {
	ctx, db := context.Background(), depot("view")
	view := journeys(db)
	report(ctx, db, "p-1", 0, "depot")
	report(ctx, db, "p-1", 30, "van 7")
	report(ctx, db, "p-2", 10, "depot")

	page, err := view.Page(ctx, 1, 0)
	fmt.Println(page.Meta.RebuildStatus, len(page.Rows), err)
	meta, err := view.Rebuild(ctx)
	fmt.Println(meta.RebuildStatus, meta.HistoryComplete, meta.Rows, err)
	page = entity.Must(view.Page(ctx, 1, 0, timeline.RequireComplete()))
	for _, row := range page.Rows {
		fmt.Println(row.Key, row.State.Places, row.Events)
	}
	row, _, err := view.Get(ctx, "p-1", timeline.AsOf(morning.Add(20*time.Minute)))
	fmt.Println(row.State.Places, err)
	// prints
	// pending 0 <nil>
	// complete true 2 <nil>
	// p-1 [depot van 7] 2
	// p-2 [depot] 1
	// [depot] <nil>
}

// A catch-up puts late events in their place.
func ExampleView_CatchUp() {
	ctx, db := context.Background(), depot("catchup")
	view := journeys(db)
	report(ctx, db, "p-3", 0, "depot")
	report(ctx, db, "p-3", 30, "doorstep")
	entity.Must(view.Rebuild(ctx))
	before := entity.Must(view.Meta(ctx))

	report(ctx, db, "p-3", 15, "van 7") // the scanner in the van had no network
	entity.Must(view.CatchUp(ctx))
	row, _, err := view.Get(ctx, "p-3")
	fmt.Println(row.State.Places, err)

	known, _, err := view.Get(ctx, "p-3", timeline.AsKnownAt(before.Through))
	fmt.Println(known.State.Places, err)
	// prints
	// [depot van 7 doorstep] <nil>
	// [depot doorstep] <nil>
}

// A Lambda function keeps the rows up to date from the stream of the table. It is started as
//
//	lambda.Start(handler)
//
// with an event source mapping that has ReportBatchItemFailures: after a failure Lambda repeats the records from the first one
// that was not applied, and those that were applied count once.
func ExampleView_Consume() {
	ctx, db := context.Background(), depot("apply")
	view := journeys(db)
	fmt.Println(view.CheckApply()) // when the program starts

	handler := func(ctx context.Context, e stream.Event) (stream.Response, error) {
		resp, done, err := view.Consume(ctx, e) // log resp.Err()
		fmt.Printf("%+v\n", done)
		return resp, err
	}

	records := streamOf(exampleTable) // what the Lambda runtime does
	report(ctx, db, "p-6", 0, "depot")
	entity.Must(view.Rebuild(ctx))
	report(ctx, db, "p-6", 30, "doorstep")
	report(ctx, db, "p-6", 15, "van 7") // the scanner in the van had no network
	report(ctx, db, "p-7", 5, "depot")
	event := stream.Event{Records: records()}
	for range 2 { // delivered twice
		resp, err := handler(ctx, event)
		fmt.Println(resp.BatchItemFailures, err)
	}
	for row, err := range view.All(ctx) {
		fmt.Println(row.Key, row.State.Places, err)
	}
	// prints
	// <nil>
	// {Applied:1 Duplicates:0 Refolded:3 Groups:1 Noted:0 Skipped:4}
	// [] <nil>
	// {Applied:0 Duplicates:4 Refolded:0 Groups:0 Noted:0 Skipped:4}
	// [] <nil>
	// p-6 [depot van 7 doorstep] <nil>
	// p-7 [depot] <nil>
}

// streamOf turns the stream of a table on, and returns a function that reads the records since.
func streamOf(table string) func() []stream.Record {
	ctx := context.Background()
	client := exampleClient.(*dynamodb.Client)
	entity.Must(dbtest.OpenStream(ctx, client, table, types.StreamViewTypeNewImage))
	return func() (all []stream.Record) {
		arn, records := localdb.Records(exampleTest, client, table)
		for _, r := range records {
			all = append(all, stream.FromSDK(arn, r))
		}
		return all
	}
}

// A build can read a copy of an export of the table, and consumes no read units then. An export that is incomplete, damaged
// or of another kind is an error before any request.
func ExampleExport() {
	view := journeys(entity.Must(entity.Open(nil, entity.Config{Table: "depot"})))
	_, err := view.Rebuild(context.Background(), timeline.Export(os.DirFS("AWSDynamoDB/01693685827463-2d8752fd")))
	var wrong *timeline.ExportError
	fmt.Println(errors.As(err, &wrong), wrong.File, wrong.Problem)
	// Output: true manifest-summary.json it cannot be read
}

// An interrupted build is resumed, and rows of another definition are not served.
func ExampleResume() {
	ctx, db := context.Background(), depot("resume")
	view := journeys(db)
	report(ctx, db, "p-4", 0, "depot")
	short, cancel := context.WithCancel(ctx)
	_, err := view.Rebuild(short, timeline.OnProgress(func(timeline.Meta) { cancel() })) // such as by the deadline of a function
	fmt.Println(errors.Is(err, context.Canceled))
	fmt.Println(entity.Must(view.Meta(ctx)).RebuildStatus)
	fmt.Println(entity.Must(view.Rebuild(ctx, timeline.Resume())).RebuildStatus)

	later := depot("resume") // a program with another state
	series := entity.Must(timeseries.New[Delivery](later))
	count := entity.Must(timeline.New(later, timeline.Projection[string, int]{
		Name: "journeys", Version: 2, Source: timeline.Series(series),
		Handlers: []timeline.Handler[string, int]{
			timeline.On("delivery.appended", parcelOf, func(n *int, _ timeline.Event[Delivery]) error { *n++; return nil }),
		},
	}))
	_, err = count.Page(ctx, 1, 0)
	fmt.Println(errors.Is(err, timeline.ErrRebuildRequired))
	// prints
	// true
	// interrupted
	// complete
	// true
}

// The work of a rebuild is shared by workers, here goroutines: parts are read, records are collected by group, and each
// group is folded and stored. Workers in other processes join with the ticket.
func ExampleView_BeginJob() {
	ctx, db := context.Background(), depot("job")
	view := journeys(db)
	report(ctx, db, "p-6", 0, "depot")
	report(ctx, db, "p-6", 30, "van 7")
	report(ctx, db, "p-7", 10, "depot")

	job := entity.Must(view.BeginJob(ctx))
	worker := entity.Must(view.JoinJob(ctx, job.Ticket())) // in any process
	parts := entity.Must(job.Split(4))
	groups := map[string][]timeline.JobRecord{} // the shuffle
	var mu sync.Mutex
	var readers, writers sync.WaitGroup
	errs := make(chan error, 100)
	for _, part := range parts {
		readers.Go(func() {
			errs <- worker.Read(ctx, part, func(r timeline.JobRecord) error {
				mu.Lock()
				defer mu.Unlock()
				groups[r.Group] = append(groups[r.Group], r)
				return nil
			})
		})
	}
	readers.Wait()
	for group, records := range groups {
		writers.Go(func() {
			row, err := worker.Fold(ctx, group, func(yield func(timeline.JobRecord, error) bool) {
				for _, r := range records {
					if !yield(r, nil) {
						return
					}
				}
			})
			errs <- errors.Join(err, worker.Store(ctx, row))
		})
	}
	writers.Wait()
	for range len(parts) + len(groups) {
		if err := <-errs; err != nil {
			fmt.Println(err, job.Abandon(ctx, err))
			return
		}
	}
	meta, err := job.Finish(ctx)
	fmt.Println(meta.RebuildStatus, meta.Rows, meta.Counters.Folded, err)
	row, _, err := view.Get(ctx, "p-6")
	fmt.Println(row.State.Places, err)
	// prints
	// complete 2 3 <nil>
	// [depot van 7] <nil>
}

// The rows of a view can be spread over partitions, for builds that write more than one partition takes. What they cost is
// known before.
func ExampleExplanation() {
	for _, partitions := range []int{1, 16} {
		e := timeline.Explanation{View: "journeys", Route: "sorted", OneRow: "a query of its partition in each source", Partitions: partitions}
		const rows = 1e8                                                            // of up to 1 KB: two write units each
		fmt.Printf("%.1f hours to write all rows\n", 2*rows/e.RowWriteUnits()/3600) // without limits of the table
		fmt.Println(e)
	}
	// Output:
	// 55.6 hours to write all rows
	// timeline journeys: a build reads by sorted; one row as of a moment: a query of its partition in each source
	//   rows: 1 partition, for about 1000 write units and 3000 read units a second; a page or listing reads 1 partition, one row 1
	// 3.5 hours to write all rows
	// timeline journeys: a build reads by sorted; one row as of a moment: a query of its partition in each source
	//   rows: 16 partitions, for about 16000 write units and 48000 read units a second; a page or listing reads 16 partitions, one row 1
}

// A build and a replay leave capacity of the table to others. They share one budget.
func ExampleBudget() {
	ctx, db := context.Background(), depot("budget")
	view := journeys(db)
	report(ctx, db, "p-5", 0, "depot")
	job := entity.Budget(200, 50) // read and write units per second
	fmt.Println(entity.Must(view.Rebuild(ctx, timeline.Budget(job))).RebuildStatus)
	row, _, err := view.Get(ctx, "p-5", timeline.AsOf(morning.Add(time.Hour)), timeline.ReadBudget(job))
	fmt.Println(row.State.Places, err)
	// prints
	// complete
	// [depot] <nil>
}

// Ticket is deleted softly, and keeps all its states.
type Ticket struct {
	_ entity.Key `name:"Ticket" pk:"$#{id}" sk:"$" payload:"2"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	ID        string    `dynamodbav:"id"`
	Team      string    `dynamodbav:"team"`
	Done      bool      `dynamodbav:"done"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// OldTicket is a ticket before payload version 2.
type OldTicket struct {
	ID    string `dynamodbav:"id"`
	Label string `dynamodbav:"label"` // team: …
	Done  bool   `dynamodbav:"done"`
}

// upgraded converts an old ticket to the current version.
func upgraded(t OldTicket) (Ticket, error) {
	return Ticket{ID: t.ID, Team: strings.TrimPrefix(t.Label, "team: "), Done: t.Done}, nil
}

// Changes of items are events. This view counts a team's open, finished and dropped tickets.
func ExampleVersions() {
	type Board struct{ Open, Finished, Dropped int }
	ctx, db := context.Background(), depot("versions")
	tickets := entity.Must(entity.New[Ticket](db))
	team := func(t Ticket) string { return t.Team }
	board := entity.Must(timeline.New(db, timeline.Projection[string, Board]{
		Name: "board", Version: 1,
		Source: timeline.Versions(entity.Must(versioned.Of(tickets)),
			timeline.Upgrade(1, upgraded),
			timeline.Classify([]string{"opened", "finished", "dropped"}, func(e timeline.Event[Ticket]) string {
				switch {
				case e.Name == "ticket.created":
					return "opened"
				case e.Name == "ticket.deleted":
					return "dropped"
				case e.Payload.Done && !e.Before.Done:
					return "finished"
				}
				return "" // nothing that the board shows
			})),
		Handlers: []timeline.Handler[string, Board]{
			timeline.On("opened", team, func(b *Board, _ timeline.Event[Ticket]) error { b.Open++; return nil }),
			timeline.On("finished", team, func(b *Board, _ timeline.Event[Ticket]) error { b.Open--; b.Finished++; return nil }),
			timeline.On("dropped", team, func(b *Board, e timeline.Event[Ticket]) error {
				if !e.Payload.Done {
					b.Open--
				}
				b.Dropped++
				return nil
			}),
		},
	}))
	one := entity.Must(tickets.Create(ctx, Ticket{ID: "t-1", Team: "red"}))
	two := entity.Must(tickets.Create(ctx, Ticket{ID: "t-2", Team: "red"}))
	entity.Must(tickets.Create(ctx, Ticket{ID: "t-3", Team: "red"}))
	entity.Must(tickets.Update(ctx, one, entity.Set(&entity.Fields[Ticket]().Done, true)))
	fmt.Println(tickets.Delete(ctx, two))

	meta, err := board.Rebuild(ctx)
	fmt.Println(meta.Counters.Folded, err)
	row, _, err := board.Get(ctx, "red")
	fmt.Printf("%+v %v\n", row.State, err)
	// prints
	// <nil>
	// 5 <nil>
	// {Open:1 Finished:1 Dropped:1} <nil>
}

// A log of a feed needs no database: events from anywhere, the newest first.
func ExampleNewLog() {
	type Login struct {
		User string `dynamodbav:"user"`
	}
	at := func(minutes int) time.Time { return morning.Add(time.Duration(minutes) * time.Minute) }
	feed := timeline.Feed("logins", []string{"login"}, func(context.Context) iter.Seq2[timeline.Event[Login], error] {
		return func(yield func(timeline.Event[Login], error) bool) {
			for i, user := range []string{"ada", "bo", "ada"} {
				if !yield(timeline.Event[Login]{Name: "login", Key: fmt.Sprint(i), At: at(i), Payload: Login{user}}, nil) {
					return
				}
			}
		}
	})
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	log := entity.Must(timeline.NewLog(db, timeline.Log{Name: "logins", Source: feed}))
	page, err := log.Page(context.Background(), 1, 2)
	for _, e := range page.Rows {
		fmt.Println(e.At.Format(time.TimeOnly), e.Payload.(Login).User)
	}
	fmt.Println(page.Total, page.Pages, err)
	// Output:
	// 09:02:00 ada
	// 09:01:00 bo
	// 3 2 <nil>
}

// Every mistake of a definition is found when the program starts.
func ExampleNew() {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	_, err := timeline.New(db, timeline.Projection[string, Journey]{
		Name:   "journeys",
		Source: timeline.Series(entity.Must(timeseries.New[Delivery](db))),
		Handlers: []timeline.Handler[string, Journey]{
			timeline.On("delivery.append", parcelOf, func(*Journey, timeline.Event[Delivery]) error { return nil }),
		},
	})
	fmt.Println(err)
	// Output:
	// EDD-9081 timeline.Projection journeys.Version: it must be 1 or more; raise it when a function of the definition changes
	// EDD-9083 timeline.Projection journeys.Handlers: no source has events named "delivery.append"; did you mean delivery.appended?
}
