// Package timeline builds read models from history: rows of typed state, one for each group, folded from everything that
// has happened, paged, kept up to date, and seen as of any moment of the past.
//
// An ordinary query sees what is stored now. A timeline walks through what happened: the states that items were in, deleted
// ones too, the events of a time series, or items that are written once. It puts the events in the order of time, splits
// them into groups, and lets a handler for each type of event change the state of its group. The rows are stored. The same
// definition is evaluated as of a moment by replaying what had happened by then. A [Log] lists the events themselves.
//
//	view, err := timeline.New(db, timeline.Projection[string, Totals]{
//		Name: "orders_by_customer", Version: 1,
//		Source: timeline.Versions(history),
//		When: []timeline.Handler[string, Totals]{
//			timeline.On("order.created", customer, func(t *Totals, e timeline.Event[Order]) error {
//				t.Orders++
//				t.Amount += e.Payload.Amount
//				return nil
//			}),
//		},
//	})
//	meta, err := view.Rebuild(ctx)                                           // once, and when the definition changes
//	page, err := view.Page(ctx, 1, 20)                                       // stored rows
//	row, meta, err := view.Get(ctx, "acme", timeline.AsOf(lastNewYearsEve), timeline.FullReplay())  // replayed
//
// # Sources
//
//   - [Versions]: the changes of an entity with versioned.Retain. Events are <entity>.created, .updated, .deleted, .restored
//     and .baseline, an oldest state before which others have expired. The payload is the item after the change, Before the
//     one before it.
//   - [Series]: the events of a time series, <entity>.appended. Declare late:"record", or late events are not there to be read.
//   - [Items]: items that are written once and never changed, <entity>.stored.
//   - [Feed]: what a function yields, such as an export.
//
// [Merge] reads several as one. [Classify] gives events names by their content, and leaves events out. [Upgrade] brings
// payloads that were stored under an earlier payload:"…" of entity.Key to today's struct whenever they are read; what is
// stored never changes. An Update leaves the payload version of an item alone: the struct of an earlier version has to have
// the fields that later programs set on its items, or these Put the item instead. [PartitionKey] says in which partition the
// events of a group lie.
//
// # Definitions
//
// A [Projection] is checked by [New], without I/O: unknown events, handlers of another payload type, gaps between upgrades, states
// that would not survive being stored, rows that would outlive their history. Functions must depend on nothing but their
// arguments. Everything of a definition that changes rows and can be seen is in its fingerprint: names, types and tags,
// the start, payload versions, sources with their physical tables. What functions do cannot be seen; raise Version when it
// changes. Rows of another fingerprint are not served: reads fail with a *[StaleError] until [View.Rebuild], unless they ask
// with [AllowStale].
//
// Events of a group are applied in the order of their time; at the same time, by the names of sources, then by key, as
// bytes. Rows come in the order of group keys. The same history gives the same rows, however it is read.
//
// # Building
//
// [View.Rebuild] is a call and not a service: it reads the whole history, writes all rows beside those that are served, and
// swaps them in with one write. Readers see the old rows until then. With one source that has [PartitionKey], a partition is read
// and folded at a time; otherwise everything is sorted by group first, in Fold.Memory and then in temporary files.
// [View.Explain] says which, and what it costs.
//
// One builder works at a time, under a lease of 30 seconds that it renews; others get a *[BuildingError]. One that was taken
// for dead cannot write any more: rows and manifest carry a number that grows with each builder. A build that was cut off
// goes on with [Resume] and gives what one build would have given, brought up to the rows that it replaces. By partition it goes on behind the last partition that
// it noted; one that sorts reads everything again, up to the same moment. An event that cannot be decoded, upgraded, named,
// grouped or handled stops a build with an *[EventError]; nothing is skipped but what SkipUngrouped allows, and that is counted.
//
// [View.CatchUp] brings rows up to what was accepted since. It reads by accept time and folds by event time, so that late
// events are in their place: groups that have some are folded from their whole history. Writes can be on their way for minutes after they took
// their time from the clock, so each catch-up looks at the 15 minutes before the newest known event again; a row knows which of these
// events it has.
//
// # Reading
//
// [View.Get], [View.Page], [View.After] and [View.All] read stored rows, eventually consistently, and [Meta] says what they
// are worth: look at Page.Authoritative, or read with [RequireComplete]. Cursors stay with the rows that they began with
// while a rebuild replaces them, for 15 minutes at least; page numbers do not.
//
// # Time travel
//
// [AsOf] replays the events that happened up to a moment, itself included; [AsKnownAt] those that the store had accepted by
// then. They differ by the events that came late. An event that was dated ahead has happened when it was accepted. Stored rows have no part in it: it works before the first build, and
// while rows are stale. Before [Meta].HistoryFloor, where events have expired, it fails with a *[HistoryExpiredError] unless [Partial] is given.
// Later moments can lack events from before the floor that had happened by then: [Meta].HistoryComplete is false where a source
// expires, and [RequireComplete] makes that an error. Meta.NoGapSeen is what the view's builds have seen, which costs one more
// read there. A group that is not found then may have had events.
// Events live from when they were accepted: one that a clock dated ahead of that is gone before the floor reaches its At, by
// as much as the clock was ahead.
//
// # Costs
//
// A build costs a strongly consistent scan of each source's table, other entities' items included, and a write for each row,
// of one unit for each KB. So keep histories apart from what is large and no history, and rows in a table of their own with
// Fold.Table. A catch-up scans the sources as well, and writes the rows that changed only; groups with late events cost a
// query each with [PartitionKey], otherwise one more scan for all. A row as of a moment costs a query with [PartitionKey], otherwise a
// scan, which [FullReplay] has to allow; so does a page of a log with [ForKey], or without. A page of rows costs three reads, a row two.
//
// # Limits
//
//   - The rows of a view are one partition: DynamoDB takes about 1,000 write units a second, and gives 3,000 read units.
//   - A state is one item, of 400 KB at most. It cannot have interfaces, sets, or fields that are not stored, and has to come
//     back from the table as it was.
//   - Group keys are strings, integers, bools, times and structs of these; an empty string or zero time is no key.
//   - The deleted copies of one item may have 64 MiB, counting 1 KB more for each; one catch-up may fold 100,000 groups from their history.
//   - [Items] without [AcceptedAt] can be rebuilt, and not caught up with.
//
// Not promised: that rows have what was accepted after [Meta].Through; that a catch-up sees events whose writers' clocks were
// more than 15 minutes behind, which the next rebuild sees; that rebuilt rows know events that have expired meanwhile, or
// items that were purged; that functions which changed are noticed.
package timeline
