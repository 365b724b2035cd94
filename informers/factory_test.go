package informers_test

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgo "k8s.io/client-go/informers"
	clientgocorev1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	informerscorev1 "github.com/kinform/kinform/informers/core/v1"
	"github.com/kinform/kinform/internal/dropin/dropintest"
)

func configMap(namespace, name, app string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}},
		Data:       map[string]string{"of": name},
	}
}

func create(t *testing.T, client kubernetes.Interface, cms ...*corev1.ConfigMap) {
	t.Helper()
	for _, cm := range cms {
		if _, err := client.CoreV1().ConfigMaps(cm.Namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStory is a factory's life as kube-controller-manager leads it: informers are
// asked for, started, asked for again, asked for late, started again, shut down.
func TestStory(t *testing.T) {
	server := dropintest.Server(t)
	client := connect(t, server.Config())
	create(t, client, configMap("default", "first", "web"))
	factory := informers.NewSharedInformerFactory(client, 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	maps := factory.Core().V1().ConfigMaps()
	if len(factory.WaitForCacheSync(ctx.Done())) != 0 {
		t.Error("something is said to have synced that was not started")
	}
	factory.Start(ctx.Done())
	factory.Start(ctx.Done())
	if len(factory.WaitForCacheSync(ctx.Done())) != 0 {
		t.Error("an accessor that nobody asked for an informer was started")
	}
	informer := maps.Informer()
	factory.Start(ctx.Done())
	factory.Start(ctx.Done())
	if got, want := factory.WaitForCacheSync(ctx.Done()), map[reflect.Type]bool{reflect.TypeFor[*corev1.ConfigMap](): true}; !reflect.DeepEqual(got, want) {
		t.Errorf("synced: %v, want %v", got, want)
	}
	if got, err := maps.Lister().ConfigMaps("default").Get("first"); err != nil || got.Data["of"] != "first" {
		t.Errorf("the lister gives %v, %v", got, err)
	}

	late := factory.Apps().V1().Deployments()
	if late.Informer().HasSynced() || len(factory.WaitForCacheSync(ctx.Done())) != 1 {
		t.Error("a late informer runs before it was started")
	}
	factory.StartWithContext(ctx)
	result := factory.WaitForCacheSyncWithContext(ctx)
	if result.Err != nil || !result.Synced[reflect.TypeFor[*appsv1.Deployment]()] {
		t.Errorf("synced: %v", result)
	}

	cancel()
	factory.Shutdown()
	factory.Shutdown()
	if !informer.IsStopped() {
		t.Error("Shutdown returned before an informer had stopped")
	}
	after := factory.Core().V1().Secrets().Informer()
	factory.StartWithContext(t.Context())
	if _, started := factory.WaitForCacheSync(ctx.Done())[reflect.TypeFor[*corev1.Secret]()]; started || after.IsStopped() {
		t.Error("an informer was started after Shutdown")
	}
}

// TestOneInformerForEachType: whichever way it is asked for.
func TestOneInformerForEachType(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	one := factory.Core().V1().ConfigMaps().Informer()
	generic, err := factory.ForResource(corev1.SchemeGroupVersion.WithResource("configmaps"))
	if err != nil {
		t.Fatal(err)
	}
	asked := factory.InformerFor(&corev1.ConfigMap{}, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		t.Error("an informer was made that was there")
		return nil
	})
	if err := one.GetIndexer().Add(configMap("default", "by-hand", "")); err != nil {
		t.Fatal(err)
	}
	for _, other := range []cache.SharedIndexInformer{generic.Informer(), asked, factory.Core().V1().ConfigMaps().Informer()} {
		if _, ok, _ := other.GetIndexer().GetByKey("default/by-hand"); !ok {
			t.Errorf("%T has another store", other)
		}
	}
	if got, err := generic.Lister().ByNamespace("default").Get("by-hand"); err != nil || got == nil {
		t.Errorf("the generic lister gives %v, %v", got, err)
	}
}

// TestForUnknownResource: the words are client-go's.
func TestForUnknownResource(t *testing.T) {
	unknown := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	_, want := clientgo.NewSharedInformerFactory(nil, 0).ForResource(unknown)
	_, got := informers.NewSharedInformerFactory(nil, 0).ForResource(unknown)
	if got == nil || got.Error() != want.Error() {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestClientThatCannotBeUsed: unit tests everywhere make factories without a
// client, fill the stores and use the listers.
func TestClientThatCannotBeUsed(t *testing.T) {
	for name, client := range map[string]kubernetes.Interface{"nil": nil, "nil pointer": (*kubernetes.Clientset)(nil)} {
		t.Run(name, func(t *testing.T) {
			maps := informers.NewSharedInformerFactory(client, 0).Core().V1().ConfigMaps()
			if err := maps.Informer().GetIndexer().Add(configMap("default", "by-hand", "web")); err != nil {
				t.Fatal(err)
			}
			got, err := maps.Lister().ConfigMaps("default").List(labels.SelectorFromSet(labels.Set{"app": "web"}))
			if err != nil || len(got) != 1 {
				t.Errorf("the lister gives %v, %v", got, err)
			}
		})
	}
}

// TestForeignInformers: whoever's informer newFunc makes is used, with the
// factory's resync and transform, and client-go's and kinform's accessors work on
// each other's factories.
func TestForeignInformers(t *testing.T) {
	client := fake.NewClientset(configMap("default", "first", "web"))
	transform := func(obj any) (any, error) { return obj, nil }
	factory := informers.NewSharedInformerFactoryWithOptions(client, time.Minute, informers.WithTransform(transform))
	foreign := &spy{}
	got := factory.InformerFor(&corev1.Secret{}, func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		if c != client || resync != time.Minute {
			t.Errorf("newFunc was given %v, %v", c, resync)
		}
		foreign.SharedIndexInformer = clientgocorev1.NewSecretInformer(c, "", resync, cache.Indexers{})
		return foreign
	})
	if got != foreign || !foreign.transformed {
		t.Errorf("got %v, with a transform: %v", got, foreign.transformed)
	}
	theirAccessor := clientgocorev1.New(factory, "default", nil).ConfigMaps()
	theirs := clientgo.NewSharedInformerFactory(client, 0)
	ourAccessor := informerscorev1.New(theirs, "default", nil).ConfigMaps()
	for _, informer := range []cache.SharedIndexInformer{theirAccessor.Informer(), ourAccessor.Informer()} {
		defer dropintest.Await(t, informer, "an object", dropintest.Count(1))
	}
	start(t, factory, theirs)
}

// spy is somebody else's informer.
type spy struct {
	cache.SharedIndexInformer
	transformed bool
}

func (s *spy) SetTransform(cache.TransformFunc) error {
	s.transformed = true
	return nil
}

// TestWaitForCacheSyncTellsWhy: a wait that is given up tells which informers have
// not synced, and what ended it.
func TestWaitForCacheSyncTellsWhy(t *testing.T) {
	server := dropintest.Server(t)
	config := server.Config()
	config.Host = server.URL() + "/nothing-here"
	factory := informers.NewSharedInformerFactory(connect(t, config), 0)
	factory.Core().V1().Pods().Informer()
	start(t, factory)
	ctx, cancel := context.WithCancelCause(t.Context())
	patience := errors.New("out of patience")
	cancel(patience)
	result := factory.WaitForCacheSyncWithContext(ctx)
	if synced, known := result.Synced[reflect.TypeFor[*corev1.Pod]()]; synced || !known || !errors.Is(result.Err, patience) {
		t.Errorf("got %v", result)
	}
}

// TestInformerName: the name is the factory's until Shutdown.
func TestInformerName(t *testing.T) {
	name, err := cache.NewInformerName("factory-test")
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(nil, 0, informers.WithInformerName(name))
	factory.Core().V1().Pods().Informer()
	if factory.InformerName() != name {
		t.Error("the factory has another name")
	}
	if name.WithResource(corev1.SchemeGroupVersion.WithResource("pods")).Reserved() {
		t.Error("the informer did not take its place under the name")
	}
	factory.Shutdown()
	again, err := cache.NewInformerName("factory-test")
	if err != nil {
		t.Fatal("the name was not given back:", err)
	}
	again.Release()
}

// TestManyAskAtOnce: one informer is made, whoever is first.
func TestManyAskAtOnce(t *testing.T) {
	factory := informers.NewSharedInformerFactory(nil, 0)
	var made atomic.Int32
	done := make(chan struct{})
	for range 16 {
		go func() {
			factory.InformerFor(&corev1.Pod{}, func(c kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
				made.Add(1)
				return informerscorev1.NewPodInformer(c, "", resync, cache.Indexers{})
			})
			done <- struct{}{}
		}()
	}
	for range 16 {
		<-done
	}
	if made.Load() != 1 {
		t.Errorf("%d informers were made", made.Load())
	}
}
