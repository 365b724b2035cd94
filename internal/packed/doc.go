// Package packed holds the encoded bytes of many objects in little memory.
//
// Bytes is one state of one object. It is either young or settled:
//
//   - Young bytes are in the Go heap, as they came or packed. A state that a watch
//     sent will probably be replaced soon; in the heap, what is replaced paces the
//     garbage collector and counts against GOMEMLIMIT like everything else.
//   - Settled bytes are packed, in slabs outside the heap: there are many of them,
//     they hold no pointers, and the collector would let a heap grow to twice their
//     size. A slab is unmapped when nothing refers to it any more. As only the
//     collector knows when that is, it is asked to run when slabs have grown
//     (pace.go).
//
// A Packer packs each object against one that it resembles, its parent: a sibling
// of the same owner, the base, or an object of the same name. docs/evidence/packing.md says
// why.
//
// What may live here: bytes, where they are, and what they weigh. What may not:
// keys, versions, stores, locks of the engine.
package packed
