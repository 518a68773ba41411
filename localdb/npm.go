package localdb

import (
	"context"
	"errors"
	"fmt"
)

// npmPack lets npm download one archive into dir. npm knows the user's mirror, proxy and credentials. Scripts of the package are
// not run, and neither are its dependencies fetched: all that comes is the one archive, whose digest is checked.
func npmPack(ctx context.Context, spec, dir string) error {
	npm, err := lookPath("npm")
	if err != nil {
		return errors.New("it is not in the cache, and npm, which fetches it, is not in PATH")
	}
	// In dir it is away from the package.json of the caller's project.
	c, err := launch(dir, npm, "pack", spec, "--pack-destination", dir, "--ignore-scripts", "--loglevel=error")
	if err != nil {
		return fmt.Errorf("npm pack %s: %w", spec, err)
	}
	select {
	case <-c.done:
		err = c.ended
	case <-ctx.Done():
		c.kill() // with the processes that npm has started
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("npm pack %s: %w\n%s", spec, err, c.output)
	}
	return nil
}
