package beamx

import (
	"fmt"
	"hash/fnv"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dynastrata/dynastrata/timeline"
)

// SetLeasePoll sets how long bundles wait for the lease of others.
func SetLeasePoll(d time.Duration) { leasePoll = d }

// Pipeline returns the pipeline of a job that the caller coordinates.
func Pipeline[V View](view Opener[V], job *timeline.Job, parts []timeline.JobPart) *beam.Pipeline {
	return rebuild(view.registered(), job.Ticket(), parts, Budget{})
}

func init() { register.Function2x1(shareOf) }

// shares is how many shares a shared pipeline has.
const shares = 2

// shareOf returns in which share a group is folded.
func shareOf(group string, _ []byte) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(group))
	return int(h.Sum32() % shares)
}

// Shared is Pipeline with each step twice: a half of the parts is read in the scope share0, the other in share1, and so are the
// groups folded. A runner that has one worker for each environment can work in both at once.
func Shared[V View](view Opener[V], job *timeline.Job, parts []timeline.JobPart) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	of := crew{View: view.registered(), Ticket: job.Ticket()}
	var scopes [shares]beam.Scope
	var events [shares][]beam.PCollection // by the share that folds them
	for i := range scopes {
		scopes[i] = s.Scope(fmt.Sprint("share", i))
		var mine []timeline.JobPart
		for n := i; n < len(parts); n += shares {
			mine = append(mine, parts[n])
		}
		read := beam.ParDo(scopes[i], &readFn{Crew: of}, beam.Reshuffle(scopes[i], beam.CreateList(scopes[i], mine)))
		for j, part := range beam.Partition(scopes[i], shares, shareOf, read) {
			events[j] = append(events[j], part)
		}
	}
	for i, in := range scopes {
		fold(in, of, beam.Flatten(in, events[i]...))
	}
	return p
}
