// Package internalinterfaces stands in for
// k8s.io/client-go/informers/internalinterfaces: the types that factories and
// informers meet in, which are client-go's.
package internalinterfaces

import clientgo "k8s.io/client-go/informers/internalinterfaces"

// How factories are asked for informers, and how informers are made.
type (
	SharedInformerFactory = clientgo.SharedInformerFactory
	NewInformerFunc       = clientgo.NewInformerFunc
	TweakListOptionsFunc  = clientgo.TweakListOptionsFunc
	InformerOptions       = clientgo.InformerOptions
)
