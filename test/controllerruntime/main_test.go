package controllerruntime

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/test/apiserver"
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	os.Exit(apiserver.Main(m))
}

// newInformer is the shape of cache.Options.NewInformer.
type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

// makers are whose informers each test runs on: kinform's, and client-go's to show
// that the test asks for nothing else than what controller-runtime does.
var makers = map[string]newInformer{
	"kinform":   cache.NewSharedIndexInformer,
	"client-go": toolscache.NewSharedIndexInformer,
}

// forEach runs a test on informers of either, in a namespace of its own.
func forEach(t *testing.T, name string, test func(*testing.T, *env)) {
	server := apiserver.Shared(t)
	for maker, make := range makers {
		t.Run(maker, func(t *testing.T) {
			leaks := goleak.IgnoreCurrent()
			e := newEnv(t, server.Config(), make, name+"-"+maker)
			test(t, e)
			// Connections are kept for whoever comes next; requests on them would show.
			known := []goleak.Option{leaks, goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*ClientConn).readLoop")}
			if maker == "client-go" {
				// It ends watches in a way that can leave the filter of controller-runtime's
				// metadata informers waiting forever.
				known = append(known, goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
			}
			goleak.VerifyNone(t, known...)
		})
	}
}

// env is what a test has: a server, a namespace in it, and informers that say when
// they end.
type env struct {
	t         *testing.T
	ctx       context.Context
	config    *rest.Config
	direct    client.WithWatch // past all caches
	namespace string
	make      newInformer
	made      chan *informer
}

func newEnv(t *testing.T, config *rest.Config, make newInformer, name string) *env {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	direct, err := client.NewWithWatch(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := &env{t: t, ctx: ctx, config: config, direct: direct, make: make, made: newInformers()}
	own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}
	e.create(own)
	e.namespace = own.Name
	return e
}

func newInformers() chan *informer { return make(chan *informer, 100) }

func (e *env) createNamespace(name string) {
	e.t.Helper()
	e.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func (e *env) create(objs ...client.Object) {
	e.t.Helper()
	for _, obj := range objs {
		if err := e.direct.Create(e.ctx, obj); err != nil {
			e.t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
		}
	}
}

// informer is one that controller-runtime was given.
type informer struct {
	toolscache.SharedIndexInformer
	of    string
	ended chan struct{}
}

// newInformer goes into cache.Options.
func (e *env) newInformer(lw toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	i := &informer{e.make(lw, obj, resync, indexers), typeName(obj), make(chan struct{})}
	e.made <- i
	return i
}

func (i *informer) Run(stop <-chan struct{}) {
	defer close(i.ended)
	i.SharedIndexInformer.Run(stop)
}

func (i *informer) RunWithContext(ctx context.Context) {
	defer close(i.ended)
	i.SharedIndexInformer.RunWithContext(ctx)
}

// wait waits for a channel to be closed.
func (e *env) wait(what string, done <-chan struct{}) {
	e.t.Helper()
	select {
	case <-done:
	case <-e.ctx.Done():
		e.t.Fatalf("%s: %v", what, e.ctx.Err())
	}
}
