package cache_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinform/kinform/cache"
)

// restClient answers with a list, or with a watch that ends, and notes what it is
// asked.
func restClient(t *testing.T, asked *[]string) *rest.RESTClient {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.String())
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`))
		}
	}))
	t.Cleanup(s.Close)
	client, err := rest.RESTClientFor(&rest.Config{
		Host:    s.URL,
		APIPath: "/api",
		ContentConfig: rest.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		},
	})
	must(t, err)
	t.Cleanup(client.Client.CloseIdleConnections)
	return client
}

func TestListWatchFromClient(t *testing.T) {
	var asked []string
	client := restClient(t, &asked)
	lw := cache.NewListWatchFromClient(client, "pods", "ns", fields.OneTermEqualSelector("spec.nodeName", "n"))
	options := metav1.ListOptions{ResourceVersion: "5"}

	for name, list := range map[string]func() (runtime.Object, error){
		"List":            func() (runtime.Object, error) { return lw.List(options) },
		"ListWithContext": func() (runtime.Object, error) { return lw.ListWithContext(t.Context(), options) },
	} {
		asked = nil
		got, err := list()
		must(t, err)
		if list, ok := got.(*corev1.PodList); !ok || list.ResourceVersion != "7" {
			t.Errorf("%s gave %v", name, got)
		}
		if want := "/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName%3Dn&resourceVersion=5"; asked[0] != want {
			t.Errorf("%s asked %s", name, asked)
		}
	}
	for name, begin := range map[string]func() (watch.Interface, error){
		"Watch":            func() (watch.Interface, error) { return lw.Watch(options) },
		"WatchWithContext": func() (watch.Interface, error) { return lw.WatchWithContext(t.Context(), options) },
	} {
		asked = nil
		w, err := begin()
		must(t, err)
		w.Stop()
		for range w.ResultChan() {
		}
		if want := "/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName%3Dn&resourceVersion=5&watch=true"; asked[0] != want {
			t.Errorf("%s asked %s", name, asked)
		}
	}

	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := lw.ListWithContext(ended, options); !errors.Is(err, context.Canceled) {
		t.Errorf("a list after the end: %v", err)
	}
	if _, err := lw.WatchWithContext(ended, options); !errors.Is(err, context.Canceled) {
		t.Errorf("a watch after the end: %v", err)
	}
}

func TestFilteredListWatchHasTheLastWord(t *testing.T) {
	var asked []string
	lw := cache.NewFilteredListWatchFromClient(restClient(t, &asked), "pods", metav1.NamespaceAll, func(o *metav1.ListOptions) {
		o.LabelSelector, o.ResourceVersion = "a=b", "9"
	})
	_, err := lw.List(metav1.ListOptions{ResourceVersion: "5"})
	must(t, err)
	if asked[0] != "/api/v1/pods?labelSelector=a%3Db&resourceVersion=9" {
		t.Errorf("asked %s", asked)
	}
}

// plain is a source that knows no contexts.
type plain struct{}

func (plain) List(metav1.ListOptions) (runtime.Object, error)   { return nil, errors.New("listed") }
func (plain) Watch(metav1.ListOptions) (watch.Interface, error) { return nil, errors.New("watched") }

func TestContextsForSources(t *testing.T) {
	s := newServer(newTrace())
	if cache.ToListerWatcherWithContext(s) != cache.ListerWatcherWithContext(s) ||
		cache.ToListerWithContext(s) != cache.ListerWithContext(s) || cache.ToWatcherWithContext(s) != cache.WatcherWithContext(s) {
		t.Error("a source that knows contexts was wrapped")
	}
	lw := cache.ToListerWatcherWithContext(plain{})
	if _, err := lw.ListWithContext(t.Context(), metav1.ListOptions{}); err == nil || err.Error() != "listed" {
		t.Error(err)
	}
	if _, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{}); err == nil || err.Error() != "watched" {
		t.Error(err)
	}
}

func TestWatchListSemantics(t *testing.T) {
	for client, want := range map[any]bool{
		newServer(nil).onlyLists():   true,
		newServer(nil):               false,
		"a client that says nothing": false,
	} {
		lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{}, client)
		if got := watchlist.DoesClientNotSupportWatchListSemantics(lw); got != want {
			t.Errorf("%T: %t", client, got)
		}
		if _, ok := lw.(cache.ListerWatcherWithContext); !ok {
			t.Error("it has forgotten contexts")
		}
	}
}
