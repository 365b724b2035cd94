// Package core is what the faces of kinform have in common: package kinform, the drop-ins
// and controller-runtime's cache. It decides once what they would otherwise each decide:
// what may be quoted of an object, how long an informer that is leased lives, what the
// settings of a snapshot must be, and which errors say that something has ended.
//
// It knows records and engines. It knows none of the faces' types, and no types of objects.
package core
