//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package localdb

import (
	"context"
	"errors"
	"os"
)

// canShare is false: without file locks nobody knows who still uses a shared database.
const canShare = false

// lock does nothing here. Processes that start at once may each fetch; the first rename wins and the others use its result.
func lock(context.Context, string) (unlock func(), err error) { return func() {}, nil }

func lockShared(context.Context, *os.File) error { return errors.ErrUnsupported }

func tryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

func unlockFile(*os.File) {}
