//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package localdb

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// lock waits for the exclusive lock on the file, so that of several processes one fetches and the others find what it
// fetched. The kernel gives it back when the holder ends, however it ends; the file itself stays, since removing it would be a race.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = file.Close()
			return nil, err
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
