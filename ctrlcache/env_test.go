package ctrlcache_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/ctrlcache"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	klog.SetLogger(funcr.New(func(_, args string) { logged.Store(args, true) }, funcr.Options{}))
	os.Exit(m.Run())
}

// logged has what client-go and the engine log by default.
var logged sync.Map

// env is what a test has: a server whose requests are counted, a client past all
// caches, and caches that end with the test.
type env struct {
	t        *testing.T
	ctx      context.Context
	server   *apisim.Server
	config   *rest.Config
	http     *http.Client
	direct   client.Client
	requests *requests
}

func newEnv(t *testing.T) *env {
	t.Helper()
	before := goleak.IgnoreCurrent() // controller-runtime's own cache may have left some
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	return startEnv(t, apisim.Options{}, time.Minute)
}

// inBubble runs a test in a bubble, in which waiting takes no time.
func inBubble(t *testing.T, test func(e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(startEnv(t, apisim.Options{InMemory: true}, 24*time.Hour)) })
}

// startEnv starts a server and connects to it, for a while.
func startEnv(t *testing.T, o apisim.Options, lasts time.Duration) *env {
	t.Helper()
	e := &env{t: t, requests: newRequests()}
	o.Front = e.requests.front
	var err error
	if e.server, err = apisim.Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.server.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	t.Cleanup(cancel)
	e.ctx, e.config = ctx, e.server.Config()
	if e.http, err = rest.HTTPClientFor(e.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		utilnet.CloseIdleConnectionsFor(e.http.Transport)
		http.DefaultClient.CloseIdleConnections()
	})
	if e.direct, err = client.New(e.config, client.Options{HTTPClient: e.http}); err != nil {
		t.Fatal(err)
	}
	return e
}

// cache returns a cache that is not started.
func (e *env) cache(o cache.Options) cache.Cache {
	e.t.Helper()
	o.HTTPClient = e.http
	c, err := ctrlcache.New(e.config, o)
	if err != nil {
		e.t.Fatal(err)
	}
	return c
}

// start starts a cache; the result stops it, which the end of the test does as well.
func (e *env) start(c cache.Cache) (stop func()) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Start(ctx); err != nil {
			e.t.Errorf("cache: %v", err)
		}
	}()
	stop = func() { cancel(); <-ended }
	e.t.Cleanup(stop)
	if !c.WaitForCacheSync(ctx) {
		e.t.Fatal("the cache did not sync")
	}
	return stop
}

func (e *env) create(objs ...client.Object) {
	e.t.Helper()
	for _, obj := range objs {
		if err := e.direct.Create(e.ctx, obj); err != nil {
			e.t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
		}
	}
}

func (e *env) namespaces(names ...string) {
	e.t.Helper()
	for _, name := range names {
		e.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
}

func (e *env) informer(c cache.Cache, obj client.Object) cache.Informer {
	e.t.Helper()
	i, err := c.GetInformer(e.ctx, obj)
	if err != nil {
		e.t.Fatal(err)
	}
	return i
}

// get reads one object of the namespace "default".
func (e *env) get(r client.Reader, name string, obj client.Object) {
	e.t.Helper()
	if err := r.Get(e.ctx, client.ObjectKey{Namespace: "default", Name: name}, obj); err != nil {
		e.t.Errorf("get %T %s: %v", obj, name, err)
	}
}

// names lists the names of ConfigMaps.
func (e *env) names(r client.Reader, o ...client.ListOption) []string {
	e.t.Helper()
	var list corev1.ConfigMapList
	if err := r.List(e.ctx, &list, o...); err != nil {
		e.t.Errorf("list: %v", err)
	}
	names := []string{}
	for _, item := range list.Items {
		names = append(names, item.Namespace+"/"+item.Name)
	}
	slices.Sort(names)
	return names
}

// await receives from a channel.
func await[T any](e *env, what string, ch <-chan T) (v T) {
	e.t.Helper()
	select {
	case v = <-ch:
	case <-e.ctx.Done():
		e.t.Fatalf("%s: %v", what, e.ctx.Err())
	}
	return v
}

// heard is what a handler was called with, in order.
type heard struct {
	what string // add, update, delete
	obj  client.Object
}

// follow adds a handler that reports its calls.
func (e *env) follow(i cache.Informer) <-chan heard {
	e.t.Helper()
	calls := make(chan heard, 10_000)
	_, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { calls <- heard{"add", obj.(client.Object)} },
		UpdateFunc: func(_, obj any) { calls <- heard{"update", obj.(client.Object)} },
		DeleteFunc: func(obj any) { calls <- heard{"delete", obj.(client.Object)} },
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return calls
}

func configMap(namespace, name, color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"color": color}},
		Data:       map[string]string{"color": color},
	}
}

var configMaps = corev1.SchemeGroupVersion.WithKind("ConfigMap")

func asMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(configMaps)
	return m
}

func asUnstructured() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configMaps)
	return u
}

// requests counts what a server is asked for, by resource.
type requests struct {
	mu             sync.Mutex
	lists, watches map[string]int      // watches are those that are open
	accepts        map[string][]string // of the lists
	changed        chan struct{}
	follower       atomic.Pointer[apisim.Follower] // if not nil, it answers some reads
}

func newRequests() *requests {
	return &requests{lists: map[string]int{}, watches: map[string]int{}, accepts: map[string][]string{}, changed: make(chan struct{})}
}

func (r *requests) front(server http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, h *http.Request) {
		resource := path.Base(h.URL.Path)
		if h.Method == http.MethodGet && h.URL.Query().Get("watch") != "" {
			r.add(r.watches, resource, 1)
			defer r.add(r.watches, resource, -1)
		} else if h.Method == http.MethodGet {
			r.accept(resource, h.Header.Get("Accept"))
			r.add(r.lists, resource, 1)
		}
		if f := r.follower.Load(); f != nil && h.Method == http.MethodGet && rand.IntN(2) == 0 {
			f.ServeHTTP(w, h)
			return
		}
		server.ServeHTTP(w, h)
	})
}

func (r *requests) add(to map[string]int, resource string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	to[resource] += n
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *requests) accept(resource, types string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.accepts[resource] = append(r.accepts[resource], types)
}

// accepted returns in which encodings lists were asked for.
func (r *requests) accepted(resource string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.accepts[resource])
}

// of returns how many lists there were, and how many watches there are.
func (r *requests) of(resource string) (lists, watches int, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lists[resource], r.watches[resource], r.changed
}

// watched waits until so many watches of a resource are open.
func (e *env) watched(resource string, want int) {
	e.t.Helper()
	for {
		_, watches, changed := e.requests.of(resource)
		if watches == want {
			return
		}
		select {
		case <-changed:
		case <-e.ctx.Done():
			e.t.Fatalf("%d watches of %s, want %d", watches, resource, want)
		}
	}
}
