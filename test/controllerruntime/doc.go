// Package controllerruntime runs controller-runtime on kinform's informers,
// against a real kube-apiserver: managers, caches and reconcilers whose
// cache.Options.NewInformer is kinform's. It is a module of its own, so that
// nobody who imports kinform pulls controller-runtime in.
//
// Only tests live here.
package controllerruntime
