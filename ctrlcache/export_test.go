package ctrlcache

import (
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ended returns a channel that is closed when the informer that a cache has for an
// object, in all namespaces, has ended.
func Ended(c cache.Cache, obj client.Object) <-chan struct{} {
	own := c.(*informerCache)
	f, err := own.formOf(obj)
	if err != nil {
		panic(err)
	}
	return own.known(memberKey{f, cache.AllNamespaces}).ended.Done()
}

// StripsManagedFields reports whether a transform is known to do that and nothing else.
var StripsManagedFields = stripsManagedFields
