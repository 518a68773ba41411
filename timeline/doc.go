// Package timeline builds read models from history: rows of typed state, one for each group, folded from everything that
// has happened. Rows can be paged, kept up to date, and replayed as of any time in the past.
//
// An ordinary query returns what is stored now. A timeline reads what happened: the states of items, deleted ones too, the
// events of a time series, or items that are written once. It orders the events by time, splits them into groups, and lets
// a handler for each kind of event change the state of its group. The rows are stored. The same definition can be evaluated
// as of a time, by replaying what had happened by then. A [Log] lists the events themselves.
//
//	view, err := timeline.New(db, timeline.Projection[string, Totals]{
//		Name: "orders_by_customer", Version: 1,
//		Source: timeline.Versions(history),
//		Handlers: []timeline.Handler[string, Totals]{
//			timeline.On("order.created", customer, func(t *Totals, e timeline.Event[Order]) error {
//				t.Orders++
//				t.Amount += e.Payload.Amount
//				return nil
//			}),
//		},
//	})
//	meta, err := view.Ensure(ctx)                                            // builds when there are no rows, or the definition has changed
//	page, err := view.Page(ctx, 1, 20)                                       // stored rows
//	row, meta, err := view.Get(ctx, "acme", timeline.AsOf(lastNewYearsEve), timeline.FullReplay())  // replayed
//
// # Sources
//
//   - [Versions]: the changes of an entity with versioned.Retain. Events are <entity>.created, .updated, .deleted, .restored
//     and .baseline, an oldest state before which others have expired. The payload is the item after the change, Before the
//     one before it.
//   - [Series]: the events of a time series, <entity>.appended. Declare late:"record", or late events are not kept.
//   - [Items]: items that are written once and never changed, <entity>.stored.
//   - [Feed]: the events that a function yields, such as an export.
//
// [Merge] reads several sources as one. [Classify] names events by their content, and drops events. [Upgrade] converts
// payloads that were stored under an earlier payload:"…" of entity.Key to the current struct whenever they are read; stored
// payloads are not changed. An Update does not change the payload version of an item, so the struct of an earlier version
// must have the fields that later programs set on its items, or these programs must Put the item instead. [PartitionKey]
// says which partition holds the events of a group.
//
// # Projections
//
// [New] checks a [Projection] without I/O. It rejects unknown events, handlers of another payload type, gaps between
// upgrades, states that storage does not preserve, and rows that would outlive their history. Functions must depend only on
// their arguments. The fingerprint of a definition covers everything visible that changes rows: names, types and tags, the
// start, payload versions, sources with their physical tables. It does not cover what functions do; raise Version when a
// function changes. Rows of another fingerprint are not served: reads fail with a *[StaleError] until [View.Rebuild],
// unless they use [AllowStale]. Before the first build has ended there are no rows: reads find none, and Meta.RebuildStatus is
// [Pending] or [InProgress]. A program that must not take this for an empty history reads with [RequireComplete], or looks at it.
//
// The events of a group are applied in time order; at the same time, by source id, then by key, as bytes. Rows are ordered
// by group key. The same history gives the same rows, however it is read.
//
// # Building
//
// [View.Rebuild] is a call, not a service. It reads the whole history, writes all rows as a new generation, and replaces
// the served generation with one write. Readers see the old rows until then. With one source that has [PartitionKey], it
// reads and folds a partition at a time. Otherwise it sorts all events by group first, in Projection.Memory and then in
// temporary files. [View.Explain] reports which, and what it costs. [View.Ensure] rebuilds only if the rows are of another
// definition, once among all processes that call it when they start.
//
// One builder works at a time, under a lease of 30 seconds that it renews; others get a *[BuildingError]. A builder that
// lost its lease cannot write any more: rows and manifest carry a fence, a number that grows with each builder. [Resume]
// continues an interrupted build, and gives what one build would have given, brought up to date with the rows that it
// replaces. By partition it continues after the last checkpoint; a build that sorts reads everything again, up to the same
// time. An event that cannot be decoded, upgraded, named, grouped or handled stops a build with an *[EventError]. Only
// events without a group key can be skipped, with SkipUngrouped, and they are counted.
//
// [View.BeginJob] splits a rebuild over processes: workers read parts of the history, fold groups and store rows, in any
// order and as often as necessary, and the process that began it finishes it. See [Job].
//
// [View.CatchUp] applies what was accepted since. It reads by accept time and folds by event time, so groups with late
// events are folded from their whole history. A write can be in flight for minutes after it took its time from the clock,
// so each catch-up reads the 15 minutes before the newest known event again; a row records which of these events it
// contains.
//
// [View.Apply] applies the changes that package stream reads, without a lease and without reading the history; [View.Consume]
// is a whole Lambda function, and [View.CheckApply] says when the program starts whether the definition allows it. Rows have a revision, so consumers, catch-ups and builds can work at the same time.
//
// # Reading
//
// [View.Get], [View.Page], [View.After] and [View.All] read stored rows, eventually consistently. [Meta] describes how
// complete they are: check Page.Authoritative, or read with [RequireComplete]. Cursors stay with the rows that they started
// with for at least 15 minutes after a rebuild replaced them; page numbers do not.
//
// # Time travel
//
// [AsOf] replays the events that happened up to a time, including it; [AsKnownAt] those that the store had accepted by
// then. They differ by the events that arrived late. An event that was dated ahead counts from when it was accepted. Stored
// rows are not used, so time travel works before the first build, and while rows are stale.
//
// Before [Meta].HistoryFloor, where events have expired, it fails with a *[HistoryExpiredError] unless [Partial] is given.
// Even later times can lack events from before the floor that had happened by then: if a source expires events,
// [Meta].HistoryComplete is false, and [RequireComplete] makes that an error. Meta.NoGapSeen reports what the view's builds
// have seen, which costs one more read. A group that is not found then may have had events. An event lives from its accept
// time: if a clock dated it ahead of that, it expires before the floor reaches its At, by as much as the clock was ahead.
//
// # Costs
//
// A build costs a strongly consistent scan of each source's table, including other entities' items, and a write for each
// row, of one unit for each KB. So keep histories apart from large items without history, and rows in a table of their own,
// with Projection.Table. A catch-up scans the sources too, and writes only the rows that changed; a group with late events
// costs a query with [PartitionKey], otherwise all of them together one more scan. A row as of a time costs a query with
// [PartitionKey], otherwise a scan, which [FullReplay] must allow. A page of a log costs a query with [ForKey], otherwise a
// scan. A page of rows costs three reads, a row two.
//
// A rebuild from [Export], which reads exports of the tables, costs no read units for the history.
//
// # Limits
//
//   - The rows of a view are one partition, or Projection.Partitions: DynamoDB accepts about 1,000 write units and 3,000 read
//     units a second for each. Pages and listings read them all, and merge them in group order.
//   - A state is one item, of at most 400 KB. It cannot contain interfaces, sets, or fields that are not stored, and must be
//     read back as it was.
//   - Group keys are strings, integers, bools, times and structs of these. An empty string or zero time is not a key.
//   - The deleted copies of one item may have 64 MiB, counting 1 KB more for each. One catch-up may fold 100,000 groups from
//     their history.
//   - [Items] without [AcceptedAt] can be rebuilt, but not caught up.
//
// The package does not promise that rows contain events accepted after [Meta].Through; that a catch-up finds events whose
// writers' clocks were more than 15 minutes behind, which the next rebuild does; that rebuilt rows contain events that have
// expired meanwhile, or items that were purged; that it notices changed functions.
//
// The package is experimental: its API may change with every minor version.
package timeline
