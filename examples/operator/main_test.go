package main

import (
	"context"
	_ "embed"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apiserver.Main(m))
}

//go:embed crd.yaml
var definition []byte

func TestOnTheEmbeddedServer(t *testing.T) {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	tell(t, server.Config())
}

func TestOnTheRealServer(t *testing.T) { tell(t, apiserver.Shared(t).Config()) }

// tell tells the operator's story: a site is published and changes; one that comes
// later waits for its host, and gets it when the first is gone; a page that somebody
// deletes comes back.
func tell(t *testing.T, cfg *rest.Config) {
	s := begin(t, cfg)
	first, second := s.site("first", "red"), s.site("second", "blue")
	s.create(first)
	s.page("first", "red")
	s.state("first", published)

	s.create(second)
	s.state("second", taken)
	s.delete(page(first))
	s.page("first", "red")

	s.delete(first)
	s.page("second", "blue")
	s.state("second", published)
}

// site returns a site; all of a story want the same host.
func (s *story) site(name, text string) *Site {
	return &Site{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       SiteSpec{Host: s.namespace + ".example.org", Text: text},
	}
}

// story is a server with the operator at work, and a namespace in it.
type story struct {
	*testing.T
	ctx       context.Context
	client    client.WithWatch
	namespace string
}

func begin(t *testing.T, cfg *rest.Config) *story {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	skip := true
	o := ctrl.Options{
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},

		MapperProvider: resources,
	}
	m, err := newManager(cfg, o) // for its scheme
	if err != nil {
		t.Fatal(err)
	}
	direct, err := client.NewWithWatch(cfg, client.Options{Scheme: m.GetScheme(), Mapper: m.GetRESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	s := &story{T: t, ctx: ctx, client: direct}
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "sites-"}}
	s.create(own)
	s.namespace = own.Name
	s.define(cfg)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- run(running, cfg, o) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("it ended with %v, want a good end", err)
		}
	})
	return s
}

// define makes the server know sites, and waits until it serves them: an informer keeps
// asking.
func (s *story) define(cfg *rest.Config) {
	s.Helper()
	crd := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(definition, &crd.Object); err != nil {
		s.Fatal(err)
	}
	if err := s.client.Create(s.ctx, crd); client.IgnoreAlreadyExists(err) != nil {
		s.Fatal(err)
	}
	served, err := kinform.New[*unstructured.Unstructured](cfg, kinform.Options{Resource: sites.GroupVersion.WithResource("sites")})
	if err != nil {
		s.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() { ended <- served.Run(ctx) }()
	defer func() { stop(); <-ended }()
	if err := served.WaitSynced(ctx); err != nil {
		s.Fatal(err)
	}
}

// resources knows without asking what is a resource: what a server says of that is a
// few seconds behind what it serves.
func resources(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	m := meta.NewDefaultRESTMapper(nil)
	m.Add(sites.GroupVersion.WithKind("Site"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	m.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	m.Add(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, meta.RESTScopeRoot)
	return m, nil
}

func (s *story) create(obj client.Object) {
	s.Helper()
	if err := s.client.Create(s.ctx, obj); err != nil {
		s.Fatal(err)
	}
}

func (s *story) delete(obj client.Object) {
	s.Helper()
	if err := s.client.Delete(s.ctx, obj); err != nil {
		s.Fatal(err)
	}
}

func (s *story) page(of, text string) {
	s.Helper()
	s.await(&corev1.ConfigMapList{}, "a page of "+of, func(obj client.Object) bool {
		cm, ok := obj.(*corev1.ConfigMap)
		return ok && cm.Namespace == s.namespace && cm.Name == of+"-page" && strings.Contains(cm.Data["index.html"], text)
	})
}

func (s *story) state(of, want string) {
	s.Helper()
	s.await(&SiteList{}, of+" is "+want, func(obj client.Object) bool {
		site, ok := obj.(*Site)
		return ok && site.Namespace == s.namespace && site.Name == of && site.Status.State == want
	})
}

// await waits until the server has an object.
func (s *story) await(list client.ObjectList, what string, found func(client.Object) bool) {
	s.Helper()
	w, err := s.client.Watch(s.ctx, list)
	if err != nil {
		s.Fatal(err)
	}
	defer w.Stop()
	for {
		select {
		case ev, ok := <-w.ResultChan():
			if !ok {
				s.Fatalf("%s: the watch ended", what)
			}
			if obj, is := ev.Object.(client.Object); is && ev.Type != watch.Deleted && found(obj) {
				return
			}
		case <-s.ctx.Done():
			s.Fatalf("%s: %v", what, s.ctx.Err())
		}
	}
}
