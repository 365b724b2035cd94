package workloads

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientgodynamic "k8s.io/client-go/dynamic/dynamicinformer"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
)

// shared makes shared informers: client-go's, or kinform's in their place.
type shared struct {
	dropIn  bool
	typed   kubernetes.Interface
	dynamic dynamic.Interface
}

func newShared(cfg *rest.Config, dropIn bool) (*shared, error) {
	s := &shared{dropIn: dropIn}
	proto := rest.CopyConfig(cfg)
	proto.ContentType = runtime.ContentTypeProtobuf
	var err, err2 error
	s.typed, err = kubernetes.NewForConfig(proto)
	s.dynamic, err2 = dynamic.NewForConfig(cfg)
	return s, errors.Join(err, err2)
}

// informer returns a new informer of a resource, of a factory of its own.
func (s *shared) informer(r schema.GroupVersionResource) (cache.SharedIndexInformer, error) {
	switch {
	case r == databases && s.dropIn:
		return dynamicinformer.NewDynamicSharedInformerFactory(s.dynamic, 0).ForResource(r).Informer(), nil
	case r == databases:
		return clientgodynamic.NewDynamicSharedInformerFactory(s.dynamic, 0).ForResource(r).Informer(), nil
	}
	var generic clientgo.GenericInformer
	var err error
	if s.dropIn {
		generic, err = informers.NewSharedInformerFactory(s.typed, 0).ForResource(r)
	} else {
		generic, err = clientgo.NewSharedInformerFactory(s.typed, 0).ForResource(r)
	}
	if err != nil {
		return nil, err
	}
	return generic.Informer(), nil
}

func (s *shared) watch(ctx context.Context, r schema.GroupVersionResource, handlers []handler) (reader, error) {
	inf, err := s.informer(r)
	if err != nil {
		return nil, err
	}
	for _, h := range handlers {
		if _, err := inf.AddEventHandler(sharedHandler(h)); err != nil {
			return nil, err
		}
	}
	go inf.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
		return nil, fmt.Errorf("%s has not synced: %w", r.Resource, context.Cause(ctx))
	}
	return sharedReader{inf}, nil
}

func sharedHandler(h handler) cache.ResourceEventHandlerFuncs {
	call := func(before, after any) {
		if gone, ok := after.(cache.DeletedFinalStateUnknown); ok {
			after = gone.Obj
		}
		key, err := cache.MetaNamespaceKeyFunc(after)
		if err != nil {
			return
		}
		m := after.(metav1.Object)
		h.called(key, m.GetResourceVersion(), func() int {
			n := weigh(after.(runtime.Object))
			if before != nil {
				n += weigh(before.(runtime.Object))
			}
			return n
		})
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { call(nil, o) },
		UpdateFunc: func(before, after any) { call(before, after) },
		DeleteFunc: func(o any) { call(nil, o) },
	}
}

func (s *shared) visit(ctx context.Context, r schema.GroupVersionResource, index string) (stop func(), err error) {
	inf, err := s.informer(r)
	if err != nil {
		return nil, err
	}
	err = inf.AddIndexers(cache.Indexers{index: func(o any) ([]string, error) {
		m, err := meta.Accessor(o)
		if err != nil {
			return nil, err
		}
		return []string{m.GetName()[:1]}, nil
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { defer close(done); inf.RunWithContext(ctx) }()
	stop = func() { cancel(); <-done }
	if !cache.WaitForCacheSync(ctx.Done(), inf.HasSynced) {
		stop()
		return nil, fmt.Errorf("%s has not synced: %w", r.Resource, context.Cause(ctx))
	}
	return stop, nil
}

type sharedReader struct{ inf cache.SharedIndexInformer }

func (s sharedReader) each(f func(metav1.Object)) {
	for _, o := range s.inf.GetStore().List() {
		f(o.(metav1.Object))
	}
}

func (s sharedReader) get(key string) (runtime.Object, error) {
	o, found, err := s.inf.GetStore().GetByKey(key)
	if !found || err != nil {
		return nil, err
	}
	return o.(runtime.Object), nil
}

func (s sharedReader) keys() []string { return s.inf.GetStore().ListKeys() }
