package timeseries

import "github.com/dynastrata/dynastrata/internal/schema"

// Record gives the schema lock the declaration. late and maxAhead say which events are stored, not how.
func (e *events) Record(s *schema.Schema) schema.Record {
	return schema.Record{Name: "timeseries.Events", Settings: []schema.Setting{
		{Key: "events", Value: e.half.Template.Describe()}, {Key: "orderBy", Value: e.orderBy.Name}, {Key: "ttl", Value: schema.ForHowLong(e.ttl)},
	}}
}
