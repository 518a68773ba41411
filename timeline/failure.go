package timeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// errPanicked is noted for a build that a panic ended; the panic itself goes on to the caller.
var errPanicked = errors.New("a function of the definition panicked")

// work runs a build or catch-up under the lease. After an error, or a panic, it gives the lease up and notes why; on says
// what else becomes of the manifest then.
func (b *builder) runUnderLease(ctx context.Context, run func(context.Context) error, on func(*manifest, error)) (err error) {
	returned := false
	defer func() {
		if !returned {
			_ = b.giveUpLease(ctx, errPanicked, on) // the panic says more
		}
	}()
	err = b.keepAlive(ctx, run)
	if returned = true; err != nil {
		err = b.giveUpLease(ctx, err, on)
	}
	return err
}

// failed gives the lease up and says why, unless the caller merely had enough.
func (b *builder) giveUpLease(ctx context.Context, err error, on func(*manifest, error)) error {
	return b.release(ctx, err, func(m *manifest) {
		if on(m, err); !interrupted(err) {
			m.Failure = storedFailure(err, b.now())
		}
	})
}

// abandon is what becomes of a generation whose build failed: nothing that was made by a function which failed is kept.
// Otherwise Resume goes on with it.
func (b *builder) abandon(m *manifest, err error) {
	if b.saveEvaluated(m); definitionFailed(err) {
		m.retireBuilding(b.now())
	}
}

// spoiled reports that a build failed at an event, or in a function of its definition.
func definitionFailed(err error) bool {
	var e *EventError
	return errors.As(err, &e) || errors.Is(err, errPanicked)
}

// interrupted reports that the caller ended a build. A handler may fail with the same error.
func interrupted(err error) bool {
	return !definitionFailed(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// giveUp retires the generation that is being built.
func (m *manifest) retireBuilding(at time.Time) {
	if m.Building != nil {
		m.Retired = append(slices.Clone(m.Retired), retirement{ID: m.Building.ID, At: at})
		m.Building = nil
	}
}

// Bounds of what is kept of a failure, in bytes: a manifest is one item.
const (
	maxMessage  = 1000
	maxIdentity = 4096
)

// failure is an error as the manifest keeps it.
func storedFailure(err error, now time.Time) *Failure {
	f := &Failure{At: now, Message: truncated(err.Error(), maxMessage)}
	var e *EventError
	if errors.As(err, &e) {
		f.Stage, f.Payload = e.Stage, e.Payload
		f.Event, f.Source = truncated(e.Event, maxIdentity), truncated(e.Source, maxIdentity)
		f.Key, f.Group = truncated(e.Key, maxIdentity), truncated(e.Group, maxIdentity)
	}
	return f
}

// bounded is text that can be stored: as UTF-8, and cut before the rune that does not fit into most bytes.
func truncated(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
