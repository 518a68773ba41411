//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package localdb

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// canShare says that this system has the locks by which processes share a database.
const canShare = true

// lock waits for the exclusive lock on the file, so that of several processes one does the work and the others find what it
// did. The kernel gives it back when the holder ends, however it ends; the file itself stays, since removing it would be a race.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(ctx, file, syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

// lockShared waits for a shared lock on the file. It lasts until the file is closed, or the process ends.
func lockShared(ctx context.Context, file *os.File) error { return flock(ctx, file, syscall.LOCK_SH) }

// tryLock takes the exclusive lock on the file if nobody has a lock on it.
func tryLock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// unlockFile gives a lock back.
func unlockFile(file *os.File) { _ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// flock waits for a lock. It asks again and again, because a call that waits cannot be ended with ctx.
func flock(ctx context.Context, file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
