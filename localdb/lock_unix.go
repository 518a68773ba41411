//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package localdb

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// canShare says that this system has the file locks that a shared database needs.
const canShare = true

// lock waits for an exclusive lock on the file at path, so that one of several processes does the work and the others find
// it done. The kernel releases the lock when the holder ends. The file stays, since removing it would be a race.
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

// lockShared waits for a shared lock on the file, held until the file is closed or the process ends.
func lockShared(ctx context.Context, file *os.File) error { return flock(ctx, file, syscall.LOCK_SH) }

// tryLock takes an exclusive lock on the file if no process has it locked.
func tryLock(file *os.File) (bool, error) {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}

// unlockFile releases a lock.
func unlockFile(file *os.File) { _ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) }

// flock waits for a lock by polling, because a blocking call could not be cancelled by ctx.
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
