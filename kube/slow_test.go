package kube_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// answering is a transport that answers by itself.
type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newClient(t *testing.T, rt http.RoundTripper) rest.Interface {
	c, err := rest.NewRESTClient(&url.URL{Scheme: "http", Host: "server"}, "", rest.ClientContentConfig{
		GroupVersion: schema.GroupVersion{Version: "v1"}, Negotiator: runtime.NewClientNegotiator(scheme.Codecs, schema.GroupVersion{Version: "v1"}),
	}, nil, &http.Client{Transport: rt})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answered(r *http.Request, body io.Reader) *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(body), Request: r}
}

// never is a body of which nothing comes.
type never struct{ ctx context.Context }

func (n never) Read([]byte) (int, error) {
	<-n.ctx.Done()
	return 0, n.ctx.Err()
}

// trickle sends n objects, each in parts, with time between.
type trickle struct {
	ctx    context.Context
	n      int
	object string
	parts  int
	pause  time.Duration
	rest   string
	sent   int
}

func (l *trickle) Read(b []byte) (int, error) {
	if len(l.rest) == 0 {
		switch {
		case l.sent > l.n:
			return 0, io.EOF
		case l.sent == l.n:
			l.rest = `]}`
		default:
			l.rest = fmt.Sprintf(l.object, l.sent)
			if l.sent == 0 {
				l.rest = `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[` + l.rest
			} else {
				l.rest = "," + l.rest
			}
		}
		l.sent++
	}
	select {
	case <-time.After(l.pause):
	case <-l.ctx.Done():
		return 0, l.ctx.Err()
	}
	n := copy(b, l.rest[:min(len(l.rest), len(l.object)/l.parts+1)])
	l.rest = l.rest[n:]
	return n, nil
}

func run(t *testing.T, inf *engine.Informer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	return func() { cancel(); <-ended }
}

// TestListThatFlowsIsAlive has 800 objects come at the pace of 1 MB each over 30 Mbit/s,
// and then few objects over lines so slow that each takes longer than Silence.
func TestListThatFlowsIsAlive(t *testing.T) {
	for _, c := range []struct {
		n, parts int
		pause    time.Duration
	}{
		{800, 16, 280 * time.Millisecond / 16},
		{5, 20, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			object := `{"metadata":{"name":"o%d","uid":"u","resourceVersion":"5"},"data":{"x":"` + strings.Repeat("x", 4000) + `"}}`
			client := newClient(t, answering(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("watch") == "true" {
					return answered(r, never{r.Context()}), nil
				}
				return answered(r, &trickle{ctx: r.Context(), n: c.n, object: object, parts: c.parts, pause: c.pause}), nil
			}))
			source := kube.NewSource(client, kube.Query{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}})
			inf := engine.NewInformer(engine.Options{}, engine.ReflectorOptions{}, map[string]engine.Source{"": source})
			defer run(t, inf)()
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			err := inf.WaitSynced(ctx)
			t.Logf("%d objects: synced after %v, %d lists", c.n, time.Since(began), inf.Status()[0].Lists)
			if err != nil || inf.Len() != c.n || inf.Status()[0].Lists != 1 {
				t.Errorf("%v: %d objects after %d lists, want %d after one", err, inf.Len(), inf.Status()[0].Lists, c.n)
			}
		})
	}
}

// slowLister is a program's own list function, which works for a while.
type slowLister struct{ takes time.Duration }

func (l slowLister) List(metav1.ListOptions) (runtime.Object, error) { panic("with a context") }
func (l slowLister) Watch(metav1.ListOptions) (watch.Interface, error) {
	panic("with a context")
}

func (l slowLister) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	select {
	case <-time.After(l.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "9"},
		Items: []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}}, nil
}

func (l slowLister) WatchWithContext(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// TestListFunctionIsNotCut: nothing is heard of a program's own list function while it
// works, for however long.
func TestListFunctionIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged atomic.Int32
		log := func(string, ...any) { logged.Add(1) }
		inf := engine.NewInformer(engine.Options{Log: log}, engine.ReflectorOptions{},
			map[string]engine.Source{"": kube.NewObjectSource("slow things", slowLister{time.Hour})})
		stop := run(t, inf)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
		defer cancel()
		err := inf.WaitSynced(ctx)
		if n := inf.Status()[0].Lists; err != nil || n != 1 || inf.Len() != 1 {
			t.Errorf("%v: %d lists and %d objects in 3 hours, want one of each", err, n, inf.Len())
		}
		stop()
		if n := logged.Load(); n != 1 {
			t.Errorf("%d lines are logged, want one", n)
		}
	})
}
