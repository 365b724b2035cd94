// Package workloads has the matrix of workloads: loads that a server makes, uses
// that a program makes of an informer, and client-go's informer and both of
// kinform's side by side on them.
//
// The load is made once, by a server in memory in the process that calls Run.
// The subjects are child processes that watch that server at the same time, so
// that each has its own memory, and all have the same load. At the end of a run a
// subject must hold what the server holds, key by key and version by version.
//
// Read catalog.go first: it has every workload. load.go and changes.go make the
// changes, run.go starts the subjects and paces the load, child.go is what runs in
// a subject, shared.go and native.go are the informers, sample.go measures.
//
// What may live here: what the command in bench/ and the tests share. What may
// not: limits and tables, which belong to those two.
package workloads
