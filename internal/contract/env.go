package contract

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/tcpproxy"
)

// env is what a story works with: its time, its namespace, its connections and
// its log. The helpers fail the story themselves, so that it reads as one.
type env struct {
	*testing.T
	server  Server
	ctx     context.Context // ends when the story has lasted too long
	clock   *time.Timer     // ends ctx
	ns      string
	network *network
	log     *logbook
	kube    kubernetes.Interface
}

// Config maps are what the stories are about.
type (
	object     = *corev1.ConfigMap
	informer   = kinform.Informer[object]
	eventOf    = kinform.Event[object]
	subscribed = kinform.SubscribeOptions
)

func newEnv(t *testing.T, s Server) *env {
	t.Helper()
	e := &env{T: t, server: s, network: newNetwork(), log: newLogbook()}
	// Clean-ups run in reverse: informers stop, connections end, and then nothing
	// may be left.
	ignored := append([]goleak.Option{goleak.IgnoreCurrent()}, s.Goroutines...)
	t.Cleanup(func() { goleak.VerifyNone(t, ignored...) })
	t.Cleanup(func() { e.network.close(t) })
	// The test's own context would end before the clean-ups.
	ctx, cancel := context.WithCancel(context.Background())
	e.ctx, e.clock = ctx, time.AfterFunc(patience, cancel)
	t.Cleanup(func() {
		e.clock.Stop()
		cancel()
	})
	var err error
	e.kube, err = kubernetes.NewForConfig(e.config())
	e.must(err, "making a client")
	e.ns = e.newNamespace()
	return e
}

func (e *env) newNamespace() string {
	e.Helper()
	ns, err := e.kube.CoreV1().Namespaces().Create(e.ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "contract-"},
	}, metav1.CreateOptions{})
	e.must(err, "creating a namespace")
	return ns.Name
}

func (e *env) must(err error, doing string) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: %v", doing, err)
	}
}

// config reaches the server through connections that end with the story.
func (e *env) config() *rest.Config { return e.own(e.server.Config) }

// own is cfg with connections that end with the story.
func (e *env) own(cfg *rest.Config) *rest.Config {
	e.Helper()
	c, err := e.network.own(cfg)
	e.must(err, "making a transport")
	return c
}

// proxied reaches the server through a network that can be made to fail.
func (e *env) proxied() (*rest.Config, *tcpproxy.Proxy) {
	e.Helper()
	c := e.config()
	scheme, address, ok := strings.Cut(c.Host, "://")
	if !ok {
		e.Fatalf("the server's address %q needs a scheme", c.Host)
	}
	p, err := tcpproxy.Start(strings.TrimSuffix(address, "/"))
	e.must(err, "starting a proxy")
	e.Cleanup(func() {
		if err := p.Close(); err != nil {
			e.Errorf("closing the proxy: %v", err)
		}
	})
	c.Host = scheme + "://" + p.Addr()
	return c, p
}

// disturb does something to the server, which takes time of its own.
func (e *env) disturb(doing string, f func(context.Context) error) {
	e.Helper()
	e.clock.Stop()
	defer e.clock.Reset(patience)
	ctx, cancel := context.WithTimeout(context.Background(), serverPatience)
	defer cancel()
	e.must(f(ctx), doing)
	// Connections may have been cut, which is no concern of those who write.
	e.network.hangUp()
}

// expire makes the server forget its history.
func (e *env) expire() {
	e.Helper()
	e.disturb("expiring the history", e.server.Expire)
}

// backup keeps the server's state, and returns what goes back to it.
func (e *env) backup() (restore func()) {
	e.Helper()
	var back func(context.Context) error
	e.disturb("making a backup", func(ctx context.Context) (err error) {
		back, err = e.server.Backup(ctx)
		return err
	})
	return func() {
		e.Helper()
		e.disturb("restoring the backup", back)
	}
}

// disconnect breaks the connections through p, and refuses new ones.
func (e *env) disconnect(p *tcpproxy.Proxy) {
	e.Helper()
	e.must(p.Refuse(true), "refusing connections")
	p.Cut()
}

// reconnect ends disconnect.
func (e *env) reconnect(p *tcpproxy.Proxy) {
	e.Helper()
	e.must(p.Refuse(false), "accepting connections")
}

// options are o, with what every story needs where o says nothing: the story's
// namespace, quick retries, the story's log.
func (e *env) options(o kinform.Options) kinform.Options {
	if o.Namespaces == nil && o.LabelSelector == "" {
		o.Namespaces = []string{e.ns}
	}
	o.Backoff = kinform.Backoff{
		First: cmp.Or(o.Backoff.First, 5*time.Millisecond),
		Most:  cmp.Or(o.Backoff.Most, 50*time.Millisecond),
	}
	o.Logger = e.log.logger()
	return o
}

// informer makes an informer of the story's config maps.
func (e *env) informer(cfg *rest.Config, o kinform.Options) *informer {
	e.Helper()
	return informerOf[object](e, cfg, o)
}

func informerOf[T any](e *env, cfg *rest.Config, o kinform.Options) *kinform.Informer[T] {
	e.Helper()
	inf, err := kinform.New[T](cfg, e.options(o))
	e.must(err, "making an informer")
	return inf
}

// runner is what can be run: an informer of any type.
type runner interface {
	Run(context.Context) error
	WaitSynced(context.Context) error
}

// run runs an informer until the story ends, or until stop, which returns when
// Run has.
func (e *env) run(inf runner) (stop func()) {
	e.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := inf.Run(ctx); err != nil {
			e.Errorf("running the informer: %v", err)
		}
	}()
	stop = func() {
		e.Helper()
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			e.Error("Run does not return")
		}
	}
	e.Cleanup(stop)
	return stop
}

// sync runs an informer and waits until it has synced.
func (e *env) sync(inf runner) (stop func()) {
	e.Helper()
	stop = e.run(inf)
	e.must(inf.WaitSynced(e.ctx), "waiting for the sync")
	return stop
}

// await waits for a channel to be closed.
func (e *env) await(c <-chan struct{}, what string) {
	e.Helper()
	receive(e, c, what)
}

// receive waits for what a channel brings.
func receive[T any](e *env, c <-chan T, what string) (v T) {
	e.Helper()
	select {
	case v = <-c:
	case <-e.ctx.Done():
		e.Fatalf("waited without result for %s", what)
	}
	return v
}

// over is a context that has ended, for waits that must fail at once.
func over() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// index adds an index to an informer.
func (e *env) index(inf *kinform.Informer[object], name string, values func(object) []string) kinform.Index[object] {
	e.Helper()
	ix, err := inf.AddIndex(name, values)
	e.must(err, "adding the index "+name)
	return ix
}
