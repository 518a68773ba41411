package query

import "github.com/dynastrata/dynastrata/internal/opt"

// tracker reports to one listener how far a run has come.
type tracker struct {
	tell func(opt.ScanProgress)
	so   opt.ScanProgress
}

// tracker is nil when nobody listens.
func (p *Plan) tracker(segments int) *tracker {
	if p.Scanned == nil {
		return nil
	}
	return &tracker{p.Scanned, opt.ScanProgress{Segments: segments}}
}

// add takes one answer in and reports it.
func (t *tracker) add(got fetched) {
	if t == nil {
		return
	}
	t.so.Pages++
	t.so.Evaluated += got.evaluated
	t.so.Found += got.count
	t.so.ReadUnits += got.units
	if got.last == nil {
		t.so.SegmentsDone++
	}
	t.tell(t.so)
}
