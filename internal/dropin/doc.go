// Package dropin is what the drop-in packages share behind their surfaces: how
// they tell package cache that a source has bytes ([ListWatch]), how those bytes
// become the objects that client-go's clients would have given ([DecodeTyped] and
// its kin), and what all factories do alike ([Group]).
//
// What has a classic name or shape lives in the drop-in packages themselves; how
// to ask a server, in package kube.
package dropin
