// Package lease gives one process at a time the right to do something, such as to run a job or to read a shard. The right is an item in a table.
// It ends unless it is renewed, so that another process can take over from one that stopped:
//
//	leases, err := lease.New(db, lease.Options{})
//	held, err := leases.Acquire(ctx, "nightly-report") // *TakenError while another holds it
//	err = held.Keep(ctx, func(ctx context.Context) error {
//		return db.Transact(ctx, held.Op(), reports.Op().Put(report)) // refused once another holds the lease
//	})
//	err = errors.Join(err, held.Release(ctx))
//
// If the clocks of all holders differ by no more than [Options].Skew, and each works inside [Held.Keep] and stops when its context ends, no two work
// at the same time: a holder counts from before it sent the last renewal, and stops Skew before others may take the lease.
//
// Clocks can be wrong, a process can be paused, a request can arrive late. [Held.Op] excludes all of these: a transaction with it is applied only
// while its acquisition holds the lease, whatever any clock shows. Use it for every write that must not come from two holders. A system that cannot
// join a transaction can get [Held.Fence] with each request, and refuse a number below the highest that it has seen.
//
// A *[SkewError] reports clocks that differ by more: a stored renewal is further in the reader's future than Skew. Acquire finds it while another
// holds the lease, and a holder from whom another took the lease too early. It does not show which clock is wrong. Not found are a clock that is
// behind (others find that the lease has ended, and take it) and one that is ahead where nobody holds the lease.
//
// The package is experimental: its API may change with every minor version.
package lease
