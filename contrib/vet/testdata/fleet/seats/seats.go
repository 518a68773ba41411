// Package seats has entities that are locked by their versions.
package seats

import (
	"context"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/versioned"
)

// Seat does not notice a later seat of the same key.
type Seat struct {
	_ entity.Key     `name:"Seat" pk:"$#{id}" sk:"$"`
	_ entity.GSI     `name:"byHall" index:"gsi1" pk:"$#{hall}" project:"keys"`
	_ entity.GSI     `name:"byRow" index:"gsi2" pk:"$#{row}" project:"note"`
	_ versioned.Lock // want `versioned.Lock does not notice that an item was deleted and created again`

	ID      string `dynamodbav:"id"`
	Hall    string `dynamodbav:"hall"`
	Row     string `dynamodbav:"row"`
	Note    string `dynamodbav:"note"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// Chair does.
type Chair struct {
	_ entity.Key `name:"Chair" pk:"$#{id}" sk:"$"`
	_ versioned.Lock

	ID        string    `dynamodbav:"id"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

func stale(ctx context.Context, s *entity.Store[Seat]) error {
	hall, err := s.Index("byHall")
	if err != nil {
		return err
	}
	seat, err := hall.Query(Seat{Hall: "h"}).One(ctx)
	_, _ = s.Put(ctx, seat) // want `seat was read from the index byHall, which does not carry its version`
	all := entity.Must(entity.Must(s.Index("byHall")).Query(Seat{Hall: "h"}).Collect(ctx))
	_ = s.Op().Delete(all[0]) // want `all\[0\] was read from the index byHall` `the write is never run`
	for _, seat := range all {
		_ = s.Delete(ctx, seat) // want `seat was read from the index byHall`
	}
	whole := entity.Must(hall.Query(Seat{Hall: "h"}, entity.Hydrate()).One(ctx))
	_, _ = s.Put(ctx, whole)
	row := entity.Must(entity.Must(s.Index("byRow")).Query(Seat{Row: "r"}).One(ctx)) // it carries the version
	_, _ = s.Put(ctx, row)
	got, err := s.Get(ctx, seat)
	_, _ = s.Put(ctx, got)
	return err
}
