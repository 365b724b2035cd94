package engine

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/maphash"
	"runtime"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/wire"
)

// Record is one state of one object: the bytes that the server sent, packed, and
// what was scanned out of them. A record never changes; a new state is a new
// record. There may be a million of them, so each field earns its place.
type Record struct {
	key    string
	uid    uid
	number uint64 // the version, if a server made it, else 0
	labels *labelSet

	bytes packed.Bytes // none for what is held as an object

	nsLen   uint16 // the namespace is key[:nsLen]
	marks   marks
	sumHigh uint8 // the rest of the sum is with the bytes

	use       usage
	decodings atomic.Pointer[decoding]
}

// marks are what is true of a record.
type marks uint8

const (
	deleting marks = 1 << iota // the object has a deletion timestamp
	oddUID                     // uid is a hash
	object                     // it came as an object, whatever it is held as
)

// mark returns a mark if it is set.
func mark(m marks, set bool) marks {
	if set {
		return m
	}
	return 0
}

// sum is the hash of the bytes as the server sent them.
func (r *Record) sum() uint32 { return uint32(r.sumHigh)<<16 | uint32(r.bytes.Sum) }

func (r *Record) setSum(s uint32) { r.sumHigh, r.bytes.Sum = uint8(s>>16), uint16(s) }

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

// Labels are the object's labels; no decoding is needed to read them.
func (r *Record) Labels() Labels { return Labels{r.labels} }

// Deleting reports whether the object has a deletion timestamp.
func (r *Record) Deleting() bool { return r.marks&deleting != 0 }

// Format is the encoding of the bytes.
func (r *Record) Format() wire.Format { return r.bytes.Format }

// Size is the number of bytes that the server sent, Packed that of the bytes that
// they are held in.
func (r *Record) Size() int   { return r.bytes.Len() }
func (r *Record) Packed() int { return r.bytes.Held() }

// Plain returns the bytes that the server sent, if they are held as they came, and
// nil if they are packed. They must not be changed, and not be read any more once
// the record is not reachable.
func (r *Record) Plain() []byte { return r.bytes.Plain() }

// Object is the object of a record that is held as one: it came from a source of
// objects, or a program put it into the store.
func (r *Record) Object() any {
	if !r.bytes.None() {
		return nil
	}
	if d := r.decodings.Load(); d != nil && d.view == nil {
		return d.obj
	}
	return nil
}

// UID is the server's identity of the object.
func (r *Record) UID() string {
	if r.marks&oddUID == 0 {
		return r.uid.text()
	}
	if o, err := meta.Accessor(r.Object()); err == nil {
		return string(o.GetUID())
	}
	var m wire.Meta
	if err := m.Scan(r.bytes.Format, r.AppendBytes(nil)); err != nil {
		return ""
	}
	return string(m.UID)
}

// Version is the object's resource version.
func (r *Record) Version() Version {
	if r.number != 0 {
		return Version{number: r.number}
	}
	if o, err := meta.Accessor(r.Object()); err == nil {
		return Version{opaque: o.GetResourceVersion()}
	}
	var m wire.Meta
	if err := m.Scan(r.bytes.Format, r.AppendBytes(nil)); err != nil {
		return Version{}
	}
	return Version{opaque: string(m.ResourceVersion)}
}

// AppendBytes appends the object as the server sent it, or an Encoder made it, in
// Format, to dst; nothing for a record that is held as an object.
func (r *Record) AppendBytes(dst []byte) []byte {
	dst, err := r.bytes.Append(dst)
	runtime.KeepAlive(r) // and with it the slab
	if err != nil {
		// What we packed ourselves cannot be unpacked: memory was overwritten.
		panic(fmt.Sprintf("kinform: the packed bytes of %s are corrupt: %v", r.key, err))
	}
	return dst
}

// older reports whether r is an older state than o. Versions that no server made are
// not compared.
func (r *Record) older(o *Record) bool {
	return r.number != 0 && o.number != 0 && r.number < o.number
}

// overtaken reports whether o is a newer state of the same object.
func (r *Record) overtaken(o *Record) bool { return r.older(o) && !r.another(o) }

// sameState reports whether two records are one state of one object. Versions that
// no server made prove nothing, so such records never count as the same; nor do those
// that came as objects, which may be delivered twice for a reason.
func (r *Record) sameState(o *Record) bool {
	return r.uid == o.uid && r.number == o.number && r.number != 0 && r.marks&object == 0
}

// packsSame reports whether two records have the same bytes of the same state, packed in
// different places: one was packed again after a list was compared with the other.
func (r *Record) packsSame(o *Record) bool {
	if !r.sameState(o) || r.bytes.None() || o.bytes.None() || r.Format() != o.Format() || r.Size() != o.Size() || r.sum() != o.sum() {
		return false
	}
	return bytes.Equal(r.AppendBytes(nil), o.AppendBytes(nil))
}

// another reports whether two records of one key are of different objects.
func (r *Record) another(o *Record) bool {
	return r.uid != o.uid && r.uid != uid{} && o.uid != uid{}
}

// uid is the identity of an object in 16 bytes: the UUID itself, or a hash of
// whatever else somebody wrote; the record says which.
type uid [16]byte

var uidSeed = maphash.MakeSeed()

func uidOf(text []byte) (u uid, odd bool) {
	if len(text) == 0 {
		return u, false
	}
	if len(text) == 36 && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-' {
		var digits [32]byte
		n := copy(digits[:], text[:8])
		n += copy(digits[n:], text[9:13])
		n += copy(digits[n:], text[14:18])
		n += copy(digits[n:], text[19:23])
		copy(digits[n:], text[24:])
		// A UUID in capitals would not come back as it was, and zero stands for none.
		var back [36]byte
		if _, err := hex.Decode(u[:], digits[:]); err == nil && u != (uid{}) && string(u.write(&back)) == string(text) {
			return u, false
		}
	}
	u = uid{8: 1}
	binary.LittleEndian.PutUint64(u[:], maphash.Bytes(uidSeed, text))
	return u, true
}

// text returns the identity as it was written, if it is not a hash.
func (u uid) text() string {
	if u == (uid{}) {
		return ""
	}
	return string(u.write(new([36]byte)))
}

// write writes the identity into b.
func (u uid) write(b *[36]byte) []byte {
	hex.Encode(b[:], u[:4])
	b[8] = '-'
	hex.Encode(b[9:], u[4:6])
	b[13] = '-'
	hex.Encode(b[14:], u[6:8])
	b[18] = '-'
	hex.Encode(b[19:], u[8:10])
	b[23] = '-'
	hex.Encode(b[24:], u[10:])
	return b[:]
}
