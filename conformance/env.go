package conformance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// clients are the ways in which cases speak to the server.
type clients struct {
	config    *rest.Config // an administrator's
	base      *url.URL
	admin     *http.Client
	http1     *http.Client // the same, over HTTP/1.1
	powerless *http.Client // nil if the server has no such user
	stranger  *http.Client // credentials that the server does not know
	kube      kubernetes.Interface
	posts     *posts
}

func newClients(t *testing.T, s Server) *clients {
	t.Helper()
	admin := unhurried(s.Config)
	c := &clients{config: admin, posts: &posts{}}
	admin.Wrap(c.posts.record)

	var err error
	c.base, _, err = rest.DefaultServerUrlFor(admin)
	must(t, err, "reading the server's address")
	c.admin = newHTTPClient(t, admin)
	http1 := rest.CopyConfig(admin)
	http1.NextProtos = []string{"http/1.1"}
	c.http1 = newHTTPClient(t, http1)
	c.kube, err = kubernetes.NewForConfigAndClient(admin, c.admin)
	must(t, err, "making a typed client")

	if s.Powerless != nil {
		c.powerless = newHTTPClient(t, unhurried(s.Powerless))
		stranger := rest.AnonymousClientConfig(unhurried(s.Config))
		stranger.BearerToken = "nobody-gave-this-token"
		c.stranger = newHTTPClient(t, stranger)
	}
	return c
}

func newHTTPClient(t *testing.T, cfg *rest.Config) *http.Client {
	t.Helper()
	client, err := rest.HTTPClientFor(cfg)
	must(t, err, "making an HTTP client")
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(client.Transport) })
	return client
}

// unhurried is cfg without the client's own rate limit and without a default
// timeout, both of which would be mistaken for the server's.
func unhurried(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.Timeout = 0
	return cfg
}

func must(t testing.TB, err error, doing string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", doing, err)
	}
}

// posts remembers where something was created, whichever client did it, so that
// a case need not clean up what is in its namespace.
type posts struct {
	mu    sync.Mutex
	paths []string
}

// record makes a transport that remembers.
func (p *posts) record(next http.RoundTripper) http.RoundTripper {
	return &recorder{posts: p, next: next}
}

// in returns the collections of a namespace in which something was created.
func (p *posts) in(namespace string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var paths []string
	for _, path := range p.paths {
		_, collection, found := strings.Cut(path, "/namespaces/"+namespace+"/")
		if found && !strings.Contains(collection, "/") && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

type recorder struct {
	posts *posts
	next  http.RoundTripper
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPost {
		r.posts.mu.Lock()
		r.posts.paths = append(r.posts.paths, request.URL.Path)
		r.posts.mu.Unlock()
	}
	return r.next.RoundTrip(request)
}

// WrappedRoundTripper lets who closes idle connections find the real transport.
func (r *recorder) WrappedRoundTripper() http.RoundTripper { return r.next }

// env is what one case works with: its test, its time, its namespace, and the
// clients. Its helpers fail the test themselves, so that a case reads as a story.
type env struct {
	*testing.T
	*clients

	ctx   context.Context
	ns    string // made for this case
	guest *guest // nil unless the case asked for compaction
}

func newEnv(t *testing.T, c *clients, g *guest) *env {
	t.Helper()
	// Not the test's own context, which ends before the clean-up begins.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	e := &env{T: t, clients: c, ctx: ctx, guest: g}
	t.Cleanup(cancel)
	e.ns = e.newNamespace()
	return e
}

// newNamespace makes a namespace that is emptied and deleted after the case.
func (e *env) newNamespace() string {
	e.Helper()
	ns, err := e.kube.CoreV1().Namespaces().Create(e.ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "conformance-"},
	}, metav1.CreateOptions{})
	must(e, err, "creating a namespace for the case")
	e.Cleanup(func() { e.removeNamespace(ns.Name) })
	return ns.Name
}

// removeNamespace empties and deletes a namespace. A server without a namespace
// controller keeps it as "terminating", which is nobody's concern.
func (e *env) removeNamespace(name string) {
	e.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), patience)
	defer cancel()
	for _, path := range e.posts.in(name) {
		query := params{"gracePeriodSeconds": "0"}
		if a, err := e.roundTrip(ctx, e.admin, http.MethodDelete, path, query, nil, nil); err != nil {
			e.Errorf("emptying %s: %v", path, err)
		} else if a.code != http.StatusOK && a.code != http.StatusNotFound {
			e.Errorf("emptying %s: %s", path, a)
		}
	}
	if err := e.kube.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		e.Errorf("deleting the namespace of the case: %v", err)
	}
}

// compact returns when the server has forgotten what was before.
func (e *env) compact() {
	e.Helper()
	must(e, e.guest.attend(e.ctx), "waiting for the server to forget its history")
}

// path joins the parts of a resource's address in the case's own namespace:
// e.path("/api/v1", "configmaps", "a").
func (e *env) path(groupVersion string, parts ...string) string {
	return fmt.Sprintf("%s/namespaces/%s/%s", groupVersion, e.ns, strings.Join(parts, "/"))
}

// removeLater deletes what is outside the case's namespaces, after the case.
func (e *env) removeLater(path string) {
	e.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), patience)
	defer cancel()
	a, err := e.roundTrip(ctx, e.admin, http.MethodDelete, path, nil, nil, nil)
	if err != nil {
		e.Errorf("deleting %s: %v", path, err)
	} else if a.code != http.StatusOK && a.code != http.StatusNotFound {
		e.Errorf("deleting: %s", a)
	}
}
