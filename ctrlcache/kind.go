package ctrlcache

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// kind is what a cache knows of a kind of objects.
type kind struct {
	gvk        schema.GroupVersionKind
	resource   schema.GroupVersionResource
	namespaced bool
	// scopes are the namespaces in which it is watched; "" stands for all others.
	scopes map[string]cache.Config
}

// kind returns what is known of a kind; the server is asked the first time.
func (c *informerCache) kind(gvk schema.GroupVersionKind) (*kind, error) {
	c.mu.RLock()
	k := c.kinds[gvk]
	c.mu.RUnlock()
	if k != nil {
		return k, nil
	}
	mapping, err := c.options.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	k = &kind{gvk: gvk, resource: mapping.Resource, namespaced: mapping.Scope.Name() != meta.RESTScopeNameRoot}
	k.scopes = c.settings.scopes(gvk, k.namespaced)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.kinds[gvk]; known != nil {
		return known, nil
	}
	c.kinds[gvk] = k
	return k, nil
}

// scope returns in which scope the objects of a namespace are.
func (k *kind) scope(namespace string) (scope string, ok bool) {
	if !k.namespaced {
		return cache.AllNamespaces, true
	}
	if _, ok := k.scopes[namespace]; ok {
		return namespace, true
	}
	_, ok = k.scopes[cache.AllNamespaces]
	return cache.AllNamespaces, ok
}
