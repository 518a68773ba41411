// Package lease gives one process at a time the right to do something, such as to run a job or to read a shard. The right is an item
// in a table. It ends by itself unless it is renewed, so that another process can take over from one that stopped:
//
//	leases, err := lease.New(db, lease.Options{})
//	held, err := leases.Acquire(ctx, "nightly-report") // *TakenError while another holds it
//	err = held.Keep(ctx, func(ctx context.Context) error {
//		return db.Transact(ctx, held.Op(), reports.Op().Put(report)) // refused once another holds the lease
//	})
//	err = errors.Join(err, held.Release(ctx))
//
// # What it promises
//
// At most one process believes that it holds a lease, if the clocks of all holders differ by no more than [Options].Skew, and the
// holder does its work inside [Held.Keep] and ends when its context does. The holder counts the time from before it sent the last
// renewal, and stops Skew before others may take the lease.
//
// A clock may still be wrong, a process may be paused, and a request may arrive late. Nothing but the database can exclude these,
// and [Held.Op] makes it do so: a transaction with that operation is applied only while this acquisition holds the lease, whatever
// any clock shows. Use it for every write that must not come from two holders. For a system that cannot join a transaction, pass
// [Held.Fence] with each request, and let it refuse a number that is lower than the highest it has seen.
//
// # Clocks
//
// A *[SkewError] reports clocks that differ by more than Skew: a stored renewal is further in the future of the reader than that. It
// is found by an Acquire while another holds the lease, and when a holder learns that another took the lease too early. It says that
// two clocks differ, not which one is wrong. Not found is a clock that is behind and renews all the same (to others the lease has
// ended, so they take it: the holder finds that out at its next renewal), nor one that is ahead in a process that finds the lease
// free. Neither lets a transaction with Op pass that should not.
package lease
