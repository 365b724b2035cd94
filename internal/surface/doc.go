// Package surface compares the exported names of two packages by their types:
// each name of the one must stand in the other, with the same meaning.
//
// The drop-in packages use it in a test, so that a name which client-go adds or
// changes fails here before it fails in somebody's program. Only loading and
// comparing live here; what a drop-in offers is its own affair.
package surface
