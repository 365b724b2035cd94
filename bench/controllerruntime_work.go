//go:build controllerruntime

package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlruntime "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/ctrlcache"
	"github.com/kinform/kinform/internal/packed"
)

// The work of the rows of controller-runtime, in a program of its own: with it the
// others would weigh eight megabytes more from the start.

func init() {
	works["controller-sync"] = syncController
	works["controller-reads"] = readController
}

// controllerCache returns the cache of a side, not started.
func controllerCache(t task) (ctrlruntime.Cache, error) {
	ctrllog.SetLogger(logr.Discard())
	switch t.Side {
	case kinformController:
		return ctrlcache.New(t.Server.config(), ctrlruntime.Options{})
	case controllerHook:
		return ctrlruntime.New(t.Server.config(), ctrlruntime.Options{NewInformer: cache.NewSharedIndexInformer})
	}
	return ctrlruntime.New(t.Server.config(), ctrlruntime.Options{})
}

// controllerForms are the objects that a cache is asked for: typed, or in all forms.
func controllerForms(t task) []client.Object {
	forms := []client.Object{&corev1.Pod{}}
	if t.Kind == "three" {
		meta, loose := &metav1.PartialObjectMetadata{}, &unstructured.Unstructured{}
		meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		loose.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		forms = append(forms, meta, loose)
	}
	return forms
}

// syncController syncs a cache that is read in one form, or in three, with a handler of
// each, as a controller has it: it takes the object's key.
func syncController(ctx context.Context, t task) (metrics, error) {
	return measureSync(t, func() (synced, error) {
		c, err := controllerCache(t)
		if err != nil {
			return synced{}, err
		}
		var seen atomic.Int64
		var handlers []toolscache.InformerSynced
		forms := controllerForms(t)
		for _, obj := range forms {
			i, err := c.GetInformer(ctx, obj)
			if err != nil {
				return synced{}, err
			}
			r, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				seen.Add(1)
				sink.Add(int64(len(obj.(client.Object).GetName())))
			}})
			if err != nil {
				return synced{}, err
			}
			handlers = append(handlers, r.HasSynced)
		}
		go func() { _ = c.Start(context.WithoutCancel(ctx)) }()
		if !toolscache.WaitForCacheSync(ctx.Done(), handlers...) {
			return synced{}, context.Cause(ctx)
		}
		return synced{seen: int(seen.Load()) / len(forms), keep: c, outside: float64(packed.InUse().Live)}, nil
	})
}

// readController measures Get and List of a cache, as reconcilers use them.
func readController(ctx context.Context, t task) (metrics, error) {
	c, err := controllerCache(t)
	if err != nil {
		return nil, err
	}
	node := func(obj client.Object) []string { return []string{obj.(*corev1.Pod).Spec.NodeName} }
	if err := c.IndexField(ctx, &corev1.Pod{}, byNode, node); err != nil {
		return nil, err
	}
	go func() { _ = c.Start(context.WithoutCancel(ctx)) }()
	if !c.WaitForCacheSync(ctx) {
		return nil, context.Cause(ctx)
	}
	waitQuiet()
	list := func(o ...client.ListOption) ([]corev1.Pod, error) {
		var pods corev1.PodList
		err := c.List(ctx, &pods, o...)
		return pods.Items, err
	}
	m := metrics{}
	for _, name := range []string{"first list", "second list", "list"} {
		settle()
		m[name], err = timed(1, func(int) error {
			pods, err := list()
			if err == nil && len(pods) != t.Objects {
				err = fmt.Errorf("listed %d of %d objects", len(pods), t.Objects)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	pods, err := list()
	if err != nil {
		return nil, err
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	var keys []client.ObjectKey
	var nodes []string
	for _, p := range pods[:min(len(pods), 20_000)] {
		keys, nodes = append(keys, client.ObjectKeyFromObject(&p)), append(nodes, p.Spec.NodeName)
	}
	pods = nil
	settle()
	return m, measureCalls(m, map[string]func(i int) error{
		"get":       func(i int) error { return c.Get(ctx, keys[i%len(keys)], &corev1.Pod{}) },
		"get hot":   func(int) error { return c.Get(ctx, keys[0], &corev1.Pod{}) },
		"by index":  func(i int) error { _, err := list(client.MatchingFields{byNode: nodes[i%200]}); return err },
		"namespace": func(i int) error { _, err := list(client.InNamespace(keys[i%200].Namespace)); return err },
	}, map[string]int{"get": 100_000, "get hot": 100_000, "by index": 200, "namespace": 50})
}

// measureCalls times calls, each as often as it says, and counts what they allocate.
func measureCalls(m metrics, calls map[string]func(i int) error, times map[string]int) error {
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		before := mallocs()
		took, err := timed(times[name], calls[name])
		if err != nil {
			return err
		}
		m[name], m[name+" mallocs"] = took, (mallocs()-before)/float64(times[name])
	}
	return nil
}
