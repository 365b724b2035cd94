package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/maphash"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/wire"
)

// ingester makes records of what a source sends. It belongs to one reflector:
// its scratch memory is reused from item to item.
type ingester struct {
	collection        *Collection
	dropManagedFields bool
	accept            func(any) error
	transform         func(any) (any, error)
	encoder           Encoder // nil: what came as an object is held as one
	view              *View   // of what the encoder makes
	distrust          bool    // versions may have been given twice, by a server whose history went back
	nameless          bool    // an object need not have a name
	objects           bool    // the source is one of objects
	trusted           bool    // their versions are a server's
	unordered         bool    // they were found not to be, whatever they look like

	meta    wire.Meta
	key     []byte
	held    *Record // the stored record of key, nil if there is none
	version Version // that the item came with
	labels  labelPacker
	young   youngQueue
	packer  packed.Packer
	scratch []byte
	stored  []byte // of the stored record, to compare
	// compactAt is the page at which compact continues.
	compactAt int
	// foreign is one whose records are packed again by this one, until none is left.
	foreign *ingester
}

// largestScratch is how much scratch memory is kept from one object to the next.
const largestScratch = 256 << 10

// maxNamespace is the longest namespace that is taken: far more than any server
// allows.
const maxNamespace = 1<<16 - 1

var (
	errNoName        = errors.New("metadata.name is missing")
	errLongNamespace = errors.New("metadata.namespace is longer than 65,535 bytes")
)

// rejection says that one object, whose key is known, cannot be taken. Other
// errors leave open which object it was.
type rejection struct {
	key     string
	version Version
	held    *Record // the last good state, if there is one
	err     error
}

// stranger says that what came is no object of the source's kind.
type stranger struct{ err error }

func (e *stranger) Error() string { return e.err.Error() }
func (e *stranger) Unwrap() error { return e.err }

func (e *rejection) Error() string { return e.key + ": " + e.err.Error() }
func (e *rejection) Unwrap() error { return e.err }

// record returns the record of an item: the stored one, if the item is the state that
// is stored, else a new one with its own bytes, which are young if the object has
// just changed.
func (in *ingester) record(it Item, young bool) (*Record, error) {
	if it.Object != nil {
		return in.transformed(it.Object, young)
	}
	if err := in.meta.Scan(it.Format, it.Bytes); err != nil {
		return nil, err
	}
	m := &in.meta
	if len(m.Name) == 0 {
		return nil, errNoName
	}
	if len(m.Namespace) > maxNamespace {
		return nil, errLongNamespace
	}
	held := in.lookup(m.Namespace, m.Name)
	version := ParseVersion(m.ResourceVersion)
	in.version = version
	raw := it.Bytes
	if in.dropManagedFields {
		var err error
		if in.scratch, err = wire.DropManagedFields(in.scratch[:0], it.Format, raw); err != nil {
			return nil, &rejection{string(in.key), version, held, err}
		}
		raw = in.scratch
	}
	digest := sumOf(it.Format, raw)
	if in.isHeld(version, it.Format, raw, digest, young) {
		return held, nil
	}
	r := &Record{
		nsLen:  uint16(len(m.Namespace)),
		marks:  mark(deleting, m.Deleting),
		number: version.number,
	}
	r.bytes.Format = it.Format
	r.setSum(digest)
	in.identify(r, held)
	if young {
		in.holdYoung(r, raw)
	} else {
		in.packer.Pack(&r.bytes, in.likeness(), raw)
	}
	if cap(in.scratch) > largestScratch {
		in.scratch = nil
	}
	return r, nil
}

