package beamx_test

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"

	beamx "github.com/dynastrata/dynastrata/contrib/beam"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

// Sale is an event of a shop.
type Sale struct {
	_ entity.Key        `name:"Sale" pk:"$#{shop}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	Shop  string    `dynamodbav:"shop"`
	At    time.Time `dynamodbav:"at"`
	Cents int       `dynamodbav:"cents" entity:"append"`
}

// Revenue is the state of a row.
type Revenue struct {
	Sales int `dynamodbav:"sales"`
	Cents int `dynamodbav:"cents"`
}

// Client is the declaration of last year. Its items have no keys of the index of IndexedClient.
type Client struct {
	_ entity.Key `name:"Client" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	City string `dynamodbav:"city"`
}

// IndexedClient is the same entity today.
type IndexedClient struct {
	_ entity.Key `name:"Client" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byCity" index:"gsi1" pk:"$#{city}" sk:"$#{id}"`

	ID   string `dynamodbav:"id"`
	City string `dynamodbav:"city"`
}

// Clerk is the declaration of last year. Two of its items can have one e-mail address.
type Clerk struct {
	_ entity.Key `name:"Clerk" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email"`
}

// UniqueClerk is the same entity today.
type UniqueClerk struct {
	_ entity.Key        `name:"Clerk" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email"`
}

// The database of the examples: a local one while a test runs them.
var (
	exampleClient entity.Client
	exampleTable  = "app"
)

// shops returns a database as each program has it.
func shops() (*entity.DB, error) {
	return entity.Open(exampleClient, entity.Config{Table: exampleTable})
}

// revenue opens the view of revenues by shop.
func revenue(db *entity.DB) (*timeline.View[string, Revenue], error) {
	sales, err := timeseries.New[Sale](db)
	if err != nil {
		return nil, err
	}
	byShop := func(s Sale) string { return s.Shop }
	return timeline.New(db, timeline.Projection[string, Revenue]{
		Name: "revenue", Version: 1, Source: timeline.Series(sales),
		Handlers: []timeline.Handler[string, Revenue]{
			timeline.On("sale.appended", byShop, func(r *Revenue, e timeline.Event[Sale]) error {
				r.Sales++
				r.Cents += e.Payload.Cents
				return nil
			}),
		},
	})
}

// What the pipelines of the examples work with. Each process that works on them has these variables, since it runs the same
// program, and opens the handles itself.
var (
	revenues = beamx.Register("revenues", func(context.Context) (*timeline.View[string, Revenue], error) {
		db, err := shops()
		if err != nil {
			return nil, err
		}
		return revenue(db)
	})
	clients = beamx.Register("clients", func(context.Context) (*entity.Store[IndexedClient], error) {
		db, err := shops()
		if err != nil {
			return nil, err
		}
		return entity.New[IndexedClient](db)
	})
	emails = beamx.Register("emails", func(context.Context) (*unique.Lookup[UniqueClerk], error) {
		db, err := shops()
		if err != nil {
			return nil, err
		}
		clerks, err := entity.New[UniqueClerk](db)
		if err != nil {
			return nil, err
		}
		return unique.Of(clerks, "email")
	})
)

func init() {
	register.Function1x0(printReport)
	register.Function1x0(printFinding)
}

func printReport(r beamx.Rewritten) { fmt.Println(r) }

func printFinding(f migrate.UniqueFinding) { fmt.Println(f.Kind, "of", len(f.Owners), "items") }

// onPrism runs a pipeline on Prism in this process. A program that can use any runner has Run of Beam's package x/beamx instead.
func onPrism(ctx context.Context, p *beam.Pipeline) error {
	_, err := prism.Execute(ctx, p)
	return err
}

// A rebuild is a pipeline of its own, which this process coordinates.
func ExampleRebuild() {
	ctx := context.Background()
	db := entity.Must(shops())
	sales := entity.Must(timeseries.New[Sale](db))
	at := time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)
	entity.Must(sales.AppendAll(ctx, []Sale{
		{Shop: "north", At: at, Cents: 250}, {Shop: "north", At: at.Add(time.Minute), Cents: 500}, {Shop: "south", At: at, Cents: 300},
	}))

	meta, err := beamx.Rebuild(ctx, onPrism, revenues, beamx.RebuildOptions{Segments: 8})
	fmt.Println(meta.Rows, "rows of", meta.Counters.Folded, "events", err)
	row, _, err := entity.Must(revenue(db)).Get(ctx, "north")
	fmt.Println(row.State.Sales, row.State.Cents, err)
	// prints
	// 2 rows of 3 events <nil>
	// 2 750 <nil>
}

// A rewrite is a transform, whose output is its report.
func ExampleRewrite() {
	ctx := context.Background()
	lastYear := entity.Must(entity.New[Client](entity.Must(shops())))
	for _, id := range []string{"ada", "bob"} {
		entity.Must(lastYear.Create(ctx, Client{ID: id, City: "Oslo"}))
	}

	p, s := beam.NewPipelineWithRoot()
	reports := beamx.Rewrite(s, clients, beamx.RewriteOptions{Checkpoint: "byCity", Segments: 8})
	beam.ParDo0(s, printReport, reports)
	fmt.Println(onPrism(ctx, p))
	// prints
	// 2 of 2 items rewritten (2 index keys)
	// <nil>
}

// Items that were stored before the constraint was declared can have one value. The findings are a collection, and so are the
// counts, which are not used here.
func ExampleVerifyUnique() {
	ctx := context.Background()
	lastYear := entity.Must(entity.New[Clerk](entity.Must(shops())))
	for _, id := range []string{"eve", "eva"} {
		entity.Must(lastYear.Create(ctx, Clerk{ID: id, Email: "e@example.org"}))
	}

	p, s := beam.NewPipelineWithRoot()
	findings, _ := beamx.VerifyUnique(s, emails, beamx.VerifyOptions{Segments: 8})
	beam.ParDo0(s, printFinding, findings)
	fmt.Println(onPrism(ctx, p))
	// prints
	// conflict of 2 items
	// <nil>
}
