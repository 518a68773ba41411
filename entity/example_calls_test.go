package entity_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// noBooks stands for *dynamodb.Client. It has no books, and throttles queries.
type noBooks struct{ entity.Client }

func (noBooks) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

func (noBooks) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, &types.ProvisionedThroughputExceededException{ThrottlingReasons: []types.ThrottlingReason{{Reason: aws.String("TableReadKeyRangeThroughputExceeded")}}}
}

func (noBooks) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return &dynamodb.ScanOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: aws.Float64(2)}}, nil
}

// Calls that fail or take longer than the threshold are logged.
func ExampleSlogTracer() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" {
			return slog.Attr{} // they differ from run to run
		}
		return a
	}}))
	db := entity.Must(entity.Open(noBooks{}, entity.Config{
		Table: "library", MaxAttempts: 2, Tracer: entity.SlogTracer(logger, entity.SlogOptions{Slow: time.Minute}),
	}))
	books := entity.Must(entity.New[Book](db))

	_, _ = books.Get(context.Background(), Book{ISBN: "0-19"})
	_, _ = books.Query(Book{ISBN: "0-19"}).Collect(context.Background())
	_, _ = books.Scan().Collect(context.Background())
	// Output:
	// level=INFO msg="failed call" verb=Get entity=Book table=library requests=1 error=ErrNotFound
	// level=ERROR msg="failed call" verb=Query entity=Book table=library requests=2 throttled=2 "throttled by TableReadKeyRangeThroughputExceeded"=2 error=ProvisionedThroughputExceededException
}

// counter is a Tracer that prints what each call cost.
type counter struct{}

func (counter) Start(ctx context.Context, c entity.Call) context.Context {
	fmt.Println("begin", c.Verb, c.Entity)
	return ctx
}

func (counter) Request(_ context.Context, a entity.Attempt) {
	fmt.Println("     ", a.Operation, a.Class)
}

func (counter) End(_ context.Context, r entity.Report) {
	fmt.Println("end  ", r.Verb, r.Requests, "request,", r.ReadUnits, "units,", r.Err)
}

// Several tracers see the same calls.
func ExampleTracers() {
	slow := entity.SlogTracer(slog.Default(), entity.SlogOptions{Slow: time.Second})
	db := entity.Must(entity.Open(noBooks{}, entity.Config{Table: "library", Tracer: entity.Tracers(slow, counter{})}))
	books := entity.Must(entity.New[Book](db))

	_, err := books.Scan().Collect(context.Background())
	fmt.Println(err)
	// Output:
	// begin Scan Book
	//       Scan ok
	// end   Scan 1 request, 2 units, <nil>
	// <nil>
}

// A job that scans leaves the capacity of the table to others. Jobs that get the same budget share it.
func ExampleBudget() {
	db := entity.Must(entity.Open(noBooks{}, entity.Config{Table: "library"}))
	books := entity.Must(entity.New[Book](db))

	job := entity.Budget(50, 10) // read and write units per second
	for range 2 {
		all, err := books.Scan(job, entity.Segments(4)).Collect(context.Background())
		fmt.Println(len(all), err)
	}
	_, err := books.Scan(entity.Budget(-1, 0)).Collect(context.Background())
	fmt.Println(err)
	// Output:
	// 0 <nil>
	// 0 <nil>
	// Scan Book: EDD-9108 entity_test.Book: the units of Budget must be 0 or more
}

// failing returns a client whose requests all meet a fault, and what counts them.
func failing(fault faults.Fault) (*dynamodb.Client, *faults.Transport) {
	wire := faults.New(nil)
	wire.Inject(func(faults.Request) faults.Fault { return fault })
	return dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", HTTPClient: wire, Retryer: aws.NopRetryer{}, // the library repeats requests itself
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "example", SecretAccessKey: "example"}, nil
		}),
	}), wire
}

// A database that throttles everything gets few repetitions: 12 tokens pay for two. Later calls are still tried once.
func ExampleConfig_retryBudget() {
	client, wire := failing(faults.Throttle)
	db := entity.Must(entity.Open(client, entity.Config{Table: "app", RetryBudget: 12}))
	chores := entity.Must(entity.New[Chore](db))
	for range 4 {
		_, err := chores.Get(context.Background(), Chore{ID: "t-1"})
		fmt.Println(errors.Is(err, entity.ErrRetryBudget), wire.Count("GetItem"))
	}
	// Output:
	// true 3
	// true 4
	// true 5
	// true 6
}

// A request that gets no answer within RequestTimeout is repeated, where that does no harm.
func ExampleConfig_requestTimeout() {
	client, wire := failing(faults.Hang)
	db := entity.Must(entity.Open(client, entity.Config{Table: "app", RequestTimeout: 100 * time.Millisecond, MaxAttempts: 3}))
	_, err := entity.Must(entity.New[Chore](db)).Get(context.Background(), Chore{ID: "t-1"})
	fmt.Println(errors.Is(err, context.DeadlineExceeded), wire.Count("GetItem"))
	// Output:
	// true 3
}
