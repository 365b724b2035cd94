package cache_test

import (
	"context"
	"errors"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/metadatainformer"
)

// TestWatchErrorHandlersNameReflector is written as programs on client-go are,
// with only the import path changed: that it compiles is half of the test.
func TestWatchErrorHandlersNameReflector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := &cache.ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) { return nil, errors.New("broken") },
		}
		heard := make(chan string, 16)
		informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{})
		must(t, informer.SetWatchErrorHandler(func(r *cache.Reflector, err error) { heard <- r.TypeDescription() }))
		withContext := cache.NewSharedIndexInformer(lw, &corev1.Node{}, 0, cache.Indexers{})
		must(t, withContext.SetWatchErrorHandlerWithContext(func(_ context.Context, r *cache.Reflector, err error) {
			heard <- r.TypeDescription()
		}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		go informer.RunWithContext(ctx)
		if got := <-heard; got != "*v1.Pod" {
			t.Errorf("heard of %s", got)
		}
		go withContext.RunWithContext(ctx)
		for got := range heard {
			if got == "*v1.Node" {
				break
			}
		}
		cancel()
		synctest.Wait()
	})
}

// TestReflectorsAreNamedByTheirCaller: whatever makes an informer, its reflector has the
// name of the line of the program that asked for it, and its type as client-go has it.
func TestReflectorsAreNamedByTheirCaller(t *testing.T) {
	broken := func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("broken") }
	client := fake.NewClientset()
	client.PrependReactor("list", "*", broken)
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	loose := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{deployments: "DeploymentList"})
	loose.PrependReactor("list", "*", broken)
	meta := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	meta.PrependReactor("list", "*", broken)
	lw := &cache.ListWatch{ListFunc: func(metav1.ListOptions) (runtime.Object, error) { return nil, errors.New("broken") }}
	kind := &unstructured.Unstructured{}
	kind.SetAPIVersion("apps/v1")
	kind.SetKind("Deployment")
	for _, tt := range []struct {
		name     string
		informer cache.SharedIndexInformer
		kind     string
	}{
		{"plain", cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{}), "*v1.Pod"},
		{"of a kind", cache.NewSharedIndexInformer(lw, kind, 0, cache.Indexers{}), "apps/v1, Kind=Deployment"},
		{"described", cache.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, cache.SharedIndexInformerOptions{ObjectDescription: "my pods"}), "my pods"},
		{"factory", informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer(), "*v1.Pod"},
		{"dynamic factory", dynamicinformer.NewDynamicSharedInformerFactory(loose, 0).ForResource(deployments).Informer(), deployments.String()},
		{"metadata factory", metadatainformer.NewSharedInformerFactory(meta, 0).ForResource(deployments).Informer(), "*v1.PartialObjectMetadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			heard := make(chan [2]string, 100)
			must(t, tt.informer.SetWatchErrorHandler(func(r *cache.Reflector, _ error) { heard <- [2]string{r.Name(), r.TypeDescription()} }))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				tt.informer.RunWithContext(ctx)
			}()
			got := <-heard
			cancel()
			<-ended
			if want := regexp.MustCompile(`^github.com/kinform/kinform/cache_test/classic_reflector_name_test.go:\d+$`); !want.MatchString(got[0]) {
				t.Errorf("it is called %q", got[0])
			}
			if got[1] != tt.kind {
				t.Errorf("its type is %q, want %q", got[1], tt.kind)
			}
		})
	}
}

// TestStoreReflectorHasMethodsOfReflector: the reflector that NewReflector returns can do
// all that client-go's can.
func TestStoreReflectorHasMethodsOfReflector(t *testing.T) {
	type methods interface {
		Name() string
		TypeDescription() string
		Run(<-chan struct{})
		RunWithContext(context.Context)
		ListAndWatch(<-chan struct{}) error
		ListAndWatchWithContext(context.Context) error
		LastSyncResourceVersion() string
	}
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	var ours *cache.StoreReflector = cache.NewReflector(&cache.ListWatch{}, &corev1.Pod{}, store, 0)
	var _, _ methods = ours, (*clientgo.Reflector)(nil)
	ours.WatchListPageSize, ours.MaxInternalErrorRetryDuration = 7, time.Second
	ours.ShouldResync = func() bool { return true }
}
