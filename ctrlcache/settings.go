package ctrlcache

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinform/kinform/kube"
)

// settings are a cache's options by kind and namespace, with all defaults filled in.
type settings struct {
	// cluster holds where no namespaces are given, and for kinds without namespaces.
	cluster cache.Config
	// namespaces are those of kinds that have none of their own; nil: all of them.
	namespaces map[string]cache.Config
	byKind     map[schema.GroupVersionKind]kindSettings
}

// kindSettings are those of a kind that Options.ByObject names.
type kindSettings struct {
	cluster    cache.Config
	namespaces map[string]cache.Config
}

// withDefaults fills in what a cache needs to ask a server anything.
func withDefaults(cfg *rest.Config, o cache.Options) (cache.Options, error) {
	var err error
	if o.HTTPClient == nil {
		if o.HTTPClient, err = httpClient(cfg); err != nil {
			return o, fmt.Errorf("no HTTP client for %s: %w", cfg.Host, err)
		}
	}
	if o.Scheme == nil {
		o.Scheme = scheme.Scheme
	}
	if o.Mapper == nil {
		if o.Mapper, err = apiutil.NewDynamicRESTMapper(cfg, o.HTTPClient); err != nil {
			return o, fmt.Errorf("no REST mapper for %s: %w", cfg.Host, err)
		}
	}
	return o, nil
}

// httpClient returns a client that reads long lists fast.
func httpClient(cfg *rest.Config) (*http.Client, error) {
	tuned, err := kube.Tuned(cfg)
	if err != nil {
		return nil, err
	}
	return rest.HTTPClientFor(tuned)
}

// settingsOf resolves options. What is said of a kind in a namespace goes before what
// is said of the kind, that before what is said of the namespace, and that before what
// is said of everything.
func settingsOf(o cache.Options) (*settings, error) {
	everything := cache.Config{
		LabelSelector:         o.DefaultLabelSelector,
		FieldSelector:         o.DefaultFieldSelector,
		Transform:             o.DefaultTransform,
		UnsafeDisableDeepCopy: o.DefaultUnsafeDisableDeepCopy,
		EnableWatchBookmarks:  o.DefaultEnableWatchBookmarks,
		SyncPeriod:            o.SyncPeriod,
	}
	s := &settings{cluster: everything, byKind: map[schema.GroupVersionKind]kindSettings{}}
	s.namespaces = resolve(o.DefaultNamespaces, func(string) []cache.Config { return []cache.Config{everything} })
	for obj, by := range o.ByObject {
		gvk, err := apiutil.GVKForObject(obj, o.Scheme)
		if err != nil {
			return nil, fmt.Errorf("ByObject has %T, whose kind is not known: %w", obj, err)
		}
		namespaced, err := apiutil.IsGVKNamespaced(gvk, o.Mapper)
		if err != nil {
			return nil, fmt.Errorf("ByObject has %T, and it is not known whether that has namespaces: %w", obj, err)
		}
		if !namespaced && by.Namespaces != nil {
			return nil, fmt.Errorf("ByObject has Namespaces for %T, which has no namespaces", obj)
		}
		kind := cache.Config{
			LabelSelector:         by.Label,
			FieldSelector:         by.Field,
			Transform:             by.Transform,
			UnsafeDisableDeepCopy: by.UnsafeDisableDeepCopy,
			EnableWatchBookmarks:  by.EnableWatchBookmarks,
			SyncPeriod:            by.SyncPeriod,
		}
		namespaces := by.Namespaces
		if namespaced && namespaces == nil {
			namespaces = o.DefaultNamespaces
		}
		s.byKind[gvk] = kindSettings{
			cluster: over(kind, everything),
			namespaces: resolve(namespaces, func(ns string) []cache.Config {
				return []cache.Config{kind, o.DefaultNamespaces[ns], everything}
			}),
		}
	}
	return s, nil
}

// resolve fills in what the settings of namespaces leave open, and keeps what has its
// own settings out of those for all namespaces.
func resolve(namespaces map[string]cache.Config, defaults func(namespace string) []cache.Config) map[string]cache.Config {
	resolved := map[string]cache.Config{}
	for ns, c := range namespaces {
		for _, d := range defaults(ns) {
			c = over(c, d)
		}
		if ns == cache.AllNamespaces {
			c.FieldSelector = except(namespaces, c.FieldSelector)
		}
		resolved[ns] = c
	}
	return resolved
}

// except adds to a selector that some namespaces are not meant.
func except(namespaces map[string]cache.Config, selector fields.Selector) fields.Selector {
	var all []fields.Selector
	for _, ns := range slices.Sorted(maps.Keys(namespaces)) {
		if ns != cache.AllNamespaces {
			all = append(all, fields.OneTermNotEqualSelector(namespaceField, ns))
		}
	}
	if selector != nil {
		all = append(all, selector)
	}
	return fields.AndSelectors(all...)
}

// over returns c, with what it leaves open taken from d.
func over(c, d cache.Config) cache.Config {
	if c.LabelSelector == nil {
		c.LabelSelector = d.LabelSelector
	}
	if c.FieldSelector == nil {
		c.FieldSelector = d.FieldSelector
	}
	if c.Transform == nil {
		c.Transform = d.Transform
	}
	if c.UnsafeDisableDeepCopy == nil {
		c.UnsafeDisableDeepCopy = d.UnsafeDisableDeepCopy
	}
	if c.EnableWatchBookmarks == nil {
		c.EnableWatchBookmarks = d.EnableWatchBookmarks
	}
	if c.SyncPeriod == nil {
		c.SyncPeriod = d.SyncPeriod
	}
	return c
}

// scopes returns the namespaces in which a kind is watched, each with its settings;
// "" stands for all others.
func (s *settings) scopes(gvk schema.GroupVersionKind, namespaced bool) map[string]cache.Config {
	cluster, namespaces := s.cluster, s.namespaces
	if own, ok := s.byKind[gvk]; ok {
		cluster, namespaces = own.cluster, own.namespaces
	}
	if !namespaced || len(namespaces) == 0 {
		return map[string]cache.Config{metav1.NamespaceAll: cluster}
	}
	return namespaces
}
