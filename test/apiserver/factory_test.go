package apiserver

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	clientgodynamic "k8s.io/client-go/dynamic/dynamicinformer"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	clientgometadata "k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	clientgocache "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/dynamicinformer"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin/dropintest"
	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/metadatainformer"
)

// clients are the three ways to read a server, on one HTTP client.
type clients struct {
	t        *testing.T
	typed    *kubernetes.Clientset
	dynamic  *dynamic.DynamicClient
	metadata metadata.Interface
}

func newClients(t *testing.T, config *rest.Config) *clients {
	t.Helper()
	h := dropintest.HTTP(t, config)
	typed, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := dynamic.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := metadata.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	return &clients{t, typed, untyped, meta}
}

// watchable returns the resources that the server lets be listed and watched.
// Leases are left out: the server renews its own whenever it likes.
func (c *clients) watchable() []schema.GroupVersionResource {
	c.t.Helper()
	_, lists, err := c.typed.Discovery().ServerGroupsAndResources()
	if err != nil {
		c.t.Fatal(err)
	}
	var all []schema.GroupVersionResource
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, r := range l.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") && r.Name != "leases" {
				all = append(all, gv.WithResource(r.Name))
			}
		}
	}
	return all
}

// state is the version of each object that a server has, by key.
type state map[string]uint64

