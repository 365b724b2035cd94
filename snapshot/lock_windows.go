package snapshot

import (
	"errors"
	"io"
	"os"
	"syscall"
)

const noFollow = 0

const sharingViolation = syscall.Errno(32)

// acquire opens a file exclusively. The system closes it when the process ends, for
// whatever reason.
func acquire(path string) (io.Closer, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return os.NewFile(uintptr(h), path), nil
}

// syncFolder is not needed: names are written with the file.
func syncFolder(string) error { return nil }
