package cache

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/watchlist"
)

// NewListWatchFromClient lists and watches a resource, narrowed by a field
// selector. All functions of the result are set.
func NewListWatchFromClient(c Getter, resource string, namespace string, fieldSelector fields.Selector) *ListWatch {
	return NewFilteredListWatchFromClient(c, resource, namespace, func(options *metav1.ListOptions) {
		options.FieldSelector = fieldSelector.String()
	})
}

// NewFilteredListWatchFromClient lists and watches a resource with options that
// optionsModifier may change last. All functions of the result are set.
func NewFilteredListWatchFromClient(c Getter, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	request := func(options metav1.ListOptions) *rest.Request {
		optionsModifier(&options)
		return c.Get().
			Namespace(namespace).
			Resource(resource).
			VersionedParams(&options, metav1.ParameterCodec)
	}
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return request(options).Do(ctx).Get()
	}
	stream := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.Watch = true
		return request(options).Watch(ctx)
	}
	return &ListWatch{
		ListFunc:             func(o metav1.ListOptions) (runtime.Object, error) { return list(context.Background(), o) },
		WatchFunc:            func(o metav1.ListOptions) (watch.Interface, error) { return stream(context.Background(), o) },
		ListWithContextFunc:  list,
		WatchFuncWithContext: stream,
	}
}

// ToListerWatcherWithContext makes lists and watches take a context. A source without
// contexts is called all the same, and cannot be interrupted.
func ToListerWatcherWithContext(lw ListerWatcher) ListerWatcherWithContext {
	if lw, ok := lw.(ListerWatcherWithContext); ok {
		return lw
	}
	return struct {
		ListerWithContext
		WatcherWithContext
	}{ToListerWithContext(lw), ToWatcherWithContext(lw)}
}

// ToListerWithContext makes lists take a context.
func ToListerWithContext(l Lister) ListerWithContext {
	if l, ok := l.(ListerWithContext); ok {
		return l
	}
	return contextLister{l}
}

// ToWatcherWithContext makes watches take a context.
func ToWatcherWithContext(w Watcher) WatcherWithContext {
	if w, ok := w.(WatcherWithContext); ok {
		return w
	}
	return contextWatcher{w}
}

type contextLister struct{ lister Lister }

func (l contextLister) ListWithContext(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return l.lister.List(options)
}

type contextWatcher struct{ watcher Watcher }

func (w contextWatcher) WatchWithContext(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return w.watcher.Watch(options)
}

// ToListWatcherWithWatchListSemantics remembers of a client whether its watches
// can begin with the state of all objects; those of fake clients cannot.
func ToListWatcherWithWatchListSemantics(lw *ListWatch, client any) ListerWatcher {
	return &semanticListWatch{ListWatch: lw, noWatchList: watchlist.DoesClientNotSupportWatchListSemantics(client)}
}

type semanticListWatch struct {
	*ListWatch
	noWatchList bool
}

// IsWatchListSemanticsUnSupported is what reflectors ask.
func (lw *semanticListWatch) IsWatchListSemanticsUnSupported() bool { return lw.noWatchList }