func (c *clients) state(r schema.GroupVersionResource) state {
	c.t.Helper()
	list, err := c.metadata.Resource(r).List(c.t.Context(), metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	s := state{}
	for _, o := range list.Items {
		s[clientgocache.MetaObjectToName(&o).String()] = version(&o)
	}
	return s
}

func version(o metav1.Object) uint64 {
	n, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	return n
}

// reached reports whether a store has all of a state, or newer.
func (s state) reached(i clientgocache.Indexer) bool {
	for key, v := range s {
		obj, ok, _ := i.GetByKey(key)
		if !ok || version(obj.(metav1.Object)) < v {
			return false
		}
	}
	return len(i.ListKeys()) == len(s)
}

// created are the objects of one resource that a test makes and changes.
type created struct {
	resource schema.GroupVersionResource
	objects  []runtime.Object
}

func collect[T runtime.Object](resource schema.GroupVersionResource, all iter.Seq[T]) created {
	c := created{resource: resource}
	for o := range all {
		c.objects = append(c.objects, o)
	}
	return c
}

func varied(from, n int) []created {
	g := objects.New(objects.Options{Seed: int64(from) + 1, Workloads: 20})
	core := corev1.SchemeGroupVersion
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	return []created{
		collect(core.WithResource("configmaps"), g.ConfigMaps(n)),
		collect(core.WithResource("secrets"), g.Secrets(n)),
		collect(core.WithResource("pods"), g.Pods(n)),
		collect(core.WithResource("nodes"), g.Nodes(n)),
		collect(apps.WithResource("deployments"), g.Deployments(n)),
		collect(apps.WithResource("statefulsets"), g.StatefulSets(n)),
		collect(objects.CustomResource, g.CustomResources(n)),
	}
}

// define has the server serve the custom resource.
func (c *clients) define() {
	c.t.Helper()
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_, err := c.dynamic.Resource(crds).Create(c.t.Context(), objects.CustomResourceDefinition(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatal(err)
	}
	// Its watch tells when it is served.
	w, err := c.dynamic.Resource(crds).Watch(c.t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=databases.data.example.com"})
	if err != nil {
		c.t.Fatal(err)
	}
	defer w.Stop()
	for ev := range w.ResultChan() {
		conditions, _, _ := unstructured.NestedSlice(ev.Object.(*unstructured.Unstructured).Object, "status", "conditions")
		for _, condition := range conditions {
			if m := condition.(map[string]any); m["type"] == "Established" && m["status"] == "True" {
				return
			}
		}
	}
}

// create makes objects in a namespace of the test's own.
func (c *clients) create(namespace string, all []created) {
	c.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := c.typed.CoreV1().Namespaces().Create(c.t.Context(), ns, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		c.t.Fatal(err)
	}
	for _, made := range all {
		for i, o := range made.objects {
			u := c.unstructured(o)
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "ownerReferences", "generation"} {
				unstructured.RemoveNestedField(u.Object, "metadata", field)
			}
			u.SetFinalizers(nil)
			if u.GetNamespace() != "" {
				u.SetNamespace(namespace)
			}
			u.SetName(fmt.Sprintf("%s-%d", namespace, i))
			if _, err := c.dynamic.Resource(made.resource).Namespace(u.GetNamespace()).Create(c.t.Context(), u, metav1.CreateOptions{}); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

func (c *clients) unstructured(o runtime.Object) *unstructured.Unstructured {
	c.t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.DeepCopyObject())
	if err != nil {
		c.t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	if u.GetKind() == "" {
		known, _, err := scheme.Scheme.ObjectKinds(o)
		if err != nil {
			c.t.Fatal(err)
		}
		u.SetGroupVersionKind(known[0])
	}
	return u
}

// change labels every object that create has made, and deletes the first of each
// resource.
func (c *clients) change(namespace string, all []created) {
	c.t.Helper()
	now := int64(0)
	for _, made := range all {
		in := namespace
		if made.resource.Resource == "nodes" {
			in = ""
		}
		client := c.dynamic.Resource(made.resource).Namespace(in)
		for i := range made.objects {
			name := fmt.Sprintf("%s-%d", namespace, i)
			_, err := client.Patch(c.t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"yes"}}}`), metav1.PatchOptions{})
			if err == nil && i == 0 {
				err = client.Delete(c.t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now})
			}
			if err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// resourceFactory is what all six factories of the tests can do.
type resourceFactory struct {
	start func(context.Context)
	wait  func(context.Context) int // how many have synced
	stop  func()
	get   func(schema.GroupVersionResource) cache.SharedIndexInformer // nil: has no such
}

func typedFactory(f clientgo.SharedInformerFactory) resourceFactory {
	return resourceFactory{
		start: f.StartWithContext, stop: f.Shutdown,
		wait: func(ctx context.Context) int { return countTrue(f.WaitForCacheSyncWithContext(ctx).Synced) },
		get: func(r schema.GroupVersionResource) cache.SharedIndexInformer {
			g, err := f.ForResource(r)
			if err != nil {
				return nil
			}
			return g.Informer()
		},
	}
}

func untypedFactory(f dropintest.Factory) resourceFactory {
	return resourceFactory{
		start: func(ctx context.Context) { f.Start(ctx.Done()) }, stop: f.Shutdown,
		wait: func(ctx context.Context) int { return countTrue(f.WaitForCacheSync(ctx.Done())) },
		get:  func(r schema.GroupVersionResource) cache.SharedIndexInformer { return f.ForResource(r).Informer() },
	}
}

func countTrue[K comparable](m map[K]bool) int {
	n := 0
	for _, ok := range m {
		if ok {
			n++
		}
	}
	return n
}

// TestFactoriesEqualClientGo: on a real server, of every resource that it has,
// typed, dynamic and metadata informers have what client-go's have, field by
// field, after lists and after watches. Client-go's typed informers read protobuf
// or JSON, as they are told; kinform's have what protobuf gives, even where the
// server sends JSON.
func TestFactoriesEqualClientGo(t *testing.T) {
	server := ownServer(t)
	c := newClients(t, server.Config())
	c.define()
	c.create("listed", varied(0, 4))
	asJSON := server.Config()
	asJSON.ContentType = "application/json"
	toldJSON := newClients(t, asJSON)
	onlyJSON := server.Config()
	onlyJSON.Wrap(func(next http.RoundTripper) http.RoundTripper { return jsonOnly{next} })
	givenJSON := newClients(t, onlyJSON)
	for name, pair := range map[string][2]resourceFactory{
		"typed, protobuf":   {typedFactory(clientgo.NewSharedInformerFactory(c.typed, 0)), typedFactory(informers.NewSharedInformerFactory(c.typed, 0))},
		"typed, told JSON":  {typedFactory(clientgo.NewSharedInformerFactory(toldJSON.typed, 0)), typedFactory(informers.NewSharedInformerFactory(toldJSON.typed, 0))},
		"typed, given JSON": {typedFactory(clientgo.NewSharedInformerFactory(c.typed, 0)), typedFactory(informers.NewSharedInformerFactory(givenJSON.typed, 0))},
		"dynamic":           {untypedFactory(clientgodynamic.NewDynamicSharedInformerFactory(c.dynamic, 0)), untypedFactory(dynamicinformer.NewDynamicSharedInformerFactory(c.dynamic, 0))},
		"metadata":          {untypedFactory(clientgometadata.NewSharedInformerFactory(c.metadata, 0)), untypedFactory(metadatainformer.NewSharedInformerFactory(c.metadata, 0))},
	} {
		t.Run(name, func(t *testing.T) {
			c := *c
			c.t = t
			var but []cmp.Option
			if name == "typed, told JSON" {
				but = append(but, nestedKinds)
			}
			c.sideBySide(strings.ToLower(strings.NewReplacer(",", "", " ", "-").Replace(name)), pair[0], pair[1], but...)
		})
	}
}

// jsonOnly is a way to a server that has nothing else.
type jsonOnly struct{ http.RoundTripper }

func (j jsonOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Accept", "application/json")
	return j.RoundTripper.RoundTrip(r)
}

// nestedKinds leaves out what JSON says and protobuf does not: the kinds of objects
// inside objects, which volume claim templates are.
var nestedKinds = cmp.FilterPath(func(p cmp.Path) bool {
	return strings.Contains(p.GoString(), ".VolumeClaimTemplates") && strings.HasSuffix(p.GoString(), ".TypeMeta")
}, cmp.Ignore())

func (c *clients) sideBySide(namespace string, theirs, ours resourceFactory, but ...cmp.Option) {
	t := c.t
	t.Helper()
	all := slices.DeleteFunc(c.watchable(), func(r schema.GroupVersionResource) bool { return theirs.get(r) == nil })
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	for _, f := range []resourceFactory{theirs, ours} {
		for _, r := range all {
			f.get(r)
		}
		f.start(ctx)
		defer f.stop()
		if got := f.wait(ctx); got != len(all) {
			t.Fatalf("%d of %d informers synced", got, len(all))
		}
	}
	defer cancel()
	watched := varied(100, 4)
	c.create(namespace, watched)
	c.change(namespace, watched)
	for _, r := range all {
		want := c.state(r)
		dropintest.Await(t, theirs.get(r), "client-go's "+r.String(), want.reached)
		dropintest.Await(t, ours.get(r), "kinform's "+r.String(), want.reached)
		dropintest.Compare(t, theirs.get(r).GetIndexer(), ours.get(r).GetIndexer(), but...)
	}
	t.Logf("%d resources", len(all))
}

// TestDozensOfInformers: one factory with all that the server has, started twice,
// asked for more and started again, ends equal to the server; after Shutdown
// nothing of it is left: no goroutine, no connection.
func TestDozensOfInformers(t *testing.T) {
	server := ownServer(t)
	c := newClients(t, server.Config())
	c.define() // and with that c has its connection
	config := server.Config()
	var connections atomic.Int32
	config.Dial = counted(&connections)
	quiet := goleak.IgnoreCurrent()
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, h)
	if err != nil {
		t.Fatal(err)
	}
	dozensOfInformers(t, c, informers.NewSharedInformerFactory(client, 0))
	utilnet.CloseIdleConnectionsFor(h.Transport)
	if err := goleak.Find(quiet); err != nil {
		t.Error(err)
	}
	if n := connections.Load(); n != 0 {
		t.Errorf("%d connections are left", n)
	}
}

func dozensOfInformers(t *testing.T, c *clients, factory informers.SharedInformerFactory) {
	t.Helper()
	f := typedFactory(factory)
	all := slices.DeleteFunc(c.watchable(), func(r schema.GroupVersionResource) bool {
		return typedFactory(clientgo.NewSharedInformerFactory(nil, 0)).get(r) == nil
	})
	if len(all) < 30 {
		t.Fatalf("the server has %d resources", len(all))
	}
	ctx, cancel := context.WithCancel(limited(t))
	early, late := all[:len(all)/2], all[len(all)/2:]
	for _, part := range [][]schema.GroupVersionResource{early, late} {
		for _, r := range part {
			f.get(r)
		}
		f.start(ctx)
		f.start(ctx)
	}
	if got := f.wait(ctx); got != len(all) {
		t.Errorf("%d of %d informers synced", got, len(all))
	}
	c.create("dozens", varied(200, 2)[:6])
	for _, r := range all {
		dropintest.Await(t, f.get(r), r.String(), c.state(r).reached)
	}
	cancel()
	f.stop()
	t.Logf("%d informers", len(all))
}

// counted dials, and counts the connections that are open.
func counted(open *atomic.Int32) func(context.Context, string, string) (net.Conn, error) {
	var d net.Dialer
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := d.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &countedConn{Conn: conn, open: open}, nil
	}
}

type countedConn struct {
	net.Conn
	open   *atomic.Int32
	closed atomic.Bool
}

func (c *countedConn) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// TestControllerManagersWay: controllers ask one factory for what they need, all
// informers are started, and only then controllers run; some ask for more when
// they run, and start the factory again.
func TestControllerManagersWay(t *testing.T) {
	server := ownServer(t)
	c := newClients(t, server.Config())
	factory := informers.NewSharedInformerFactory(c.typed, 0)
	ctx, cancel := context.WithCancel(limited(t))
	informersStarted := make(chan struct{})
	told := map[string]*atomic.Int32{"configmaps": {}, "deployments": {}, "namespaces": {}}
	controller := func(name string, informer cache.SharedIndexInformer) clientgocache.ResourceEventHandlerRegistration {
		handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { told[name].Add(1) }})
		if err != nil {
			t.Error(err)
		}
		return handle
	}
	first := controller("configmaps", factory.Core().V1().ConfigMaps().Informer())
	second := controller("deployments", factory.Apps().V1().Deployments().Informer())
	late := make(chan clientgocache.ResourceEventHandlerRegistration)
	go func() {
		<-informersStarted
		handle := controller("namespaces", factory.Core().V1().Namespaces().Informer())
		factory.Start(ctx.Done())
		late <- handle
	}()
	factory.Start(ctx.Done())
	close(informersStarted)
	if !cache.WaitForCacheSync(ctx.Done(), first.HasSynced, second.HasSynced, (<-late).HasSynced) {
		t.Error("the controllers' handlers did not sync")
	}
	for name, n := range told {
		r := corev1.SchemeGroupVersion.WithResource(name)
		if name == "deployments" {
			r = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: name}
		}
		if want := len(c.state(r)); int(n.Load()) != want {
			t.Errorf("the controller of %s was told of %d objects, the server has %d", name, n.Load(), want)
		}
	}
	synced := slices.Collect(maps.Keys(factory.WaitForCacheSync(ctx.Done())))
	if !slices.Contains(synced, reflect.TypeFor[*corev1.Namespace]()) || len(synced) != 3 {
		t.Errorf("synced: %v", synced)
	}
	cancel()
	factory.Shutdown()
}

// ownServer starts a server for one test: what the test defines and fills would show
// in others that look at everything.
func ownServer(t *testing.T) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real kube-apiserver: left out by -short")
	}
	s, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
