// Package dropin is what the drop-in packages share: how they offer package cache a
// source of bytes ([ListWatch]), how those bytes become the objects that client-go's
// clients would have given ([DecodeTyped] and the like), and what all factories have
// in common ([Group]).
//
// What has a classic name or shape lives in the drop-in packages themselves; how
// to ask a server, in package kube.
package dropin
