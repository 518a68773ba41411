package entity

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// describedTable is a table that exists, as far as DescribeTable shows.
func describedTable(d *types.TableDescription) TableSpec {
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range d.AttributeDefinitions {
		kinds[*a.AttributeName] = a.AttributeType
	}
	key := func(elements []types.KeySchemaElement) (k KeySpec) {
		for _, e := range elements {
			a := AttributeSpec{*e.AttributeName, kinds[*e.AttributeName]}
			if e.KeyType == types.KeyTypeHash {
				k.Partition = append(k.Partition, a)
			} else {
				k.Sort = append(k.Sort, a)
			}
		}
		return k
	}
	t := TableSpec{Key: key(d.KeySchema), Billing: provisioned, Throughput: describedThroughput(d.ProvisionedThroughput)}
	if d.BillingModeSummary != nil { // absent of a table that never was on demand
		t.Billing = d.BillingModeSummary.BillingMode
	}
	if s := d.StreamSpecification; s != nil && s.StreamEnabled != nil && *s.StreamEnabled {
		t.Stream = s.StreamViewType
	}
	t.DeletionProtection = d.DeletionProtectionEnabled != nil && *d.DeletionProtectionEnabled
	for _, x := range d.GlobalSecondaryIndexes {
		t.GSIs = append(t.GSIs, IndexSpec{*x.IndexName, key(x.KeySchema), describedProjection(x.Projection), describedThroughput(x.ProvisionedThroughput)})
	}
	for _, x := range d.LocalSecondaryIndexes {
		t.LSIs = append(t.LSIs, IndexSpec{Name: *x.IndexName, Key: key(x.KeySchema), Projection: describedProjection(x.Projection)})
	}
	return t
}

func describedProjection(p *types.Projection) ProjectionSpec {
	if p == nil {
		return ProjectionSpec{Type: types.ProjectionTypeAll}
	}
	return ProjectionSpec{p.ProjectionType, p.NonKeyAttributes}
}

func describedThroughput(p *types.ProvisionedThroughputDescription) (t Throughput) {
	if p != nil && p.ReadCapacityUnits != nil && p.WriteCapacityUnits != nil {
		t = Throughput{*p.ReadCapacityUnits, *p.WriteCapacityUnits}
	}
	return t
}

// lacking is what the code needs of t and an existing table does not have: its key, an index, an attribute that an
// index carries, a stream.
func (t TableSpec) lacking(got TableSpec) []Drift {
	var found []Drift
	if a, b := t.Key.String(), got.Key.String(); a != b {
		found = append(found, Drift{Kind: DriftKey, Need: a, Has: b})
	}
	check := func(kind string, need, have []IndexSpec) {
		for _, x := range need {
			i := slices.IndexFunc(have, func(y IndexSpec) bool { return y.Name == x.Name })
			if i < 0 {
				found = append(found, Drift{Kind: MissingIndex, Index: x.Name, Need: "the " + kind + " index " + x.Name + ": " + x.Key.String()})
				continue
			}
			y := have[i]
			if a, b := x.Key.String(), y.Key.String(); a != b {
				found = append(found, Drift{DifferentIndexKey, x.Name, a, b})
			} else if !x.Projection.within(y.Projection) {
				found = append(found, Drift{DifferentProjection, x.Name, x.Projection.String(), y.Projection.String()})
			}
		}
	}
	check("global", t.GSIs, got.GSIs)
	check("local", t.LSIs, got.LSIs)
	if t.Stream != "" && !shows(got.Stream, t.Stream) {
		found = append(found, Drift{Kind: DifferentStream, Need: string(t.Stream), Has: string(got.Stream)})
	}
	return found
}

// shows reports that a stream with one view type has everything that another one would have.
func shows(has, need types.StreamViewType) bool {
	return has == need || has == types.StreamViewTypeNewAndOldImages || has != "" && need == types.StreamViewTypeKeysOnly
}

// within reports that an index which carries got carries all of p.
func (p ProjectionSpec) within(got ProjectionSpec) bool {
	if got.Type == types.ProjectionTypeAll || p.Type == types.ProjectionTypeKeysOnly {
		return true
	}
	return p.Type != types.ProjectionTypeAll && !slices.ContainsFunc(p.Include, func(name string) bool { return !slices.Contains(got.Include, name) })
}

// unlike is what Config.TableOptions asks of t and an existing table does not have. That a table is provisioned where
// on demand is the default, or protected where nobody asked for it, is none of our business.
func (t TableSpec) unlike(got TableSpec) []Drift {
	var found []Drift
	if t.DeletionProtection && !got.DeletionProtection {
		found = append(found, Drift{Kind: DifferentDeletion, Need: "on", Has: "off"})
	}
	switch {
	case t.Billing != provisioned:
		return found
	case got.Billing != provisioned:
		return append(found, Drift{Kind: DifferentBilling, Need: string(t.Billing), Has: string(got.Billing)})
	case t.Throughput != got.Throughput:
		found = append(found, Drift{Kind: DifferentThroughput, Need: t.Throughput.String(), Has: got.Throughput.String()})
	}
	for _, x := range t.GSIs {
		for _, y := range got.GSIs {
			if x.Name == y.Name && x.Throughput != y.Throughput {
				found = append(found, Drift{DifferentThroughput, x.Name, x.Throughput.String(), y.Throughput.String()})
			}
		}
	}
	return found
}
