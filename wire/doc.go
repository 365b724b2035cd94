// Package wire turns the bytes of the Kubernetes API into meaning, and decodes
// as little as it can: it splits watch streams into events and list bodies into
// items, reads an object's metadata where it lies, and cuts managedFields out.
// Both encodings are served, JSON and protobuf ("application/json" and
// "application/vnd.kubernetes.protobuf").
//
// # What may live here
//
// Code that reads or rewrites bytes. It knows nothing of HTTP, of client-go, of
// Go types for API objects, or of the cache, and it imports the standard
// library alone. Tests may compare it with k8s.io/apimachinery.
//
// # What is promised
//
//   - No input makes it panic, read past its end, or loop.
//   - Memory follows the bytes that have arrived, never a length that was claimed:
//     a reader holds at most twice the largest event or item, which [Limits] bound.
//   - What apimachinery's typed decoders accept is accepted, with the same values.
//     The exceptions are listed below.
//   - In the steady state nothing is allocated per event, item or object.
//
// # How deep it checks
//
// [Meta.Scan] on JSON checks the grammar of the whole object and the types of the
// fields it reads; on protobuf it checks the object's and the metadata's own
// fields. It does not check what it does not read: the spec, the status,
// annotations, the creation time. Decoding can thus still fail on an object that
// was scanned without error.
//
// The readers check everything around objects exactly, and of JSON objects only
// that strings end and brackets balance, which is what finding the end takes. A
// broken object is handed out, and fails in Scan, alone.
//
// # Where it differs from apimachinery's decoders
//
// Refused here, though accepted there (no server sends any of these):
//
//   - A JSON object or list item that is null.
//   - A list body that has its items twice, or, as protobuf, ends before them.
//   - A protobuf list whose kind does not end in "List", a JSON list of kind Table,
//     and a list that has more than 1 MiB in one field besides its items.
//   - JSON metadata of the wrong type (a name that is a number), which the
//     unstructured decoder reads as absent. The typed decoders refuse it.
//
// A protobuf label that reaches over the end of its map entry is read as the decoders
// read it; if it reaches into managedFields, cutting them changes it.
//
// Duplicate JSON keys follow the typed decoders: of two values the last wins, and
// of two "metadata" or "labels" objects the members are merged. Of two
// "ownerReferences" the last counts. The unstructured decoder, unlike the typed
// ones, lets the last object win whole.
package wire

import "math"

// Format is the encoding of an object, an event or a list.
type Format uint8

// The formats. The zero Format means that it is not known yet.
const (
	JSON     Format = 1
	Protobuf Format = 2
)

// String returns "json", "protobuf" or "unknown".
func (f Format) String() string {
	switch f {
	case JSON:
		return "json"
	case Protobuf:
		return "protobuf"
	default:
		return "unknown"
	}
}

// Limits bound what a reader accepts and holds. The zero value means the defaults.
type Limits struct {
	// Frame is the size in bytes of the largest watch event or list item; a
	// larger one ends the stream with a [LimitError]. Default 64 MiB: objects
	// from etcd are below 2 MiB, and client-go stops at 16 MiB in a watch.
	Frame int64
	// Buffer is the size in bytes up to which the read buffer grows by itself
	// while the source fills it; a single larger event or item takes it beyond.
	// Larger reads cost fewer wake-ups. Default 256 KiB.
	Buffer int
}

const (
	defaultFrame  = 64 << 20
	defaultBuffer = 256 << 10
	// envelopeLimit bounds what is neither an event nor an item: the list's own
	// metadata, type names, unknown fields.
	envelopeLimit = 1 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Frame <= 0 {
		l.Frame = defaultFrame
	}
	if l.Buffer <= 0 {
		l.Buffer = defaultBuffer
	}
	l.Frame = min(l.Frame, math.MaxInt/2)
	return l
}
