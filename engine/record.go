package engine

import (
	"fmt"
	"sync/atomic"
	"unique"

	"github.com/kinform/kinform/wire"
)

// Record is one state of one object: the bytes that the server sent, and what
// was scanned out of them. A record never changes; a new state is a new record.
type Record struct {
	key       string
	nsLen     int32 // the namespace is key[:nsLen]
	format    wire.Format
	deleting  bool
	version   Version
	uid       string
	labels    unique.Handle[string]
	packing   packing
	rawLen    uint32     // of the bytes before they were packed
	parent    *Record    // what packed needs to be unpacked, if anything
	packed    []byte     // nil for a record that was born as an object
	object    any        // the object of such a record
	values    [][]string // by index: the values this record is found under
	decodings atomic.Pointer[decoding]

	// For residency: whether the decodings are kept for readers, were read since
	// it last looked, and belong to a state that has left the store; and when the
	// record was last gone over.
	kept, used, superseded atomic.Bool
	swept                  atomic.Uint32
}

// Key is "namespace/name", or "name" for objects without a namespace.
func (r *Record) Key() string { return r.key }

// Namespace is empty for cluster-scoped objects.
func (r *Record) Namespace() string { return r.key[:r.nsLen] }

// Name is the object's name.
func (r *Record) Name() string {
	if r.nsLen == 0 {
		return r.key
	}
	return r.key[r.nsLen+1:]
}

// UID is the server's identity of the object.
func (r *Record) UID() string { return r.uid }

// Labels are the object's labels; no decoding is needed to read them.
func (r *Record) Labels() Labels { return Labels{r.labels.Value()} }

// Deleting tells whether the object has a deletion timestamp.
func (r *Record) Deleting() bool { return r.deleting }

// AppendBytes appends the object as the server sent it, in Format, to dst; nothing
// for a record that came from a source of objects.
func (r *Record) AppendBytes(dst []byte) []byte {
	dst, err := r.unpack(dst)
	if err != nil {
		// What we packed ourselves cannot be unpacked: memory was overwritten.
		panic(fmt.Sprintf("kinform: the packed bytes of %s are corrupt: %v", r.key, err))
	}
	return dst
}

// Format is the encoding of the bytes.
func (r *Record) Format() wire.Format { return r.format }

// Object is the object of a record that came from a source of objects.
func (r *Record) Object() any { return r.object }

// Version is the object's resource version.
func (r *Record) Version() Version { return r.version }

// Size is the number of bytes that the server sent.
func (r *Record) Size() int { return int(r.rawLen) }

// Packed is the number of bytes that they are held in.
func (r *Record) Packed() int { return len(r.packed) }

// sameState tells whether two records are one state of one object. Versions that
// no server made say nothing, so such records never count as the same.
func (r *Record) sameState(o *Record) bool {
	return r.uid == o.uid && r.version == o.version && r.version.number != 0
}
