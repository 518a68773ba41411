package timeline

import (
	"context"
	"fmt"
	"strings"
)

// Explanation says how a view reads its history, and what that costs.
type Explanation struct {
	View    string
	Route   string // partition: a partition at a time; sorted: everything is sorted by group first
	OneRow  string // how the events of one group are read: by a query, or by a scan
	Sources []SourceEstimate
}

// SourceEstimate is what reading one source whole costs, by what DynamoDB says about its table. It updates them about every
// six hours only.
type SourceEstimate struct {
	Source    string  // its id; a feed has no table
	Table     string  // physical name
	Items     int64   // in the table, of all entities
	Bytes     int64   // of these
	ReadUnits float64 // of one consistent scan: a unit for each 4 KB
}

// ReadUnits is what reading all sources once costs.
func (e Explanation) ReadUnits() (units float64) {
	for _, s := range e.Sources {
		units += s.ReadUnits
	}
	return units
}

// String prints the explanation.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "timeline %s: a build reads by %s; one row as of a moment: %s", e.View, e.Route, e.OneRow)
	for _, s := range e.Sources {
		if s.Table == "" {
			fmt.Fprintf(&b, "\n  %s: no table", s.Source)
			continue
		}
		fmt.Fprintf(&b, "\n  %s: a scan of %s, %d items, %d bytes, about %.1f read units", s.Source, s.Table, s.Items, s.Bytes, s.ReadUnits)
	}
	return b.String()
}

// Explain says how the history is read and estimates the read units of a build. It costs a DescribeTable for each source.
func (v *View[K, S]) Explain(ctx context.Context) (Explanation, error) {
	return v.opened().explain(ctx)
}

func (v *view) explain(ctx context.Context) (Explanation, error) {
	if err := v.core.Err(); err != nil {
		return Explanation{}, v.core.Wrap("Timeline.Explain", "", err)
	}
	e := Explanation{View: v.Name, Route: string(v.route()), OneRow: "a query of its partition in each source"}
	if v.withoutPartitionKey() != nil {
		e.OneRow = "a scan, with FullReplay: not every source has PartitionKey"
	}
	for _, o := range v.all {
		s, err := o.estimate(ctx)
		if err != nil {
			return e, v.core.Wrap("Timeline.Explain", v.Name, err)
		}
		e.Sources = append(e.Sources, s)
	}
	return e, nil
}

const unitBytes = 4096 // of one consistent read unit

func (o *origin) estimate(ctx context.Context) (SourceEstimate, error) {
	s := SourceEstimate{Source: o.id}
	if o.core == nil {
		return s, nil
	}
	s.Table = o.core.Table
	t, err := o.core.Runner.DescribeTable(ctx, o.core.Table)
	if err != nil {
		return s, err
	}
	if t.ItemCount != nil {
		s.Items = *t.ItemCount
	}
	if t.TableSizeBytes != nil {
		s.Bytes = *t.TableSizeBytes
	}
	s.ReadUnits = float64((s.Bytes + unitBytes - 1) / unitBytes)
	return s, nil
}
