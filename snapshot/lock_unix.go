//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package snapshot

import (
	"errors"
	"io"
	"os"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// acquire takes a lock that the system releases when the process ends, for whatever
// reason.
func acquire(path string) (io.Closer, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o600)
		if err != nil {
			return nil, err
		}
		if err := flock(f); err != nil {
			f.Close()
			return nil, err
		}
		// The previous holder may have removed the file: then others lock a new one.
		mine, err := f.Stat()
		if there, gone := os.Lstat(path); err == nil && gone == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		default:
			return err
		}
	}
}

// syncFolder flushes the names in a folder to disk.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
