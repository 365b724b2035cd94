package workloads

import (
	"context"
	"errors"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

// native makes informers of package kinform.
type native struct{ config *rest.Config }

func (n native) watch(ctx context.Context, r schema.GroupVersionResource, handlers []handler) (reader, error) {
	switch r {
	case pods:
		return nativeWatch[*corev1.Pod](ctx, n.config, r, handlers)
	case events:
		return nativeWatch[*corev1.Event](ctx, n.config, r, handlers)
	case secrets:
		return nativeWatch[*corev1.Secret](ctx, n.config, r, handlers)
	case configMaps:
		return nativeWatch[*corev1.ConfigMap](ctx, n.config, r, handlers)
	case leases:
		return nativeWatch[*coordinationv1.Lease](ctx, n.config, r, handlers)
	case endpointSlices:
		return nativeWatch[*discoveryv1.EndpointSlice](ctx, n.config, r, handlers)
	}
	return nativeWatch[*unstructured.Unstructured](ctx, n.config, r, handlers)
}

func nativeWatch[T object](ctx context.Context, cfg *rest.Config, r schema.GroupVersionResource, handlers []handler) (reader, error) {
	inf, err := kinform.New[T](cfg, kinform.Options{Resource: r})
	if err != nil {
		return nil, err
	}
	for _, h := range handlers {
		inf.Subscribe(func(_ context.Context, ev kinform.Event[T]) {
			h.called(ev.Key, ev.ResourceVersion(), func() int {
				now, err := ev.New()
				if err != nil {
					return 0
				}
				n := weigh(now)
				if old, err := ev.Old(); err == nil && ev.Type == kinform.EventUpdated {
					n += weigh(old)
				}
				return n
			})
		}, kinform.SubscribeOptions{})
	}
	go func() { _ = inf.Run(ctx) }()
	return nativeReader[T]{inf.Lister()}, inf.WaitSynced(ctx)
}

func (n native) visit(ctx context.Context, r schema.GroupVersionResource, index string) (stop func(), err error) {
	inf, err := kinform.New[*corev1.Pod](n.config, kinform.Options{Resource: r})
	if err != nil {
		return nil, err
	}
	if _, err := inf.AddIndex(index, func(p *corev1.Pod) []string { return []string{p.Name[:1]} }); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); _ = inf.Run(ctx) }()
	stop = func() { cancel(); <-done }
	if err := inf.WaitSynced(ctx); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

type nativeReader[T object] struct{ lister kinform.Lister[T] }

func (n nativeReader[T]) each(f func(metav1.Object)) {
	for _, o := range n.lister.All() {
		f(o)
	}
}

func (n nativeReader[T]) get(key string) (runtime.Object, error) {
	o, err := n.lister.Get(key)
	if errors.Is(err, kinform.ErrNotFound) {
		return nil, nil
	}
	return o, err
}

func (n nativeReader[T]) keys() []string {
	return slices.Collect(n.lister.Keys(labels.Everything()))
}
