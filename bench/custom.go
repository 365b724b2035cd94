package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/objects"
)

// syncCustom syncs informers of custom resources: one that reads Go structs, one
// that reads unstructured objects, or both in one process.
func syncCustom(ctx context.Context, t task) (metrics, error) {
	return measureSync(t, func() (synced, error) {
		if t.Side == kinformTyped {
			return customByKinform(ctx, t)
		}
		return customByClientGo(ctx, t)
	})
}

func readDatabase(d *Database) int { return len(d.Status.Phase) }

func readUnstructured(u *unstructured.Unstructured) int {
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	return len(phase)
}

func customByKinform(ctx context.Context, t task) (synced, error) {
	o := kinform.Options{Resource: objects.CustomResource}
	switch t.Kind {
	case "typed":
		return syncTyped(ctx, t, o, readDatabase)
	case "unstructured":
		return syncTyped(ctx, t, o, readUnstructured)
	}
	typed, err := kinform.New[*Database](t.Server.config(), o)
	if err != nil {
		return synced{}, err
	}
	loose, err := kinform.View[*unstructured.Unstructured](typed)
	if err != nil {
		return synced{}, err
	}
	s := synced{keep: typed}
	second := 0
	subs := []*kinform.Subscription{subscribe(typed, t, &s.seen, readDatabase), subscribe(loose, t, &second, readUnstructured)}
	go func() { _ = typed.Run(context.WithoutCancel(ctx)) }()
	for _, sub := range subs {
		if err := sub.WaitSynced(ctx); err != nil {
			return s, err
		}
	}
	if second != s.seen {
		return s, fmt.Errorf("one handler saw %d objects, the other %d", s.seen, second)
	}
	s.outside = float64(typed.Status().Packed)
	return s, nil
}

func customByClientGo(ctx context.Context, t task) (synced, error) {
	var first, second cache.SharedIndexInformer
	var err error
	if t.Kind != "unstructured" {
		if first, err = typedInformer(t.Server.config()); err != nil {
			return synced{}, err
		}
	}
	if t.Kind != "typed" {
		client, err := dynamic.NewForConfig(t.Server.config())
		if err != nil {
			return synced{}, err
		}
		second = dynamicinformer.NewDynamicSharedInformerFactory(client, 0).ForResource(objects.CustomResource).Informer()
	}
	return syncShareds(ctx, first, second)
}

// syncShareds syncs two informers at once, or the one that is not nil.
func syncShareds(ctx context.Context, typed, loose cache.SharedIndexInformer) (synced, error) {
	read := func(obj any) int {
		if d, ok := obj.(*Database); ok {
			return readDatabase(d)
		}
		return readUnstructured(obj.(*unstructured.Unstructured))
	}
	if typed == nil {
		return syncShared(ctx, loose, read)
	}
	if loose == nil {
		return syncShared(ctx, typed, read)
	}
	type result struct {
		synced
		error
	}
	other := make(chan result)
	go func() {
		s, err := syncShared(ctx, loose, read)
		other <- result{s, err}
	}()
	s, err := syncShared(ctx, typed, read)
	o := <-other
	switch {
	case err != nil:
		return s, err
	case o.error != nil:
		return s, o.error
	case o.seen != s.seen:
		return s, fmt.Errorf("one handler saw %d objects, the other %d", s.seen, o.seen)
	}
	s.keep = []any{s.keep, o.keep}
	return s, nil
}

// typedInformer is what the code generators make for a custom resource: a typed
// client on a scheme of its own, and an informer on that.
func typedInformer(config *rest.Config) (cache.SharedIndexInformer, error) {
	scheme, codecs := customScheme()
	gv := objects.CustomResource.GroupVersion()
	config.GroupVersion, config.APIPath = &gv, "/apis"
	config.NegotiatedSerializer = rest.CodecFactoryForGeneratedClient(scheme, codecs).WithoutConversion()
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	databases := gentype.NewClientWithList(objects.CustomResource.Resource, client, runtime.NewParameterCodec(scheme), "",
		func() *Database { return &Database{} }, func() *DatabaseList { return &DatabaseList{} })
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return databases.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return databases.Watch(ctx, o)
		},
	}
	return cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, client), &Database{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}), nil
}
