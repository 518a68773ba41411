package entity_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

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
