package beamx

import (
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dynastrata/dynastrata/timeline"
)

// SetLeasePoll sets how long bundles wait for the lease of others.
func SetLeasePoll(d time.Duration) { leasePoll = d }

// Pipeline returns the pipeline of a job that the caller coordinates.
func Pipeline[V View](view Opener[V], job *timeline.Job, parts []timeline.JobPart) *beam.Pipeline {
	return rebuild(view.registered(), job.Ticket(), parts, Budget{})
}
