package kinds

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/internal/dropin"
)

// The lines of the generated tables are calls of these functions. They are given
// methods of client-go's interfaces, such as kubernetes.Interface.CoreV1 and
// CoreV1Interface.Pods, so that nothing is called before a client is there.

// groupClient is a clientset's client for one group and version.
type groupClient interface{ RESTClient() rest.Interface }

// group is one group and version; G is the interface of its client.
type group[G groupClient] struct {
	schema.GroupVersion
	open func(kubernetes.Interface) G
	own  func(G) bool // is it client-go's own client?
}

func groupOf[Own groupClient, G groupClient](name, version string, open func(kubernetes.Interface) G) group[G] {
	return group[G]{
		GroupVersion: schema.GroupVersion{Group: name, Version: version},
		open:         open,
		own: func(g G) bool {
			_, ok := any(g).(Own)
			return ok
		},
	}
}

// restClient gives the REST client of client-go's own client, else nil.
func (g group[G]) restClient(c kubernetes.Interface) rest.Interface {
	if client := g.open(c); g.own(client) {
		return client.RESTClient()
	}
	return nil
}

func namespaced[G groupClient, C dropin.Client[L], L runtime.Object](g group[G], resource string, example runtime.Object, client func(G, string) C) Kind {
	return Kind{
		Resource:   g.WithResource(resource),
		Example:    example,
		Namespaced: true,
		restClient: g.restClient,
		objects: func(c kubernetes.Interface, namespace string, tweak internalinterfaces.TweakListOptionsFunc) *clientgo.ListWatch {
			return dropin.Objects(func() dropin.Client[L] { return client(g.open(c), namespace) }, tweak)
		},
	}
}

func cluster[G groupClient, C dropin.Client[L], L runtime.Object](g group[G], resource string, example runtime.Object, client func(G) C) Kind {
	k := namespaced(g, resource, example, func(g G, _ string) C { return client(g) })
	k.Namespaced = false
	return k
}
