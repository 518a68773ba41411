package migrate

import (
	"fmt"

	"github.com/dynastrata/dynastrata/internal/bind"
)

// Merge returns what two reports of parts of one job say together: sums, and up to ten examples of each reason and problem.
// Done is true if it is true in both, and Resumed if it is true in one.
func (r Report) Merge(other Report) Report {
	sum := newReport()
	sum.Cost, sum.written = r.Cost, r.written
	sum.add(r)
	sum.add(other)
	sum.Cost.Requests += other.Cost.Requests
	sum.Cost.ReadUnits += other.Cost.ReadUnits
	sum.Cost.WriteUnits += other.Cost.WriteUnits
	sum.Resumed, sum.Done = r.Resumed || other.Resumed, r.Done && other.Done
	return sum
}

// partOf returns which part of the table the segment i of n of a job is. chosen is the part that the whole job is of; nil for
// the table.
func partOf(chosen *bind.Segment, i, n int) (number, of int) {
	if chosen != nil {
		return chosen.Number, chosen.Of
	}
	return i, n
}

// workOf returns the fingerprint of the work on a part of the table.
func workOf(whole string, chosen *bind.Segment) string {
	if chosen != nil {
		return fmt.Sprintf("%s %d/%d", whole, chosen.Number, chosen.Of)
	}
	return whole
}
