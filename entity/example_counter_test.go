package entity_test

import (
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// Visits counts the visitors of a site by day.
type Visits struct {
	_ entity.Key `name:"Visits" pk:"$#{site}" sk:"$#{day}"`

	Site   string                `dynamodbav:"site"`
	Day    time.Time             `dynamodbav:"day" entity:"time=s"`
	Total  int                   `dynamodbav:"total"`
	Latest []string              `dynamodbav:"latest,omitempty"`
	ByPage map[string]PageVisits `dynamodbav:"byPage,omitempty"`
}

// PageVisits counts those of one page.
type PageVisits struct {
	Hits int `dynamodbav:"hits"`
}

// Counters begin and go on in one request, whether or not the item is there.
func ExampleStore_Upsert_counter() {
	visits := entity.Must(entity.New[Visits](library()))
	v, day := entity.Fields[Visits](), time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)
	fmt.Println(visits.Op().Upsert(Visits{Site: "s-1", Day: day}, entity.Add(&v.Total, 1), entity.ListPrepend(&v.Latest, "ada")))
	// Output:
	// Upsert Visits on library
	//   update pk="$app#v1#visits#s-1" sk="$app#v1#visits#2024-05-06T00:00:00Z"
	//          SET site = "s-1", day = "2024-05-06T00:00:00Z", total = if_not_exists(total, 0) + 1, latest = list_append(["ada"], if_not_exists(latest, [])), __edd_e__ = "Visits", _w = "w1"
	//          if (attribute_not_exists(total) OR attribute_type(total, "N")) AND (attribute_not_exists(latest) OR attribute_type(latest, "L"))
}

// What lies in a map or list is named by a path, which has every change and condition of a field.
func ExampleInside() {
	visits := entity.Must(entity.New[Visits](library()))
	v, day := entity.Fields[Visits](), time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)
	hits := entity.Inside[int](entity.MapEntry(&v.ByPage, "home"), "hits")
	fmt.Println(visits.Op().Update(Visits{Site: "s-1", Day: day}, hits.Add(1), entity.Elem(&v.Latest, 0).Set("bea"), entity.If(hits.Lt(100))))
	// Output:
	// Update Visits on library
	//   update pk="$app#v1#visits#s-1" sk="$app#v1#visits#2024-05-06T00:00:00Z"
	//          SET byPage.home.hits = if_not_exists(byPage.home.hits, 0) + 1, latest[0] = "bea", _w = "w1"
	//          if attribute_exists(pk) AND attribute_type(byPage.home, "M") AND attribute_type(latest, "L") AND (attribute_not_exists(byPage.home.hits) OR attribute_type(byPage.home.hits, "N")) AND byPage.home.hits < 100
}

// A range of the sort key has two ends, each of which belongs to it or not.
func ExampleStore_Query_range() {
	visits := entity.Must(entity.New[Visits](library()))
	v, day := entity.Fields[Visits](), time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	fmt.Println(visits.Query(Visits{Site: "s-1"}, entity.Ge(&v.Day, day), entity.Lt(&v.Day, day.AddDate(0, 1, 0))))
	// Output:
	// Query Visits on library
	//   key    pk = "$app#v1#visits#s-1" AND sk BETWEEN "$app#v1#visits#2024-05-01T00:00:00Z" AND "$app#v1#visits#2024-06-01T00:00:00Z"
	//   filter (attribute_not_exists(_k) AND __edd_e__ = "Visits") AND (day >= "2024-05-01T00:00:00Z" AND day < "2024-06-01T00:00:00Z")
}
