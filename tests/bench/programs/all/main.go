// Command all stores and reads items with all features.
package main

import (
	"context"
	"log"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type note struct {
	_ entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"text" fields:"text"`

	ID      string `dynamodbav:"id"`
	Text    string `dynamodbav:"text"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

type report struct {
	_ entity.Key        `name:"Report" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"at"`
}

type state struct {
	Reports int `dynamodbav:"reports"`
}

func main() {
	if err := run(context.Background(), entity.Must(entity.Open(dynamodb.New(dynamodb.Options{}), entity.Config{Table: "notes"}))); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db *entity.DB) error {
	notes, reports := entity.Must(entity.New[note](db)), entity.Must(timeseries.New[report](db))
	n, err := notes.Create(ctx, note{ID: "1", Text: "hello"})
	if err != nil {
		return err
	}
	if _, err := entity.Must(versioned.Of(notes)).Revert(ctx, n, 1); err != nil {
		return err
	}
	if err := notes.Delete(ctx, n); err != nil {
		return err
	}
	if _, err := entity.Must(lifecycle.Of(notes)).Restore(ctx, n); err != nil {
		return err
	}
	if _, err := entity.Must(unique.Of(notes, "text")).Find(ctx, n); err != nil {
		return err
	}
	if _, err := reports.Append(ctx, report{ID: "1", At: time.Now()}); err != nil {
		return err
	}
	_, err = entity.Must(timeline.New(db, timeline.Projection[string, state]{
		Name: "reports", Version: 1, Source: timeline.Series(reports),
		Handlers: []timeline.Handler[string, state]{
			timeline.On("report.appended", func(r report) string { return r.ID }, func(s *state, _ timeline.Event[report]) error {
				s.Reports++
				return nil
			}),
		},
	})).Rebuild(ctx)
	return err
}
