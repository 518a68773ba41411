//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package localdb

import (
	"context"
	"errors"
	"os"
)

// canShare is false: without file locks a keeper cannot know whether a shared database is still in use.
const canShare = false

// lock does nothing. Processes that start at the same time may each fetch; the first rename wins, and the others use its
// result.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }

func lockShared(context.Context, *os.File) error { return errors.ErrUnsupported }

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlockFile(*os.File) {}
