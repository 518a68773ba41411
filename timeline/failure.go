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
func (b *builder) work(ctx context.Context, run func(context.Context) error, on func(*manifest, error)) (err error) {
	returned := false
	defer func() {
		if !returned {
			_ = b.failed(ctx, errPanicked, on) // the panic says more
		}
	}()
	err = b.alive(ctx, run)
	if returned = true; err != nil {
		err = b.failed(ctx, err, on)
	}
	return err
}

// failed gives the lease up and says why, unless the caller merely had enough.
func (b *builder) failed(ctx context.Context, err error, on func(*manifest, error)) error {
	return b.release(ctx, err, func(m *manifest) {
		if on(m, err); !interrupted(err) {
			m.Failure = failure(err, b.now())
		}
	})
}

// abandon is what becomes of a generation whose build failed: nothing that was made by a function which failed is kept.
// Otherwise Resume goes on with it.
func (b *builder) abandon(m *manifest, err error) {
	if b.evaluate(m); spoiled(err) {
		m.giveUp(b.now())
	}
}

// spoiled reports that a build failed at an event, or in a function of its definition.
func spoiled(err error) bool {
	var e *EventError
	return errors.As(err, &e) || errors.Is(err, errPanicked)
}

// interrupted reports that the caller ended a build. A handler may fail with the same error.
func interrupted(err error) bool {
	return !spoiled(err) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// giveUp retires the generation that is being built.
func (m *manifest) giveUp(at time.Time) {
	if m.Building != nil {
		m.Retired = append(slices.Clone(m.Retired), retirement{ID: m.Building.ID, At: at})
		m.Building = nil
	}
}

// Bounds of what is kept of a failure, in bytes: a manifest is one item.
const (
	mostMessage  = 1000
	mostIdentity = 4096
)

// failure is an error as the manifest keeps it.
func failure(err error, now time.Time) *Failure {
	f := &Failure{At: now, Message: bounded(err.Error(), mostMessage)}
	var e *EventError
	if errors.As(err, &e) {
		f.Stage, f.Payload = e.Stage, e.Payload
		f.Event, f.Source = bounded(e.Event, mostIdentity), bounded(e.Source, mostIdentity)
		f.Key, f.Group = bounded(e.Key, mostIdentity), bounded(e.Group, mostIdentity)
	}
	return f
}

// bounded is text that can be stored: as UTF-8, and cut before the rune that does not fit into most bytes.
func bounded(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
