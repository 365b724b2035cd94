// Package diff finds what changed between two states of a Kubernetes object, as
// a person would: items of a list are matched by their name or type and not by
// their place, and what changes with every write is left out.
//
// What may live here: comparing, and the paths and values of changes. What may
// not: anything about output, colours or secrets, and anything that asks a
// server.
package diff
