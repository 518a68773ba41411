package lease_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
)

// Report is what the job of the example writes.
type Report struct {
	_ entity.Key `name:"Report" pk:"$#{day}" sk:"$"`

	Day   string `dynamodbav:"day"`
	Fence int64  `dynamodbav:"fence"`
}

// The database of the example: none, or a local one while a test runs it.
var (
	client entity.Client
	table  = "app"
)

// One process at a time makes the nightly report. One that was paused, and does not know that another took over, cannot write.
func ExampleLeases() {
	ctx := context.Background()
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	reports := entity.Must(entity.New[Report](db))
	leases := entity.Must(lease.New(db, lease.Options{Holder: "host-1"}))

	held, err := leases.Acquire(ctx, "nightly")
	if err != nil {
		fmt.Println(err)
		return
	}
	err = held.Keep(ctx, func(ctx context.Context) error {
		var taken *lease.TakenError
		if _, err := leases.Acquire(ctx, "nightly"); errors.As(err, &taken) {
			fmt.Println(taken.Name, "is held by", taken.Holder)
		}
		return db.Transact(ctx, held.Op(), reports.Op().Put(Report{Day: "2026-04-22", Fence: held.Fence()}))
	})
	fmt.Println(err, held.Release(ctx))

	next := entity.Must(leases.Acquire(ctx, "nightly"))
	err = db.Transact(ctx, held.Op(), reports.Op().Put(Report{Day: "2026-04-22", Fence: held.Fence()}))
	fmt.Println(next.Fence(), errors.Is(err, lease.ErrLost))
	// prints
	// nightly is held by host-1
	// <nil> <nil>
	// 2 true
}