// isHeld reports whether the stored record is the present state: of the same object,
// the same version. In a watch that is enough. A list may have other content under
// the same version, without an event for it: new defaults of a custom resource,
// another version that it is stored in, a conversion that changed.
// So the sums are compared, as far as the bytes are of one format. Bytes themselves,
// which take four times as long as all the rest, are compared where versions may have
// been given twice.
func (in *ingester) isHeld(version Version, format wire.Format, raw []byte, digest uint32, young bool) bool {
	held := in.held
	if held == nil || version.IsZero() || held.Version() != version {
		return false
	}
	if id, _ := uidOf(in.meta.UID); held.uid != id {
		return false
	}
	switch {
	case young && !in.distrust:
		return true
	case held.Format() != format:
		return !in.distrust
	case held.sum() != digest && format == wire.Protobuf:
		return false
	case held.sum() == digest && !in.distrust:
		return format != wire.Protobuf || held.Size() == len(raw)
	}
	in.stored = held.AppendBytes(in.stored[:0])
	return sameBytes(in.stored, raw) || format == wire.JSON && !in.distrust && sameJSON(in.stored, raw)
}

// sameJSON compares the values of two objects: a proxy may rewrite JSON in lists and
// not in watches. It is slow, and used only where the bytes differ under one version.
func sameJSON(a, b []byte) bool {
	var x, y map[string]any
	for into, raw := range map[*map[string]any][]byte{&x: a, &y: b} {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber() // or large numbers would lose digits
		if d.Decode(into) != nil {
			return false
		}
		delete(*into, "kind")
		delete(*into, "apiVersion")
	}
	return reflect.DeepEqual(x, y)
}

var sumSeed = maphash.MakeSeed()

// sumOf hashes an object's bytes to 24 bits, for which records have room. Of 16 million
// states that differ from what the store has, under the same version and in the same
// length, one is taken for the same.
func sumOf(format wire.Format, raw []byte) uint32 {
	if format == wire.JSON {
		raw = withoutKind(raw)
	}
	return uint32(maphash.Bytes(sumSeed, raw)) & (1<<24 - 1)
}

// sameBytes compares objects as servers write them. In JSON, the items of a list may
// lack the kind and the API version that the events of a watch have.
func sameBytes(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(withoutKind(a), withoutKind(b))
}

// withoutKind cuts kind and API version off the beginning of an object in JSON.
func withoutKind(raw []byte) []byte {
	rest, ok := bytes.CutPrefix(raw, []byte(`{"kind":"`))
	if !ok {
		return bytes.TrimPrefix(raw, []byte("{"))
	}
	if _, rest, ok = bytes.Cut(rest, []byte(`","apiVersion":"`)); !ok {
		return raw
	}
	if _, rest, ok = bytes.Cut(rest, []byte(`",`)); !ok {
		return raw
	}
	return rest
}

// identify gives a record its key, uid and labels, shared with the state before
// where they are the same.
func (in *ingester) identify(r, held *Record) {
	m := &in.meta
	if held != nil {
		r.key = held.key
	} else {
		r.key = string(in.key)
	}
	id, odd := uidOf(m.UID)
	r.uid = id
	r.marks |= mark(oddUID, odd)
	r.labels = in.labels.set(m.Labels, held)
}

// lookup builds the key, in scratch memory, and returns its record, or nil.
func (in *ingester) lookup(namespace, name []byte) *Record {
	in.key = in.key[:0]
	if len(namespace) > 0 {
		in.key = append(append(in.key, namespace...), '/')
	}
	in.key = append(in.key, name...)
	in.held = in.collection.getBytes(in.key)
	return in.held
}

// versionOf returns the resource version of an item that need not be a whole
// object: a bookmark has nothing else.
func (in *ingester) versionOf(it Item) (Version, error) {
	if it.Object != nil {
		o, err := meta.Accessor(it.Object)
		if err != nil {
			return Version{}, err
		}
		return in.read(o), nil
	}
	if err := in.meta.Scan(it.Format, it.Bytes); err != nil {
		return Version{}, err
	}
	return ParseVersion(in.meta.ResourceVersion), nil
}

// read returns the version of an object, which is compared only where it is a server's.
func (in *ingester) read(o metav1.Object) Version {
	if in.trusted {
		return ParseVersion(o.GetResourceVersion())
	}
	return Version{opaque: o.GetResourceVersion()}
}
