package beamx

import "time"

// SetLeasePoll sets how long bundles wait for the lease of others.
func SetLeasePoll(d time.Duration) { leasePoll = d }
