package migrate

// Merge returns what two reports of parts of one job say together: sums, and up to ten examples of each reason and problem.
// Done is true if it is true in both, and Resumed if it is true in one.
func (r Report) Merge(other Report) Report {
	sum := newReport()
	sum.Cost = r.Cost
	sum.add(r)
	sum.add(other)
	sum.Cost.Requests += other.Cost.Requests
	sum.Cost.ReadUnits += other.Cost.ReadUnits
	sum.Cost.WriteUnits += other.Cost.WriteUnits
	sum.Resumed, sum.Done = r.Resumed || other.Resumed, r.Done && other.Done
	return sum
}

// part returns which part of the table the job's segment i is.
func (j *job) part(i int) (number, of int32) {
	if x := j.spec.Segment; x != nil {
		return int32(x.Number), int32(x.Of)
	}
	return int32(i), int32(len(j.segments))
}
