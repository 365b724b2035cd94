package faultproxy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/check"
)

// own is cfg with connections that end with the test.
func own(t *testing.T, cfg *rest.Config) *rest.Config {
	t.Helper()
	tls, err := rest.TLSConfigFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: len(cfg.NextProtos) == 0}
	t.Cleanup(transport.CloseIdleConnections)
	c := rest.CopyConfig(cfg)
	c.TLSClientConfig, c.Transport = rest.TLSClientConfig{}, transport
	return c
}

type scene struct {
	server *apisim.Server
	client kubernetes.Interface
	proxy  *Proxy
	ctx    context.Context
}

func open(t *testing.T, o Options) *scene {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	server, err := apisim.Start(apisim.Options{TLS: true, BookmarkInterval: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	o.Target = server.Config()
	proxy, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	client, err := kubernetes.NewForConfig(own(t, server.Config()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return &scene{server, client, proxy, ctx}
}

// write changes a few objects. A server that restarts may break a write.
func (s *scene) write(t *testing.T, value string) {
	t.Helper()
	maps := s.client.CoreV1().ConfigMaps("default")
	for i := range 8 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("o-%d", i)}, Data: map[string]string{"v": value}}
		_, err := maps.Update(s.ctx, cm, metav1.UpdateOptions{})
		if apierrors.IsNotFound(err) {
			_, err = maps.Create(s.ctx, cm, metav1.CreateOptions{})
		}
		if err == nil && i == 3 {
			err = maps.Delete(s.ctx, cm.Name, metav1.DeleteOptions{})
		}
		if err != nil {
			t.Logf("writing: %v", err)
		}
	}
}

// TestKinds injects each kind of fault, and nothing else, until it has happened some
// times, in protobuf over HTTP/2 and in JSON over HTTP/1.1. An informer ends equal to the
// server.
func TestKinds(t *testing.T) {
	kinds := slices.Compact(slices.Sorted(slices.Values(Kinds())))
	forms := []bool{false, true}
	if testing.Short() {
		forms = forms[:1] // protobuf over HTTP/2
	}
	for _, json := range forms {
		for _, kind := range kinds {
			t.Run(fmt.Sprintf("%s, JSON %v", kind, json), func(t *testing.T) { suffer(t, kind, json) })
		}
	}
}

func suffer(t *testing.T, kind Kind, json bool) {
	s := open(t, Options{Seed: 1, Only: []Kind{kind}, Requests: 0.6, Events: 0.4, WatchLife: 20 * time.Millisecond})
	cfg := s.proxy.Config()
	cfg.UserAgent = t.Name()
	if json {
		cfg.NextProtos = []string{"http/1.1"}
	}
	inf, err := kinform.New[*corev1.ConfigMap](own(t, cfg), kinform.Options{
		JSON: json, Namespaces: []string{"default"}, WatchList: kind == NoInitialEnd, PageSize: pageSize(kind),
		Silence: 100 * time.Millisecond, MaxObjectSize: 64 << 10,
		Backoff: kinform.Backoff{First: time.Millisecond, Most: 5 * time.Millisecond},
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := check.New(inf, check.Options{List: func(ctx context.Context) (runtime.Object, error) {
		return s.client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	}})
	c.Subscribe(check.Subscriber{})
	s.write(t, "first")
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	for n := 0; s.proxy.Counts()[kind] < enough(kind); n++ {
		s.write(t, fmt.Sprint(n))
		switch {
		case strings.Contains(string(kind), "list") || kind == ExpiredContinue:
			s.server.Restart() // so that there are lists
			s.server.ForgetHistory()
		case n%10 == 9:
			s.server.Restart() // so that there are requests: a watch that is spared lasts
		}
		if s.ctx.Err() != nil {
			t.Fatalf("it never happens: %v", s.proxy.Counts())
		}
	}
	s.proxy.Calm(true)
	s.write(t, "last")
	if err := c.Compare(s.ctx); err != nil {
		t.Error(err)
	}
	c.Stop()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := c.Err(); err != nil {
		t.Error(err)
	}
	for other, n := range s.proxy.Counts() {
		if other != kind && other != CutWatch && other != Duplicated { // which stand in for what cannot be done yet
			t.Errorf("%d times %s", n, other)
		}
	}
}

func enough(kind Kind) uint64 {
	if kind == NoInitialEnd {
		return 1 // an informer asks for initial events once
	}
	return 3
}

func pageSize(kind Kind) int64 {
	if kind == ExpiredContinue {
		return 2
	}
	return 0
}

// TestRepeats: the same seed does the same to the same requests.
func TestRepeats(t *testing.T) {
	var codes [3][]int
	for i, seed := range []uint64{1, 1, 2} {
		t.Run(fmt.Sprintf("%d, seed %d", i, seed), func(t *testing.T) { codes[i] = answers(t, seed) })
	}
	if !slices.Equal(codes[0], codes[1]) {
		t.Errorf("seed 1: %v, then %v", codes[0], codes[1])
	}
	if slices.Equal(codes[0], codes[2]) {
		t.Errorf("seeds 1 and 2 do the same: %v", codes[0])
	}
}

// answers are the codes that a row of requests gets.
func answers(t *testing.T, seed uint64) (codes []int) {
	s := open(t, Options{Seed: seed, Requests: 0.7, Only: []Kind{Throttled, ServerError, BadGateway, Forbidden, NotFound}})
	client := &http.Client{Transport: own(t, s.proxy.Config()).Transport}
	for range 40 {
		response, err := client.Get("https://" + s.proxy.address + "/api/v1/configmaps?limit=5")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body) // the code is what counts
		response.Body.Close()
		codes = append(codes, response.StatusCode)
	}
	return codes
}
