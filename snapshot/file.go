package snapshot

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Options of a snapshot. The zero value works.
type Options struct {
	// Key seals what is written: 32 random bytes, which the program keeps elsewhere. By
	// default, anyone who can read the file can read its content.
	Key []byte
}

const (
	// folder is created with mode 0700 inside the program's folder, which may be
	// readable by everyone, as volumes are.
	folder = "kinform-snapshots"
	ending = ".snap"
	fresh  = ".new"  // of a file that is not complete yet
	locked = ".lock" // of what one process at a time has

	// keepFor is how long an unused file is kept: one of a resource or a selector that
	// the program no longer watches.
	keepFor = 7 * 24 * time.Hour
	// slack is how much may be appended to even the smallest file.
	slack = 4 << 20
)

// disk is the file being written. Tests replace it.
type disk interface {
	io.Writer
	Truncate(size int64) error
	Seek(offset int64, whence int) (int64, error)
	Sync() error
	Close() error
}

// File is the snapshot of one scope. It must not be used by several goroutines at once.
type File struct {
	path  string
	scope Scope
	key   []byte
	lock  io.Closer

	codec   *codec // nil: there is nothing to append to
	out     disk   // nil until something is written
	next    uint64 // the number of the next frame
	size    int64  // of the good frames and the header
	base    int64  // of that, the whole state at the beginning
	dropped int64  // what was behind the last good frame

	entries []byte // of the frame that is being made
	open    func(path string, flag int) (disk, error)
}

// Open opens the snapshot of a scope in a folder, and creates the folder if needed. It
// does not read the snapshot; Load does.
//
// Possible errors: ErrLocked, and those of the file system.
func Open(dir string, s Scope, o Options) (*File, error) {
	if n := len(o.Key); n != 0 && n != 32 {
		return nil, fmt.Errorf("snapshot: the key has %d bytes: it needs 32", n)
	}
	dir, err := prepare(dir)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	path := filepath.Join(dir, s.name()+ending)
	lock, err := acquire(path + locked)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", path, err)
	}
	sweep(dir)
	f := &File{path: path, scope: s, key: o.Key, lock: lock, open: openFile}
	_ = os.Remove(path + fresh) // of a process that was killed
	return f, nil
}

func openFile(path string, flag int) (disk, error) {
	f, err := os.OpenFile(path, flag|noFollow, 0o600)
	if err != nil {
		return nil, err // and not a nil pointer in an interface
	}
	return f, nil
}

// prepare creates the folder and returns its path. If it already exists, it must be a
// folder that nobody else can read.
func prepare(dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	own := filepath.Join(dir, folder)
	if err := os.Mkdir(own, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(own)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a folder", own)
	case info.Mode().Perm()&0o077 != 0:
		if err := os.Chmod(own, 0o700); err != nil {
			return "", fmt.Errorf("others can read %s: %w", own, err)
		}
	}
	return own, nil
}

// sweep removes files that have long been unused: the disk should hold only what is
// still watched.
func sweep(dir string) {
	all, _ := filepath.Glob(filepath.Join(dir, "*"+ending+"*"))
	for _, path := range all {
		name, _, _ := strings.Cut(path, ending)
		info, err := os.Lstat(path)
		if err != nil || time.Since(info.ModTime()) < keepFor {
			continue
		}
		lock, err := acquire(name + ending + locked)
		if err != nil {
			continue
		}
		if path != name+ending+locked {
			_ = os.Remove(path)
		}
		if _, err := os.Lstat(name + ending); errors.Is(err, os.ErrNotExist) {
			_ = os.Remove(name + ending + locked)
		}
		lock.Close()
	}
}

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Dropped returns the number of bytes at the end of the file that Load could not read
// and ignored: they were being written when a process ended, or were damaged later.
func (f *File) Dropped() int64 { return f.dropped }

// Size returns the size of the file in bytes.
func (f *File) Size() int64 { return f.size }

// Worn reports whether Rewrite is due: there is nothing to append to, or more was
// appended than the file had at first.
func (f *File) Worn() bool { return f.codec == nil || f.size-f.base > max(f.base, slack) }

// Discard removes the file, because its content is no longer true or of no use.
func (f *File) Discard() error {
	err := f.shut()
	f.codec = nil
	if gone := os.Remove(f.path); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		return errors.Join(err, gone)
	}
	return err
}

// shut closes what is written to.
func (f *File) shut() error {
	if f.out == nil {
		return nil
	}
	err := f.out.Close()
	f.out = nil
	return err
}

// Close waits until everything is on disk, and releases the file.
func (f *File) Close() error {
	var err error
	if f.out != nil {
		err = f.out.Sync()
	}
	return errors.Join(err, f.shut(), f.lock.Close())
}
