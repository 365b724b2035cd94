package servers

import (
	"context"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
	dropin "github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/check"
	"github.com/kinform/kinform/informers"
)

// client is an informer under test.
type client struct {
	name    string
	checker *check.Checker
	synced  func() bool
	// says returns what the client shows of its health; nil where it shows nothing.
	says func() Seen
	stop func()
}

// Seen is what an informer says of itself.
type Seen struct {
	// Text is for people.
	Text string
	// Trouble: it says that something is wrong.
	Trouble bool
	// Heard is how old its state is at most, as it says.
	Heard time.Time
}

// starter starts an informer on a server.
type starter func(context.Context, *rest.Config, check.Options) (*client, error)

// clients are started in this order.
var clients = []starter{startClientGo, startNative, startDropIn}

// startNative runs an informer of package kinform.
func startNative(ctx context.Context, cfg *rest.Config, o check.Options) (*client, error) {
	cfg.UserAgent = "native"
	inf, err := kinform.New[*corev1.ConfigMap](cfg, kinform.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	c := &client{name: "kinform", checker: check.New(inf, o), synced: func() bool { return inf.Status().Synced }}
	c.says = func() Seen {
		s := inf.Status()
		return Seen{
			Text:    s.String(),
			Trouble: s.Cause() != nil || s.State() != kinform.StateWatching,
			Heard:   time.Now().Add(-s.Staleness()),
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	c.stop = func() {
		cancel()
		<-ended
	}
	return c, nil
}

// startDropIn runs an informer of kinform's factory for client-go's programs.
func startDropIn(ctx context.Context, cfg *rest.Config, o check.Options) (*client, error) {
	cfg.UserAgent = "drop-in"
	set, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(set, 0)
	inf := factory.Core().V1().ConfigMaps().Informer()
	c := startShared(ctx, "drop-in", inf, factory, o)
	c.says = func() Seen {
		sources := dropin.Describe(inf).Status.Sources
		if len(sources) == 0 {
			return Seen{Text: "not started", Trouble: true}
		}
		s := sources[0]
		return Seen{
			Text:    s.State + " " + s.Reason + " " + s.Cause,
			Trouble: s.Cause != "" || s.State != kinform.StateWatching.String(),
			Heard:   s.LastContact,
		}
	}
	return c, nil
}

// startClientGo runs client-go's own.
func startClientGo(ctx context.Context, cfg *rest.Config, o check.Options) (*client, error) {
	cfg.UserAgent = "client-go"
	set, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	factory := clientgo.NewSharedInformerFactory(set, 0)
	return startShared(ctx, "client-go", factory.Core().V1().ConfigMaps().Informer(), factory, o), nil
}

func startShared(ctx context.Context, name string, inf cache.SharedIndexInformer, factory interface {
	Start(<-chan struct{})
	Shutdown()
}, o check.Options) *client {
	c := &client{name: name, checker: check.NewShared(inf, o), synced: inf.HasSynced}
	ctx, cancel := context.WithCancel(ctx)
	factory.Start(ctx.Done())
	c.stop = func() {
		cancel()
		factory.Shutdown()
	}
	return c
}
