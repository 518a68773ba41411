package timeline

import (
	"context"
	"errors"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// Ensure makes the stored rows those of the running definition: it builds a view that has none, and rebuilds one that another definition
// built. If the rows are up to date it costs one read. Call it when a program starts, or in a job that is started with each release. Of
// all processes that call it, one builds, as by [View.Rebuild] with [Resume], and the others wait for it: they read how far it is every
// five seconds, and take over if its lease ends. Until a build has ended, readers see the earlier rows, with [AllowStale] in this program,
// and [View.Meta] shows the progress.
//
// A view whose rows a definition with a higher Version built is left alone, so that programs of two releases do not rebuild it in turns.
// The result is the meta of the rows. Errors: *[StaleError] for such a view; those of [View.Rebuild], but for *[BuildingError] and
// [ErrLeaseLost]; ctx's error.
func (v *View[K, S]) Ensure(ctx context.Context, opts ...BuildOption) (Meta, error) {
	return v.opened().ensure(ctx, opts)
}

// betweenLooks is how long Ensure waits before it asks again how far another process is.
var betweenLooks = 5 * time.Second

// errUpToDate says that there is nothing to build.
var errUpToDate = errors.New("the rows are those of the running definition")

// outdated returns nil if the served rows are to be rebuilt, and else the reason why not.
func (v *view) outdated(m *manifest) error {
	switch g := m.Active; {
	case g == nil:
		return nil
	case g.Fingerprint == v.fingerprint:
		return errUpToDate
	case g.Version > v.Version:
		return &StaleError{View: v.Name, Have: g.Fingerprint, Want: v.fingerprint}
	}
	return nil
}

func (v *view) ensure(ctx context.Context, opts []BuildOption) (meta Meta, err error) {
	opts = append(opts[:len(opts):len(opts)], Resume(), func(o *buildOptions) { o.needed = true })
	for {
		upToDate := false
		err = v.core.Measure(ctx, "Timeline.Ensure", v.Name, func(ctx context.Context) error {
			m, err := v.manifest(ctx, entity.Consistent())
			if err == nil {
				meta, err = v.meta(m, m.Active), v.outdated(m)
			}
			if upToDate = err == errUpToDate; upToDate {
				return nil
			}
			return err
		})
		if err != nil || upToDate {
			return meta, err
		}
		meta, err = v.rebuild(ctx, opts)
		switch {
		case errors.Is(err, errUpToDate): // another process was faster; its meta is read
			continue
		case !errors.Is(err, ErrBuilding) && !errors.Is(err, ErrLeaseLost):
			return meta, err
		}
		select {
		case <-ctx.Done():
			return Meta{}, ctx.Err()
		case <-time.After(betweenLooks):
		}
	}
}
