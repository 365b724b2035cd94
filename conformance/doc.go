// Package conformance states, as one suite of cases, what an informer relies on
// when it lists, watches and writes through a Kubernetes API server: growing
// versions, order, bookmarks, expiry, paging, selectors, initial events,
// content types, conflicts.
//
// The same cases run against the embedded server and against a real
// kube-apiserver. The real one is the reference: a case that fails there is
// wrong, a case that fails elsewhere names a fault of that server.
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Server{Config: cfg, Compact: forget})
//	}
//
// What may live here: cases, and the few helpers they are written with. A case
// speaks to its server through HTTP or client-go's clients only, works in a
// namespace of its own, never sleeps, and knows nothing of the server behind the
// address. What may not: anything about kinform's own packages, any server, and
// anything that measures speed.
package conformance
