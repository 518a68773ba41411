package lifecycle

import (
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Record gives the schema lock the declaration.
func (f *softDelete) Record(s *schema.Schema) schema.Record {
	name, format := plan.DeletedAttr(s)
	policy := "free"
	if f.reserve {
		policy = "reserve"
	}
	return schema.Record{Name: "lifecycle.SoftDelete", Settings: []schema.Setting{
		{Key: "deletedAt", Value: name + " time=" + format.String()}, {Key: "ttl", Value: schema.ForHowLong(f.ttl)}, {Key: "unique", Value: policy},
	}}
}

// Record gives the schema lock the declaration.
func (e *expiry) Record(*schema.Schema) schema.Record {
	from := "clock"
	if e.from != nil {
		from = e.from.Name
	}
	return schema.Record{Name: "lifecycle.TTL", Settings: []schema.Setting{
		{Key: "attr", Value: e.attr}, {Key: "after", Value: schema.ForHowLong(e.Kept())}, {Key: "from", Value: from},
	}}
}
