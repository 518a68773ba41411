package lifecycle_test

import (
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Visit ends half an hour after it was last seen.
type Visit struct {
	_    entity.Key    `name:"Visit" pk:"visit"`
	_    lifecycle.TTL `attr:"ends" from:"seen" after:"30m"`
	ID   string        `dynamodbav:"visit"`
	Seen time.Time     `dynamodbav:"seen" entity:"time=s"`
}

// The end of an item is written with the attribute that it is counted from.
func ExampleTTL() {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	db := entity.Must(entity.Open(nil, entity.Config{Table: "visits", Clock: func() time.Time { return now }}))
	visits := entity.Must(entity.New[Visit](db))
	v := entity.Fields[Visit]()
	fmt.Println(visits.Op().Update(Visit{ID: "v-1"}, entity.Set(&v.Seen, now)))
	// Output:
	// Update Visit on visits
	//   update visit="v-1"
	//          SET seen = "2024-05-06T07:08:09Z", ends = 1714981089
	//          if attribute_exists(visit) AND (attribute_not_exists(ends) OR ends > 1714979289)
}

// A time to live can come from a configuration.
func ExampleAfter() {
	retention := time.Minute
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	db := entity.Must(entity.Open(nil, entity.Config{Table: "visits"}))
	visits := entity.Must(entity.New[Visit](db, lifecycle.After(retention)))
	fmt.Println(visits.Op().Create(Visit{ID: "v-1", Seen: now}))
}
