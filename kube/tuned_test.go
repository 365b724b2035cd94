package kube

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/engine"
)

// TestTuned: informers on a clientset of a tuned configuration list as those of package
// kinform do, and what the program has put around its requests sees each of them once.
func TestTuned(t *testing.T) {
	const one, two = "HTTP/1.1", "HTTP/2.0"
	for _, test := range []struct {
		name  string
		tune  bool
		own   func(*rest.Config)
		want  []string // of a list and a watch
		coded string   // what the list was asked for in
	}{
		{"not tuned", false, nil, []string{two, two}, "gzip"},
		{"tuned", true, nil, []string{one, two}, "identity"},
		{"tuned, with protocols of its own", true, func(c *rest.Config) { c.NextProtos = []string{"h2"} }, []string{two, two}, "gzip"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := newCollection(t, nil)
			cfg := server.config()
			if test.own != nil {
				test.own(cfg)
			}
			var seen atomic.Int32
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return counting{rt, &seen} })
			if test.tune {
				tuned, err := Tuned(cfg)
				if err != nil {
					t.Fatal(err)
				}
				cfg = tuned
			}
			clients, err := kubernetes.NewForConfig(cfg)
			if err != nil {
				t.Fatal(err)
			}
			client := clients.CoreV1().RESTClient()
			a := asker{t, client, NewSource(client, Query{Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}})}
			a.list(engine.ListOptions{})
			a.watch(engine.WatchOptions{})
			asked := server.requests()
			if got := []string{asked[0].Proto, asked[1].Proto}; !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
			if got := asked[0].Header.Get("Accept-Encoding"); got != test.coded {
				t.Errorf("the list was asked for in %q, want %q", got, test.coded)
			}
			if n := seen.Load(); n != 2 {
				t.Errorf("the program's own transport saw %d requests of 2", n)
			}
		})
	}
}
