package snapshot

import (
	"fmt"
	"os"

	"errors"
)

// Load calls a function for each object of the last good state, and returns the mark of
// that state. No key comes twice. If Load returns an error, the caller must discard
// what the function received and write a new state with Rewrite.
//
// Possible errors: ErrNone, ErrDamaged, ErrFormat, ErrServer, ErrScope, ErrKey, those
// of the file system, and that of the function.
func (f *File) Load(each func(Entry) error) (Mark, error) {
	mark, err := f.load(each)
	if err != nil {
		f.codec = nil
		return Mark{}, fmt.Errorf("snapshot %s: %w", f.path, err)
	}
	return mark, nil
}

func (f *File) load(each func(Entry) error) (Mark, error) {
	file, err := os.OpenFile(f.path, os.O_RDONLY|noFollow, 0)
	if errors.Is(err, os.ErrNotExist) {
		return Mark{}, ErrNone
	}
	if err != nil {
		return Mark{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Mark{}, err
	}
	if !info.Mode().IsRegular() {
		return Mark{}, fmt.Errorf("%w: it is no file", ErrDamaged)
	}
	size := info.Size()
	h, err := readHeader(file, size)
	if err != nil {
		return Mark{}, err
	}
	if err := h.Scope.differs(f.scope); err != nil {
		return Mark{}, err
	}
	if h.sealed != (len(f.key) > 0) {
		return Mark{}, fmt.Errorf("%w: sealed: %v", ErrKey, h.sealed)
	}
	if f.codec, err = newCodec(h, f.key); err != nil {
		return Mark{}, err
	}
	l := loader{File: f, file: file, size: size, last: map[string]place{}}
	if err := l.survey(); err != nil {
		return Mark{}, err
	}
	return l.mark, l.deliver(each)
}

// place is that of an entry: its frame, and its number there.
type place struct {
	frame uint64
	entry int
}

// loader reads a file twice: first to find how much of it is good, and which objects
// have changed since its beginning; then to deliver the last state of each object.
type loader struct {
	*File
	file *os.File
	size int64
	last map[string]place // where an object that was changed was changed last
	mark Mark
}

// survey finds the last good frame.
func (l *loader) survey() error {
	at, complete := l.codec.size, false
	for number := uint64(0); ; number++ {
		frame, err := l.codec.read(l.file, at, l.size, number)
		if err == errEnd {
			break
		}
		if err != nil {
			return err
		}
		k := kind(frame[4])
		if k == part && !complete {
			at += int64(len(frame))
			continue
		}
		if k != whole && k != change || complete != (k == change) {
			break
		}
		mark, err := l.changes(number, frame)
		if errors.Is(err, ErrKey) {
			return err
		}
		if err != nil || mark == nil {
			break
		}
		at += int64(len(frame))
		l.mark, l.next, l.File.size = *mark, number+1, at
		if !complete {
			complete, l.base = true, at
		}
	}
	if !complete {
		return fmt.Errorf("%w: it has %d bytes, of which %d are a beginning", ErrDamaged, l.size, at)
	}
	l.dropped = l.size - l.File.size
	return nil
}

// changes records where the objects of a frame of changes are, and returns the frame's
// mark.
func (l *loader) changes(number uint64, frame []byte) (*Mark, error) {
	entries, err := l.codec.entries(number, frame)
	if err != nil {
		return nil, err
	}
	isChange := kind(frame[4]) == change
	r := reader{rest: entries}
	var keys []string
	for {
		p, ok := r.next()
		if !ok {
			break
		}
		if isChange {
			keys = append(keys, string(p.key))
		}
	}
	if len(r.rest) > 0 {
		return nil, errEnd
	}
	for i, key := range keys { // now that all of it is known to be good
		l.last[key] = place{number, i}
	}
	return r.mark, nil
}

// deliver calls a function for the last state of each object.
func (l *loader) deliver(each func(Entry) error) error {
	at := l.codec.size
	for number := range l.next {
		frame, err := l.codec.read(l.file, at, l.size, number)
		if err != nil {
			return fmt.Errorf("%w: it changed while it was read: %w", ErrDamaged, err)
		}
		at += int64(len(frame))
		entries, err := l.codec.entries(number, frame)
		if errors.Is(err, ErrKey) {
			return err
		}
		if err != nil {
			return fmt.Errorf("%w: frame %d", ErrDamaged, number)
		}
		r := reader{rest: entries}
		for i := 0; ; i++ {
			p, ok := r.next()
			if !ok {
				break
			}
			last, changed := l.last[string(p.key)]
			if p.gone || changed && last != (place{number, i}) {
				continue
			}
			if err := each(Entry{Key: string(p.key), Format: p.format, Bytes: p.bytes}); err != nil {
				return err
			}
		}
		if len(r.rest) > 0 {
			return fmt.Errorf("%w: frame %d", ErrDamaged, number)
		}
	}
	return nil
}
