// Package engine keeps a copy of one resource of an API server and delivers changes
// to subscribers. It moves records of bytes and is deliberately not generic: package
// kinform is the typed API, package cache has client-go's.
//
// The path of one event, top to bottom:
//
//  1. Reflector.watch pulls an event from its Source and has its ingester
//     scan it into a Record.
//  2. Collection.Apply, in the same goroutine, changes the store, the indexes
//     and every subscriber's DeltaFIFO in one critical section.
//  3. Subscription.run, in the subscriber's own goroutine, takes the delta and
//     calls the handler.
//
// Two goroutines, one hand-off, the key built once. A test checks that.
//
// What may live here: what is true of every informer, whatever the type of its
// objects. What may not: HTTP, client-go's REST client (package kube), decoders
// of particular types (they come in as a View).
package engine
