// Package apisim is a Kubernetes API server in memory: one process, one
// loopback port, nothing to install. It is made for tests of code that lists,
// watches and writes, and for demonstrations.
//
//	server, err := apisim.Start(apisim.Options{})
//	if err != nil { … }
//	defer server.Close()
//	client := kubernetes.NewForConfigOrDie(server.Config())
//
// What it promises is what a client sees of a real kube-apiserver on the wire:
// discovery, get, list, watch, create, update, patch, delete, selectors,
// continue tokens, resource versions, bookmarks, conflicts, content types and
// the Status bodies of its refusals. The conformance suite of this repository
// runs the same cases against both; where they differ, this package is wrong.
//
// What it leaves out: users and permissions (everybody may do everything),
// admission, full validation and defaulting of specs (metadata, a few defaults
// that clients rely on, and the schemas of custom resources are done),
// managedFields (but see Options.ManagedFields) and server-side apply (answered with
// 415), conversion between versions beyond fields of the same name, and controllers. As on a bare
// kube-apiserver there is no scheduler, no garbage collector (deletion in the
// foreground and orphaning wait until a client takes their finalizers away)
// and no kubelet (a pod on a node goes when somebody deletes it with a grace
// period of 0). The one exception: a deleted namespace takes its content along
// at once.
//
// Beyond the real server it can misbehave on demand: see Fault, ForgetHistory,
// Restore and Restart. Follow adds a second API server that lags; package front
// has proxies that buffer, cut, delay and rewrite, package aggregated a server
// with resource versions of its own. With Options.InMemory all of them, and
// their clients, can live in a bubble of testing/synctest, where minutes of
// silence take no time.
//
// The way of a request, from top to bottom:
//
//  1. Server.ServeHTTP (server.go) guards against panics and applies faults.
//  2. parseRequest (request.go) turns path and query into a request: verb,
//     resource, namespace, name, subresource, options.
//  3. negotiate (negotiate.go) picks the encoding of the answer.
//  4. A handler per verb (get.go, list.go, watch.go, write.go, patch.go,
//     delete.go) reads or changes the store.
//  5. The store (store.go) is the only place with state: per resource one
//     collection, a sorted tree of encoded objects and the ring of its latest
//     events; one lock, one resource version for all of them.
//
// Objects are kept as the bytes that travel, protobuf for built-in types and
// JSON for custom ones; lists are written by streaming these bytes, and the
// frame of a watch event is made once for all watchers of one format. Objects
// that are loaded in bulk are packed against their siblings, so that a million
// pods take two gigabytes.
//
// This package may hold nothing that a client would not see through HTTP or
// needs for control of the server; simulated workloads live in package
// cluster, on top of it.
package apisim
