// Package encode makes bytes of objects that somebody else has decoded, and objects of
// those bytes again: of client-go's types in protobuf, of others and of unstructured
// data in JSON.
//
// A Go type need not survive that. It may have fields that are not exported, or methods
// that write less than they read; an empty list may come back as none. So each object
// is proved: it is encoded, decoded and compared, before its bytes are taken for it.
//
// What may live here: Go types to bytes, and the proof that nothing is lost. What may
// not: who holds the bytes, and for how long.
package encode
