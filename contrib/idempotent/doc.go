// Package idempotent gives the answer of an operation once: whoever repeats a request gets the answer that is kept, and the
// operation does not run again.
//
//	type Tables struct {
//		Answers *entity.Store[idempotent.Answer]
//	}
//
//	app, err := entity.Bind[Tables](db)
//	charge, err := idempotent.New(app.Answers, idempotent.Options{Name: "charge"})
//	receipt, err := idempotent.Do(ctx, charge, requestID, order, func(ctx context.Context) (Receipt, error) {
//		return payments.Charge(ctx, order)
//	})
//
// [Do] claims the key with one conditional write, runs the function, and keeps its answer as JSON until [Options].Keep has
// passed. A call with the same key gets
//
//   - the kept answer, if the payload is the same; the write that is refused brings it along, so it costs no read;
//   - a *[PayloadMismatchError], if the payload is another one, in whatever state the record is;
//   - an *[InProgressError], while the function runs;
//   - a run of its own, if the earlier one has failed, or if its lease has passed: its process crashed, or takes too long.
//
// A function runs under a lease: its context ends after [Options].Lease, with [ErrLeaseEnded] as its cause. A function that
// goes on all the same, or a process that was paused, can run at the same time as the call that took over. It cannot
// overwrite what that call keeps: its own call gets a *[TakenOverError].
//
// So a function runs once if it ends, and again after a crash; what it does before the crash, it may do twice. Give what it
// calls the same key, and its own writes conditions.
//
// [Middleware] does the same for handlers of net/http, by the header Idempotency-Key.
//
// Records are items of the entity [Answer], or of an entity of the program that embeds [Record]. Keys and payloads are
// stored as SHA-256 digests, answers as they are. Time comes from entity.Config.Clock, and the ids of calls from
// entity.Config.NewID.
//
// In a table of several Regions, call an operation in one of them: elsewhere a claim is seen late.
//
// The package is experimental: its API may change with every minor version.
package idempotent
