// Package kube makes an engine.Source from an API server: over client-go's REST client,
// as bytes (NewSource), or over any ListerWatcher, as objects (NewObjectSource).
// Authentication, TLS, proxies, rate limits and the user agent remain client-go's.
//
// What may live here: how to ask a server. What may not: what to do with the answer
// (package engine), and how to read its bytes (package wire).
package kube
