package snapshot

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/kinform/kinform/wire"
)

// Entry is the state of one object, or that it is gone.
type Entry struct {
	// Key is unique in the file: namespace and name.
	Key string
	// Format and Bytes are the object as the server sent it. The bytes are valid during
	// the call that they are passed to.
	Format wire.Format
	Bytes  []byte
	// Gone: there is no such object any more.
	Gone bool
}

// Mark says what the entries up to it stand for.
type Mark struct {
	// Version is the server's resource version of the whole.
	Version string `json:"version"`
	// Seen is when the server last confirmed it.
	Seen time.Time `json:"seen"`
	// APIVersion and Kind are what the server called the objects.
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	// Form is what is stored of each object, if that may change while they are watched.
	Form string `json:"form,omitempty"`
	// Grave is the last deletion that led to it, if one is known.
	Grave *Grave `json:"grave,omitempty"`
}

// Grave says which object was deleted, and the version of its end.
type Grave struct {
	Key     string `json:"key"`
	UID     string `json:"uid"`
	Version string `json:"version"`
}

// What an entry begins with.
const (
	isGone byte = 0 // others are the format of an object
	isMark byte = 255
)

// appendEntry appends an entry to those of a frame.
func appendEntry(b []byte, e Entry) []byte {
	if e.Gone {
		return appendText(append(b, isGone), e.Key)
	}
	b = appendText(append(b, byte(e.Format)), e.Key)
	b = binary.AppendUvarint(b, uint64(len(e.Bytes)))
	return append(b, e.Bytes...)
}

func appendMark(b []byte, m Mark) []byte {
	text, _ := json.Marshal(m) // strings and a time: it cannot fail
	return appendText(append(b, isMark), string(text))
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// reader reads entries. It believes nothing that they say of their lengths.
type reader struct {
	rest []byte
	mark *Mark
}

// parsed is an entry in the memory of its frame.
type parsed struct {
	key, bytes []byte
	format     wire.Format
	gone       bool
}

// next returns the next entry; false: there is none, or it is no entry, which leaves rest.
func (r *reader) next() (p parsed, ok bool) {
	for len(r.rest) > 0 {
		before := r.rest
		kind := r.rest[0]
		r.rest = r.rest[1:]
		if p.key, ok = r.text(); !ok {
			r.rest = before
			return p, false
		}
		switch kind {
		case isMark:
			r.mark = new(Mark)
			if json.Unmarshal(p.key, r.mark) != nil {
				r.rest = before
				return p, false
			}
			continue
		case isGone:
			p.gone = true
			return p, true
		}
		p.format = wire.Format(kind)
		if p.bytes, ok = r.text(); !ok {
			r.rest = before
			return p, false
		}
		return p, true
	}
	return p, false
}

func (r *reader) text() ([]byte, bool) {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > uint64(len(r.rest)-size) {
		return nil, false
	}
	text := r.rest[size : size+int(n) : size+int(n)]
	r.rest = r.rest[size+int(n):]
	return text, true
}
