package versioned

import "github.com/dynastrata/dynastrata/internal/schema"

// Record gives the schema lock the declaration.
func (*lock) Record(*schema.Schema) schema.Record { return schema.Record{Name: "versioned.Lock"} }

// Record gives the schema lock the declaration.
func (r *retain) Record(*schema.Schema) schema.Record {
	return schema.Record{Name: "versioned.Retain", Settings: []schema.Setting{{Key: "ttl", Value: schema.ForHowLong(r.ttl)}}}
}
