package migrate

import (
	"slices"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// writeUnits returns what a write of so many bytes costs.
func writeUnits(bytes int) float64 { return float64(max((bytes+1023)/1024, 1)) }

// estimate returns what the write of a finding costs, if no other write comes in between.
func (e examiner) estimate(f *finding, newVersion bool) Cost {
	rw := f.rewriting()
	units := writeUnits(item.Size(f.image))
	indexes := 0.0
	renewed := newVersion && rw.Current && rw.Item != nil
	if rw.Item != nil {
		units = max(units, writeUnits(item.Size(rw.Item)))
		for _, x := range e.s.Indexes {
			indexes += e.indexUnits(x, f.image, rw.Item, rw.Current || renewed)
		}
	}
	_, keeps := schema.Feature[plan.Snapshotter](e.s)
	if renewed && keeps {
		units += writeUnits(item.Size(f.image))
	}
	if slices.Contains(f.reasons, EventKeys) {
		return Cost{Requests: 2, ReadUnits: 1, WriteUnits: 2 * (writeUnits(item.Size(f.image)) + units)} // the new key is read
	}
	if claims := len(rw.Claims); claims > 0 || renewed && keeps {
		units = 2 * (units + float64(claims)) // a transaction; a sentinel is small
	}
	return Cost{Requests: 1, WriteUnits: units + indexes}
}

// indexUnits returns what the change of an item costs in an index. marked says that the write id changes.
func (e examiner) indexUnits(x *schema.Index, was, is item.Item, marked bool) (units float64) {
	before, after := e.entry(x, was), e.entry(x, is)
	same := before != nil && after != nil
	for _, k := range x.Keys() {
		for _, name := range k.Attributes() {
			same = same && item.Equal(before[name], after[name])
		}
	}
	if same {
		changed := marked && e.s.HasMetadata && x.Project.All
		for name := range after {
			changed = changed || !item.Equal(before[name], after[name])
		}
		if !changed {
			return 0
		}
		return max(writeUnits(item.Size(before)), writeUnits(item.Size(after)))
	}
	for _, it := range []item.Item{before, after} {
		if it != nil {
			units += writeUnits(item.Size(it))
		}
	}
	return units
}

// entry returns what an index holds of an item; nil if the item is not in it.
func (e examiner) entry(x *schema.Index, it item.Item) item.Item {
	held := item.Item{}
	for name, av := range it {
		if e.s.Carries(x, name) {
			held[name] = av
		}
	}
	for _, k := range x.Keys() {
		for _, name := range k.Attributes() {
			if held[name] == nil {
				return nil
			}
		}
	}
	return held
}
