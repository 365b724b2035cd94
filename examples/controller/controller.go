package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinform/kinform"
)

const (
	home        = "default" // where originals live
	workers     = 2
	syncTimeout = time.Minute
)

// An original has the first label, a copy the second. What has neither is none of
// our business.
var (
	originalLabels = labels.Set{"mirror": "true"}
	copyLabels     = labels.Set{"mirrored-from": home}
)

// copyKey names a copy, whether it exists, has to exist, or neither.
type copyKey struct{ namespace, name string }

type controller struct {
	log        *slog.Logger
	client     kubernetes.Interface // writes
	factory    *kinform.Factory     // reads
	configMaps *kinform.Informer[*corev1.ConfigMap]
	namespaces *kinform.Informer[*corev1.Namespace]
	// queue holds each key once, however often it is added, and hands out no key
	// that a worker is busy with.
	queue workqueue.TypedRateLimitingInterface[copyKey]
}

func newController(cfg *rest.Config, log *slog.Logger) (*controller, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", cfg.Host, err)
	}
	factory, err := kinform.NewFactory(cfg, kinform.Options{Logger: log})
	if err != nil {
		return nil, err
	}
	c := &controller{
		log: log, client: client, factory: factory,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[copyKey]()),
	}
	if c.configMaps, err = kinform.For[*corev1.ConfigMap](factory, kinform.Options{}); err != nil {
		return nil, err
	}
	if c.namespaces, err = kinform.For[*corev1.Namespace](factory, kinform.Options{}); err != nil {
		return nil, err
	}
	// Latest: what a queue of keys wants to know is that something changed, not
	// each step on the way.
	latest := kinform.SubscribeOptions{Latest: true}
	c.configMaps.Subscribe(c.configMapChanged, latest)
	c.namespaces.Subscribe(c.namespaceChanged, latest)
	return c, nil
}

// configMapChanged is called for originals, copies and all other ConfigMaps. It looks
// at the key alone, so nothing is decoded. A label may have been removed, so labels
// are not checked here: reconcile does that.
func (c *controller) configMapChanged(_ context.Context, ev kinform.Event[*corev1.ConfigMap]) {
	if ev.Namespace() != home {
		c.queue.Add(copyKey{ev.Namespace(), ev.Name()})
		return
	}
	for namespace := range c.namespaces.Lister().Keys(labels.Everything()) {
		c.queue.Add(copyKey{namespace, ev.Name()})
	}
}

// namespaceChanged sees to it that a new namespace gets its copies.
func (c *controller) namespaceChanged(_ context.Context, ev kinform.Event[*corev1.Namespace]) {
	if ev.Type == kinform.EventDeleted {
		return // its copies have gone with it
	}
	for _, original := range c.configMaps.Lister().Namespace(home).Select(originalLabels.AsSelector()) {
		c.queue.Add(copyKey{ev.Name(), original.Name})
	}
}

// run works until ctx ends. Then it finishes what it has begun, and stops.
func (c *controller) run(ctx context.Context) error {
	var working sync.WaitGroup
	defer working.Wait()
	defer c.queue.ShutDown()

	if err := c.factory.Start(ctx); err != nil {
		return err
	}
	defer c.factory.Shutdown()

	// Before the caches are complete, copies would look superfluous, and be
	// deleted. So no worker starts earlier.
	wait, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	if err := c.factory.WaitSynced(wait); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it had begun
		}
		return err
	}
	c.log.Info("mirroring", "configMaps", c.configMaps.Lister().Len(), "namespaces", c.namespaces.Lister().Len())
	for range workers {
		// A write that has begun is finished, even though ctx has ended.
		working.Go(func() { c.work(context.WithoutCancel(ctx)) })
	}
	<-ctx.Done()
	return nil
}

// work reconciles key after key until the queue is shut down. What fails is tried
// again, later each time.
func (c *controller) work(ctx context.Context) {
	for {
		key, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.reconcile(ctx, key); err != nil {
			c.log.Warn("will try again", "namespace", key.namespace, "name", key.name,
				"failures", c.queue.NumRequeues(key)+1, "error", err)
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}
