package kinform_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

// soon is what a test waits for anything. No healthy one comes near it.
const soon = 30 * time.Second

// quick is a backoff that tests can wait for.
var quick = kinform.Backoff{First: 5 * time.Millisecond, Most: 20 * time.Millisecond}

func startSim(t testing.TB, o apisim.Options) *apisim.Server {
	t.Helper()
	s, err := apisim.Start(o)
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

// restart restarts a server and releases the connections that it cut: a request
// that must not be sent twice would fail on one.
func restart(s *apisim.Server) {
	s.Restart()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls a condition that nothing tells of.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(soon); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s", soon, what)
		}
	}
}

// runner is an informer of any type.
type runner interface{ Run(context.Context) error }

// running runs an informer until the test ends, and returns what Run returns.
func running(t testing.TB, inf runner) (ended <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done, ret := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(done)
		ret <- inf.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return ret
}

func newInformer[T any](t testing.TB, cfg *rest.Config, o kinform.Options) *kinform.Informer[T] {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Backoff == (kinform.Backoff{}) {
		o.Backoff = quick
	}
	inf, err := kinform.New[T](cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	return inf
}

// journal takes log lines as text.
type journal struct {
	mu  sync.Mutex
	all []string
}

func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// Write takes a line.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

func (j *journal) lines() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.all)
}

// count is how many lines contain a text.
func (j *journal) count(text string) (n int) {
	for _, l := range j.lines() {
		if strings.Contains(l, text) {
			n++
		}
	}
	return n
}

var gadgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func object(apiVersion, kind, name string, more map[string]any) *unstructured.Unstructured {
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}}
	for k, v := range more {
		o[k] = v
	}
	return &unstructured.Unstructured{Object: o}
}

func gadgetDefinition() *unstructured.Unstructured {
	return object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "gadgets.example.com", map[string]any{"spec": map[string]any{
		"group": "example.com", "scope": "Namespaced",
		"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
		"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
			"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
	}})
}

func client(t testing.TB, s *apisim.Server) dynamic.Interface {
	t.Helper()
	cfg := s.Config()
	cfg.QPS = -1
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t testing.TB, c dynamic.Interface, r schema.GroupVersionResource, namespace string, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	var to dynamic.ResourceInterface = c.Resource(r)
	if namespace != "" {
		to = c.Resource(r).Namespace(namespace)
	}
	made, err := to.Create(within(t), o, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

var core = func(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

func configMap(name, value string) *unstructured.Unstructured {
	return object("v1", "ConfigMap", name, map[string]any{"data": map[string]any{"v": value}})
}

func wantReceived(t testing.TB, c <-chan string, want string) {
	t.Helper()
	select {
	case got := <-c:
		if got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	case <-time.After(soon):
		t.Fatalf("not told %q", want)
	}
}

func told[T any](ev kinform.Event[T]) string { return fmt.Sprint(ev.Type, " ", ev.Key) }
