package write

import "slices"

// HintKind is what a failed attempt shows about a stored item.
type HintKind int

// Kinds of hints.
const (
	// ReadFirst: plan from the current item.
	ReadFirst HintKind = iota

	// OutdatedPayload: the item has an earlier payload version, in which the plan's changes and conditions mean nothing.
	// It is upgraded before the next plan.
	OutdatedPayload

	// ItemExpired: the item exists but has expired.
	ItemExpired

	// ItemReplaced: another client has replaced the expired item.
	ItemReplaced

	// VersionTaken: the hint's Version of the item is used by a snapshot of another life, because a program that keeps no
	// history created the item again. The next plan continues after that history.
	VersionTaken

	// SentinelForeign: the sentinel with the hint's Key belongs to another item, so it must not be deleted or reserved.
	SentinelForeign

	// SentinelReturned: the item has got the sentinel with the hint's Key back since.
	SentinelReturned
)

// Hint is what a failed attempt shows, for the next plan. Of hints that contradict each other, the last counts.
type Hint struct {
	Kind    HintKind
	Version int64  // of VersionTaken
	Key     string // of SentinelForeign and SentinelReturned: KeyID of the sentinel's key
}

// Hinted reports whether an earlier attempt gave a hint of a kind.
func (in Input) Hinted(kind HintKind) bool {
	return slices.ContainsFunc(in.Hints, func(h Hint) bool { return h.Kind == kind })
}
