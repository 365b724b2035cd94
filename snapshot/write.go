package snapshot

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
)

// partSize is how much of a whole state goes into one frame: enough for objects that are
// alike to be compressed against each other.
const partSize = 1 << 20

// errNothing: there is no state that changes could be appended to.
var errNothing = errors.New("there is no whole state to append to")

// Append writes a batch of changes, and what the state after them stands for. A batch may
// be empty. After an error the file is as it was before, or Worn.
//
// Possible errors: ErrTooLarge, and those of the file system.
func (f *File) Append(changes iter.Seq[Entry], m Mark) error {
	if f.codec == nil {
		return fmt.Errorf("snapshot %s: %w", f.path, errNothing)
	}
	f.entries = f.entries[:0]
	for e := range changes {
		if f.entries = appendEntry(f.entries, e); len(f.entries) > largestFrame {
			f.codec = nil // what it has is not the state before the next batch
			return fmt.Errorf("snapshot %s: %w", f.path, ErrTooLarge)
		}
	}
	frame, err := f.codec.encode(f.next, change, appendMark(f.entries, m))
	if err == nil {
		err = f.write(frame)
	}
	if cap(f.entries) > largestPacked {
		f.entries = nil
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", f.path, err)
	}
	return nil
}

// write appends a frame. Where it fails, what was written of it is cut off again, and
// where that fails as well, nothing more is appended.
func (f *File) write(frame []byte) error {
	if f.out == nil {
		out, err := f.open(f.path, os.O_WRONLY)
		if err != nil {
			return err
		}
		if err := f.seek(out); err != nil {
			out.Close()
			return err
		}
		f.out = out
	}
	if _, err := f.out.Write(frame); err != nil {
		if undo := f.seek(f.out); undo != nil {
			f.codec = nil
			return errors.Join(err, undo, f.shut())
		}
		return err
	}
	f.next++
	f.size += int64(len(frame))
	return nil
}

// seek goes behind the last good frame, and cuts off what is there.
func (f *File) seek(out disk) error {
	if err := out.Truncate(f.size); err != nil {
		return err
	}
	_, err := out.Seek(f.size, io.SeekStart)
	return err
}

// Rewrite writes a whole state, in place of all that is there. Until it is complete and on
// the disk, the old one stays. No key may come twice.
//
// Possible errors: ErrTooLarge, and those of the file system.
func (f *File) Rewrite(entries iter.Seq[Entry], m Mark) error {
	if err := f.rewrite(entries, m); err != nil {
		_ = os.Remove(f.path + fresh)
		return fmt.Errorf("snapshot %s: %w", f.path, err)
	}
	return nil
}

func (f *File) rewrite(entries iter.Seq[Entry], m Mark) error {
	_ = os.Remove(f.path + fresh)
	out, err := f.open(f.path+fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer func() { // what is left of a failure; the disk has no use for it
		if out != nil {
			out.Close()
		}
	}()
	w, err := f.begin(out)
	if err != nil {
		return err
	}
	for e := range entries {
		if err := w.add(e); err != nil {
			return err
		}
	}
	if err := w.end(m); err != nil {
		return err
	}
	if err := out.Sync(); err != nil {
		return err
	}
	closed := out.Close()
	out = nil
	if closed != nil {
		return closed
	}
	if err := f.shut(); err != nil { // the old one, which some systems do not replace while it is open
		f.codec = nil
		return err
	}
	f.codec = nil // if the file's place is not known, nothing is appended
	if err := os.Rename(f.path+fresh, f.path); err != nil {
		return err
	}
	f.codec, f.next, f.size, f.base, f.dropped = w.codec, w.number, w.size, w.size, 0
	return syncFolder(filepath.Dir(f.path))
}

// rewriter writes a whole state to a new file.
type rewriter struct {
	codec  *codec
	out    io.Writer
	parts  []byte
	number uint64
	size   int64
}

func (f *File) begin(out io.Writer) (*rewriter, error) {
	h, text, err := newHeader(f.scope, len(f.key) > 0)
	if err != nil {
		return nil, err
	}
	c, err := newCodec(h, f.key)
	if err != nil {
		return nil, err
	}
	if _, err := out.Write(text); err != nil {
		return nil, err
	}
	return &rewriter{codec: c, out: out, size: h.size}, nil
}

func (w *rewriter) add(e Entry) error {
	if len(w.parts) > 0 && len(w.parts)+len(e.Bytes) > partSize {
		if err := w.flush(part); err != nil {
			return err
		}
	}
	w.parts = appendEntry(w.parts, e)
	return nil
}

func (w *rewriter) end(m Mark) error {
	w.parts = appendMark(w.parts, m)
	return w.flush(whole)
}

func (w *rewriter) flush(k kind) error {
	frame, err := w.codec.encode(w.number, k, w.parts)
	if err != nil {
		return err
	}
	if _, err := w.out.Write(frame); err != nil {
		return err
	}
	w.number++
	w.size += int64(len(frame))
	if w.parts = w.parts[:0]; cap(w.parts) > largestPacked {
		w.parts = nil
	}
	return nil
}
