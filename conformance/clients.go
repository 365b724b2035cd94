package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// What all of the above is for: the informers that people use today keep equal
// to the server.

var clientCases = []Case{
	{Name: "clients/an informer of client-go follows the server, in protobuf", run: informerProtobuf},
	{Name: "clients/an informer of client-go follows the server, in JSON", run: informerJSON},
	{Name: "clients/a metadata informer of client-go follows the server", run: informerMetadata},
	{Name: "clients/a dynamic informer of client-go follows custom resources", run: informerDynamic},
}

// log is what an informer's handler seen.
type log struct {
	mu    sync.Mutex
	lines []string
	more  chan struct{} // has room for every line
}

func (l *log) add(kind string, object any) {
	o, err := meta.Accessor(object)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.lines = append(l.lines, kind+" "+o.GetName())
	l.mu.Unlock()
	l.more <- struct{}{}
}

// follow starts an informer and checks that it gets what then happens.
func (e *env) follow(informer cache.SharedIndexInformer, write func()) {
	e.Helper()
	seen := &log{more: make(chan struct{}, 1000)}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { seen.add("added", o) },
		UpdateFunc: func(_, o any) { seen.add("updated", o) },
		DeleteFunc: func(o any) { seen.add("deleted", o) },
	})
	must(e, err, "adding a handler")
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { informer.Run(stop) })
	e.Cleanup(func() {
		close(stop)
		running.Wait()
	})
	seen.await(e, 1) // what was there
	if !cache.WaitForCacheSync(e.ctx.Done(), registration.HasSynced) {
		e.Fatal("the informer did not sync")
	}
	write()
	seen.await(e, 3)
	want := []string{"added a", "added b", "updated a", "deleted b"}
	if fmt.Sprint(seen.lines) != fmt.Sprint(want) {
		e.Errorf("the handler seen %s, want %s", strings.Join(seen.lines, ", "), strings.Join(want, ", "))
	}
	if keys := informer.GetStore().ListKeys(); fmt.Sprint(keys) != fmt.Sprint([]string{e.ns + "/a"}) {
		e.Errorf("the store holds %v, want a", keys)
	}
}

// await returns when n further lines were seen.
func (l *log) await(e *env, n int) {
	e.Helper()
	for range n {
		select {
		case <-l.more:
		case <-e.ctx.Done():
			e.Fatalf("the handler seen only %v", l.lines)
		}
	}
}

// writeMaps is what the informers of ConfigMaps have to follow.
func (e *env) writeMaps() {
	e.Helper()
	e.create("b", nil)
	e.set("a", "k", "1")
	e.remove("b")
}

func informerProtobuf(e *env) { e.followMaps(asProtobuf) }

func informerJSON(e *env) { e.followMaps(asJSON) }

func (e *env) followMaps(form string) {
	e.Helper()
	cfg := rest.CopyConfig(e.config)
	cfg.ContentType = form
	cfg.AcceptContentTypes = form
	client, err := kubernetes.NewForConfig(cfg)
	must(e, err, "making a client")
	e.create("a", nil)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(e.ns))
	informer := factory.Core().V1().ConfigMaps().Informer()
	e.follow(informer, e.writeMaps)
	stored, found, err := informer.GetStore().GetByKey(e.ns + "/a")
	if err != nil || !found || stored.(*corev1.ConfigMap).Data["k"] != "1" {
		e.Errorf("the store holds %v (%v), want k=1", stored, err)
	}
}

func informerMetadata(e *env) {
	client, err := metadata.NewForConfig(e.config)
	must(e, err, "making a metadata client")
	e.create("a", nil)
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	informer := metadatainformer.NewFilteredMetadataInformer(client, maps, e.ns, 0, cache.Indexers{}, nil).Informer()
	e.follow(informer, e.writeMaps)
	stored, _, _ := informer.GetStore().GetByKey(e.ns + "/a")
	if partial, is := stored.(*metav1.PartialObjectMetadata); !is || partial.UID == "" {
		e.Errorf("the store holds %v", stored)
	}
}

func informerDynamic(e *env) {
	client, err := dynamic.NewForConfig(e.config)
	must(e, err, "making a dynamic client")
	g := e.define()
	g.create("a", "red")
	resource := schema.GroupVersionResource{Group: g.group, Version: "v1", Resource: "gadgets"}
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, e.ns, 0, cache.Indexers{}, nil).Informer()
	e.follow(informer, func() {
		g.create("b", "red")
		g.paint("a", "blue")
		e.want(e.delete(g.one("b"), ""), http.StatusOK)
	})
}
