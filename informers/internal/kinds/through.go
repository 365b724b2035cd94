package kinds

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/cache"
)

// Through returns a factory for client-go's accessors to ask. They ask for each
// kind with a way to make client-go's informer of it; f is asked with the way to
// make kinform's, for the same namespace and with the same tweak.
func Through(f internalinterfaces.SharedInformerFactory, namespace string, tweak internalinterfaces.TweakListOptionsFunc) internalinterfaces.SharedInformerFactory {
	return &through{f, namespace, tweak}
}

type through struct {
	internalinterfaces.SharedInformerFactory
	namespace string
	tweak     internalinterfaces.TweakListOptionsFunc
}

func (t *through) InformerFor(obj runtime.Object, theirs internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	k, ok := Of(obj)
	if !ok {
		return t.SharedInformerFactory.InformerFor(obj, theirs)
	}
	return t.SharedInformerFactory.InformerFor(obj, k.Shared(t.SharedInformerFactory, t.namespace, t.tweak))
}

// Shared makes informers of a kind as factories want them: indexed by namespace.
func (k Kind) Shared(f internalinterfaces.SharedInformerFactory, namespace string, tweak internalinterfaces.TweakListOptionsFunc) internalinterfaces.NewInformerFunc {
	return func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		return k.New(client, namespace, internalinterfaces.InformerOptions{
			ResyncPeriod:     resync,
			Indexers:         cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
			InformerName:     f.InformerName(),
			TweakListOptions: tweak,
		})
	}
}
