package snapshot

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/kinform/kinform/wire"
)

// Entry is the state of one object, or its deletion.
type Entry struct {
	// Key is unique in the file: namespace and name.
	Key string
	// Format and Bytes are the object as the server sent it. The bytes are valid only
	// during the call that receives them.
	Format wire.Format
	Bytes  []byte
	// Gone means that the object was deleted.
	Gone bool
}

// Mark describes the state that the entries before it add up to.
type Mark struct {
	// Version is the server's resource version of that state.
	Version string `json:"version"`
	// Seen is when the server last confirmed it.
	Seen time.Time `json:"seen"`
	// APIVersion and Kind are what the server called the objects.
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	// Form says what is stored of each object, if that can change while the objects are
	// watched.
	Form string `json:"form,omitempty"`
	// Grave is the last deletion before the mark, if one is known.
	Grave *Grave `json:"grave,omitempty"`
}

// Grave names a deleted object and the version of its deletion.
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

// reader reads entries. It does not trust the lengths that they claim.
type reader struct {
	rest []byte
	mark *Mark
}

// parsed is an entry that refers to the memory of its frame.
type parsed struct {
	key, bytes []byte
	format     wire.Format
	gone       bool
}

// next returns the next entry. It returns false if there is none, or if what follows is
// not an entry, which is left in rest.
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
