package main

import (
	"errors"
	"fmt"
)

// Rules that must hold at the end of a run.
const (
	ruleRows     = "stored rows are what a replay in memory gives"
	rulePast     = "rows as of a moment are made of what had happened by then"
	ruleKnown    = "rows as they were known leave out what came late"
	ruleLog      = "a log has every event once, the newest first, in today's shape"
	ruleResume   = "a build that was cut off and resumed gives what one clean build gives"
	ruleStale    = "rows of another definition are served to those only who ask for them"
	ruleMeta     = "the status says what the rows are worth"
	ruleProgress = "progress never goes back"
	ruleCount    = "what is read again after a crash counts once"
	ruleRefused  = "what cannot be known is refused"
)

var rules = []string{ruleRows, rulePast, ruleKnown, ruleLog, ruleResume, ruleStale, ruleMeta, ruleProgress, ruleCount, ruleRefused}

// sight is something that was seen and what it must be, line by line.
type sight struct {
	rule, what string
	got, want  []string
}

// see records a sight for the check.
func (s *story) see(rule, what string, got, want []string) {
	s.seen = append(s.seen, sight{rule, what, got, want})
}

// violation is a sight that is wrong.
type violation struct{ rule, what, detail string }

func (v *violation) Error() string { return v.rule + ": " + v.what + ": " + v.detail }

// check returns a *violation for every sight that breaks its rule, and for every rule without a sight.
func (s *story) check() error {
	var broken []error
	tested := map[string]bool{}
	for _, x := range s.seen {
		tested[x.rule] = true
		if detail := x.difference(); detail != "" {
			broken = append(broken, &violation{x.rule, x.what, detail})
		}
	}
	for _, rule := range rules {
		if !tested[rule] {
			broken = append(broken, &violation{rule, "the story", "nothing was seen of it"})
		}
	}
	return errors.Join(broken...)
}

// difference returns the first line that differs, or "".
func (x sight) difference() string {
	for i := range max(len(x.got), len(x.want)) {
		switch {
		case i >= len(x.got):
			return fmt.Sprintf("line %d is missing: %s", i+1, x.want[i])
		case i >= len(x.want):
			return fmt.Sprintf("line %d should not be there: %s", i+1, x.got[i])
		case x.got[i] != x.want[i]:
			return fmt.Sprintf("line %d is %s, want %s", i+1, x.got[i], x.want[i])
		}
	}
	return ""
}
