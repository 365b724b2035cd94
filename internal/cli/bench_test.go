package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kinform/kinform/apisim"
)

// TestBench measures pods, and a custom resource, on a small server that is only read.
func TestBench(t *testing.T) {
	var mu sync.Mutex
	methods := map[string]bool{}
	s := newServerWith(t, apisim.Options{Front: func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			methods[r.Method] = true
			mu.Unlock()
			server.ServeHTTP(w, r)
		})
	}})
	s.createPod(t, "a")
	s.createPod(t, "b")
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "kind": "Widget", "singular": "widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}},
		},
	}}
	client := must(dynamic.NewForConfig(s.Config()))(t)
	must(client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).
		Create(t.Context(), crd, metav1.CreateOptions{}))(t)
	widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"}}}
	must(client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}).Namespace("default").
		Create(t.Context(), widget, metav1.CreateOptions{}))(t)
	mu.Lock()
	clear(methods)
	mu.Unlock()

	code, out, notes := run(t, "bench", "pods,widgets", "--kubeconfig", s.kubeconfig, "--for", "200ms", "-o", "json")
	var r benchResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || notes != "" {
		t.Fatalf("exit code %d, said %q, %v in\n%s", code, notes, err, out)
	}
	for _, side := range []string{clientGoSide, kinformSide} {
		m := r.Sides[side]
		if m.Objects != 3 || m.Sync <= 0 || m.CPU <= 0 || m.Received < 500 || m.Peak < 1<<20 {
			t.Errorf("%s: got %+v", side, m)
		}
	}
	if r.Ratios["synced in"] <= 0 || strings.Join(r.Resources, ", ") != "pods in namespace default, widgets in namespace default" {
		t.Errorf("got %+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(methods) != 1 || !methods[http.MethodGet] {
		t.Errorf("the cluster was not only read: %v", methods)
	}
}

func TestBenchTable(t *testing.T) {
	s := newServer(t)
	s.createPod(t, "a")
	p := startWithProgress(t, "bench", "pods", "--kubeconfig", s.kubeconfig, "--for", "200ms")
	if code := p.ended(t); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.notes)
	}
	p.notes.AwaitText(t, "measuring kinform: ")
	p.notes.AwaitText(t, "measuring client-go: ")
	for _, want := range []string{"client-go", "RATIO", "objects", "synced in", "CPU time", "received", "peak memory"} {
		if !strings.Contains(p.out.String(), want) {
			t.Errorf("no %q in\n%s", want, p.out)
		}
	}
}

func TestBenchFailures(t *testing.T) {
	s := newServer(t)
	for want, args := range map[string][]string{
		"which resource? For example: kinform bench pods -A": {"bench"},
		"-o xml is not known: use table or json":             {"bench", "pods", "-o", "xml"},
		"--for -1s is in the past":                           {"bench", "pods", "--for", "-1s"},
	} {
		code, out, notes := run(t, args...)
		if code != exitUsage || out != "" || !strings.Contains(notes, want) {
			t.Errorf("%q: exit code %d, said %q, output %q", args, code, notes, out)
		}
	}
	remove := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods", Verb: "list"}, Status: http.StatusForbidden})
	code, out, notes := run(t, "bench", "pods", "--kubeconfig", s.kubeconfig)
	if code != exitBad || out != "" || !strings.Contains(notes, "kinform: cannot measure kinform: cannot list or watch: ") ||
		!strings.Contains(notes, "ask the cluster's administrator") {
		t.Errorf("exit code %d, output %q, said %q", code, out, notes)
	}
	remove()
	defer s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods", Verb: "list"}, Hang: true})()
	p := startWithProgress(t, "bench", "pods", "--kubeconfig", s.kubeconfig)
	p.notes.AwaitText(t, "measuring kinform: 0 of 1 synced")
	if code := p.interrupt(t); code != exitInterrupted {
		t.Errorf("exit code %d after Ctrl-C, want %d: %s", code, exitInterrupted, p.notes)
	}
}

// TestBenchOfHalf: what was measured before an interruption is shown.
func TestBenchOfHalf(t *testing.T) {
	p := shown(t, benchResult{Sides: map[string]measurement{kinformSide: {Objects: 1234, Memory: 5_000_000}}})
	if !strings.Contains(p, "1,234") || !strings.Contains(p, "5 MB") || !strings.Contains(p, "-") {
		t.Errorf("got\n%s", p)
	}
}

func shown(t *testing.T, r benchResult) string {
	t.Helper()
	var b strings.Builder
	if err := (&benchFlags{format: "table"}).show(newScreen(&b, &b), r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
