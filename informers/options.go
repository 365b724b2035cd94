package informers

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers/internalinterfaces"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
)

// SharedInformerOption is an option of [NewSharedInformerFactoryWithOptions].
type SharedInformerOption func(*sharedInformerFactory) *sharedInformerFactory

// WithCustomResyncConfig gives informers of the types of the given objects resync
// periods of their own.
func WithCustomResyncConfig(resyncConfig map[metav1.Object]time.Duration) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		for obj, period := range resyncConfig {
			f.customResync[reflect.TypeOf(obj)] = period
		}
		return f
	}
}

// WithTweakListOptions changes the options of each list and watch.
func WithTweakListOptions(tweakListOptions internalinterfaces.TweakListOptionsFunc) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.tweakListOptions = tweakListOptions
		return f
	}
}

// WithNamespace narrows the factory to one namespace; kinds that do not live in
// namespaces do not mind it.
func WithNamespace(namespace string) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.namespace = namespace
		return f
	}
}

// WithTransform has every object go through a function before anybody sees it.
func WithTransform(transform cache.TransformFunc) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.transform = transform
		return f
	}
}

// WithSnapshot has the factory's informers start from disk, and keep there what they read;
// see [cache.SetSnapshot]. Client-go has no such option. Informers that get objects, as
// those of fake clients do, and Secrets without a key, do without. Default: each start lists.
func WithSnapshot(o kinform.SnapshotOptions) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.snapshot = o
		return f
	}
}

// WithInformerName names the factory's informers in metrics. Shutdown gives the
// name back.
func WithInformerName(informerName *cache.InformerName) SharedInformerOption {
	return func(f *sharedInformerFactory) *sharedInformerFactory {
		f.informerName = informerName
		return f
	}
}
