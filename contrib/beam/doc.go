// Package beamx runs jobs over huge tables as pipelines of Apache Beam: on Prism in the same process, or on Dataflow, Flink and
// Spark. [Rebuild], [Rewrite] and [VerifyUnique] do what View.Rebuild, migrate.Rewrite and migrate.VerifyUnique do in one
// process.
//
// Rebuild runs a pipeline of its own. The others are transforms, which are put into a pipeline like any other:
//
//	var orders = beamx.Register("orders", openOrders)
//
//	func main() {
//		flag.Parse()
//		beam.Init() // a worker works here and never returns
//		p, s := beam.NewPipelineWithRoot()
//		debug.Print(s, beamx.Rewrite(s, orders, beamx.RewriteOptions{Checkpoint: "byTeam", Segments: 64}))
//		err := run.Run(context.Background(), p) // of Beam's package x/beamx: the runner is a flag
//	}
//
// Runners repeat bundles of elements: after a failure, when a worker dies, or speculatively. Everything that a transform
// writes is guarded by a fence, a lease, or what was read, so a repetition changes nothing. Mistakes in the construction of a pipeline panic, as
// those of Beam do.
//
// docs/beam.md says how to start pipelines, and what they cost.
//
// The package is experimental: its API may change with every minor version.
package beamx
