// Package unmarshal makes objects of what a server sent: of protobuf, what the
// Unmarshal methods that are generated for Kubernetes' types make; of JSON, what
// sigs.k8s.io/json makes, of a Go type or of none. The result is the same; the time
// and the memory are less:
//
//   - strings that were seen before are not made again. The objects of a cluster
//     say the same few things (image names, condition types, field names) over and
//     over;
//   - a slice or a map is made as large as it has to be, at once.
//
// The layout of a type is taken from its field tags. Whatever is out of the
// ordinary (a type with a hand-written method, a wrong wire type, a truncated
// message, a surrogate pair) is left to the decoders named above, which are
// authoritative.
package unmarshal
