package unique

import "github.com/dynastrata/dynastrata/internal/schema"

// Record gives the schema lock the declaration.
func (c *constraint) Record(*schema.Schema) schema.Record {
	return schema.Record{Name: "unique.Constraint(" + c.name + ")", Settings: []schema.Setting{
		{Key: "key", Value: c.key.Describe()}, {Key: "ttl", Value: schema.ForHowLong(c.ttl)},
	}}
}
