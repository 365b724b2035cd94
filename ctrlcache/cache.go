package ctrlcache

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinform/kinform"
)

var cacheLog = log.Log.WithName("kinform").WithName("cache")

// New returns a cache. It is a cache.NewCacheFunc.
func New(cfg *rest.Config, o cache.Options) (cache.Cache, error) {
	if o.NewInformer != nil {
		return cache.New(cfg, o)
	}
	cfg = rest.CopyConfig(cfg)
	if cfg.UserAgent == "" {
		cfg.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	o, err := withDefaults(cfg, o)
	if err != nil {
		return nil, err
	}
	s, err := settingsOf(o)
	if err != nil {
		return nil, err
	}
	return &informerCache{
		config:   cfg,
		options:  o,
		settings: s,
		began:    make(chan struct{}),
		kinds:    map[schema.GroupVersionKind]*kind{},
		members:  map[memberKey]*member{},
	}, nil
}

var _ cache.NewCacheFunc = New

// AfterWrites is New for a cache whose Get and List wait until it has what a transport
// has noted: reads are then never older than what the program wrote, through whichever
// client. They wait as long as their context lasts.
//
//	var writes kinform.Writes
//	cfg.Wrap(writes.Wrap)
//	ctrl.NewManager(cfg, ctrl.Options{NewCache: ctrlcache.AfterWrites(&writes)})
func AfterWrites(w *kinform.Writes) cache.NewCacheFunc { return Options{AfterWrites: w}.New }

// Options are what a cache of this package can do besides those of controller-runtime. The
// zero value is what New gives.
type Options struct {
	// AfterWrites is what reads wait for; see the function of that name. Default: they
	// wait for nothing.
	AfterWrites *kinform.Writes
	// Snapshot has informers start from disk, and keep there what they read: the next
	// start of the program asks for what has changed since. Reads wait, as they do for a
	// first list, until the server has confirmed what the disk had, and handlers are called
	// for all of it then. Secrets are kept only with a key. Set it where a start lists much,
	// and the folder outlives the process. Default: each start lists.
	Snapshot kinform.SnapshotOptions
}

// New is the function New with options.
//
//	opts := ctrlcache.Options{Snapshot: kinform.SnapshotOptions{Dir: "/var/lib/operator"}}
//	ctrl.NewManager(cfg, ctrl.Options{NewCache: opts.New})
func (o Options) New(cfg *rest.Config, co cache.Options) (cache.Cache, error) {
	if co.NewInformer != nil {
		return nil, errors.New("kinform: Options need kinform's informers, and controller-runtime's Options.NewInformer makes others")
	}
	made, err := New(cfg, co)
	if err != nil {
		return nil, err
	}
	c := made.(*informerCache)
	c.writes, c.snapshot = o.AfterWrites, o.Snapshot
	return c, nil
}

// informerCache is a cache.Cache: a set of members that are made when they are first
// asked for, and run while the cache does.
type informerCache struct {
	config   *rest.Config
	options  cache.Options
	settings *settings
	began    chan struct{}   // closed by Start
	writes   *kinform.Writes // that reads wait for; nil: none
	snapshot kinform.SnapshotOptions

	mu      sync.RWMutex
	kinds   map[schema.GroupVersionKind]*kind
	members map[memberKey]*member
	made    int             // how many members were made so far
	ctx     context.Context // of Start; nil before
	stopped bool
	running sync.WaitGroup
}

// Start runs the informers until ctx ends, those that are asked for later included, and
// returns when all of them have ended. A cache starts once.
func (c *informerCache) Start(ctx context.Context) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	c.mu.Lock()
	c.stopped = true // from now on, none is added to those that are waited for
	c.mu.Unlock()
	c.running.Wait()
	return nil
}

func (c *informerCache) begin(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx != nil {
		return errors.New("informer already started")
	}
	c.ctx = ctx
	for _, m := range c.members {
		c.runLocked(m)
	}
	close(c.began)
	return nil
}

// runLocked runs a member, if the cache runs.
func (c *informerCache) runLocked(m *member) {
	switch {
	case c.stopped:
		m.end()
	case c.ctx != nil:
		c.running.Go(func() { m.run(c.ctx) })
	}
}

func (c *informerCache) hasStarted() bool { return isClosed(c.began) }

// WaitForCacheSync waits until the cache is started and every informer that it has by
// then has synced. If ctx ends before, it logs which have not, and why. It does not wait
// for kinds that the server refuses: every controller calls it before it begins, and one
// kind that is forbidden would hold up all of them. Whoever reads such a kind, or asks
// for its informer, waits for it.
func (c *informerCache) WaitForCacheSync(ctx context.Context) bool {
	select {
	case <-c.began:
	case <-ctx.Done():
		return false
	}
	synced := true
	for _, m := range c.all() {
		select {
		case <-m.informer.HasSyncedChecker().Done():
		case <-m.refused.now():
		case <-m.removed:
		case <-m.ended.Done():
		case <-ctx.Done():
		}
		switch {
		case m.informer.HasSynced(), isClosed(m.removed):
		case isClosed(m.refused.now()):
			cacheLog.Info("The server refuses a kind; the others do not wait for it", "kind", m.kind.gvk, "cause", m.whyNot().Error())
		default:
			synced = false
			cacheLog.Error(m.whyNot(), "The cache has not synced", "kind", m.kind.gvk)
		}
	}
	return synced
}

func (c *informerCache) all() []*member {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Collect(maps.Values(c.members))
}

// NeedLeaderElection is false: followers keep their caches warm.
func (c *informerCache) NeedLeaderElection() bool { return false }

// GetInformer returns the informer of an object's kind and form. Unless it is asked not
// to, it waits until the informer has synced, if the cache is started.
func (c *informerCache) GetInformer(ctx context.Context, obj client.Object, o ...cache.InformerGetOption) (cache.Informer, error) {
	f, err := c.formOf(obj)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, f, o)
}

// GetInformerForKind is GetInformer for the Go type that the scheme has for a kind.
func (c *informerCache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, o ...cache.InformerGetOption) (cache.Informer, error) {
	f, err := c.formOfKind(gvk)
	if err != nil {
		return nil, err
	}
	return c.informer(ctx, f, o)
}

func (c *informerCache) informer(ctx context.Context, f form, o []cache.InformerGetOption) (cache.Informer, error) {
	var options cache.InformerGetOptions
	for _, set := range o {
		set(&options)
	}
	k, err := c.kind(f.gvk)
	if err != nil {
		return nil, err
	}
	members := map[string]*member{}
	for _, scope := range slices.Sorted(maps.Keys(k.scopes)) {
		if members[scope], err = c.member(k, f, scope); err != nil {
			return nil, err
		}
	}
	if c.hasStarted() && (options.BlockUntilSynced == nil || *options.BlockUntilSynced) {
		for _, m := range members {
			if err := m.waitSynced(ctx); err != nil {
				return nil, err
			}
		}
	}
	return together(members), nil
}

// RemoveInformer ends the informer of an object's kind and form. Its watch and its
// memory are given up when nobody else reads the kind.
func (c *informerCache) RemoveInformer(_ context.Context, obj client.Object) error {
	f, err := c.formOf(obj)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	others := false
	for key, m := range c.members {
		switch {
		case key.form == f:
			m.remove()
			delete(c.members, key)
		case key.form.gvk == f.gvk:
			others = true
		}
	}
	if !others {
		delete(c.kinds, f.gvk) // it may be another one when it is asked for again
	}
	return nil
}
