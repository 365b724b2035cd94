package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// writers is how many applications Populate makes at the same time when it has
// to go through the API.
const writers = 8

// Populate fills the server with about Options.Objects objects: namespaces,
// nodes, leases, and applications whose pods are all ready. It is called once,
// before Run.
func (c *Cluster) Populate(ctx context.Context) error {
	fill := c.populateAPI
	if c.opts.Load != nil {
		fill = c.populateBulk
	}
	err := c.createNamespaces(ctx)
	if err == nil {
		err = fill(ctx)
	}
	if err != nil {
		return fmt.Errorf("populate the cluster: %w", err)
	}
	return nil
}

// createNamespaces makes those that are not there yet; every server has some.
func (c *Cluster) createNamespaces(ctx context.Context) error {
	for _, ns := range c.catalog.namespaces() {
		if _, err := c.create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// errEnough ends a sequence whose reader wants no more.
var errEnough = errors.New("enough")

// populateBulk hands all objects to Options.Load.
func (c *Cluster) populateBulk(ctx context.Context) error {
	r := rand.New(rand.NewPCG(uint64(c.opts.Seed), 1))
	var failed error
	err := c.opts.Load(func(yield func(runtime.Object) bool) {
		failed = c.each(ctx, func(obj runtime.Object) (types.UID, error) {
			m, err := meta.Accessor(obj)
			if err != nil {
				return "", err
			}
			if m.GetUID() == "" {
				m.SetUID(randomUID(r))
			}
			uid := m.GetUID()
			if !yield(obj) {
				return "", errEnough
			}
			c.counts.add(kindOf(obj), "create", 1)
			return uid, nil
		}, nil)
	})
	if err != nil {
		return err
	}
	if errors.Is(failed, errEnough) {
		return errors.New("the bulk load took only a part of the objects")
	}
	return failed
}

// each makes the objects of the whole cluster. With a pool, applications are
// made by several goroutines, and create must allow for that.
func (c *Cluster) each(ctx context.Context, create func(runtime.Object) (types.UID, error), pool *pool) error {
	made := 0
	if err := c.catalog.ground(func(obj runtime.Object) error {
		made++
		if n, ok := obj.(*corev1.Node); ok {
			c.nodes = append(c.nodes, &node{name: n.Name})
		}
		_, err := create(obj)
		return err
	}); err != nil {
		return err
	}
	for ; made < c.opts.Objects && ctx.Err() == nil; c.nextApp++ {
		app := c.catalog.app(c.nextApp)
		made += app.size()
		work := func() error {
			pods, err := app.emit(c.nodes, c.catalog.opts.Now, create)
			if err != nil {
				return err
			}
			pool.guard(func() { c.register(app, pods) })
			return nil
		}
		if err := pool.run(work); err != nil {
			break
		}
	}
	return errors.Join(pool.wait(), ctx.Err())
}

// register takes an application into the model.
func (c *Cluster) register(a *app, pods []*pod) {
	c.addWorkload(a.workload)
	for _, p := range pods {
		c.addPod(p)
	}
	c.settings = append(c.settings, objectName{a.workload.namespace, a.workload.name + "-config"})
}

func randomUID(r *rand.Rand) types.UID {
	a, b := r.Uint64(), r.Uint64()
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, uint16(b)&0x3fff|0x8000, b>>16))
}

// populateAPI creates the objects one by one.
func (c *Cluster) populateAPI(ctx context.Context) error {
	return c.each(ctx, func(obj runtime.Object) (types.UID, error) { return c.create(ctx, obj) }, newPool(writers))
}

// pool runs functions on a limited number of goroutines and keeps the first
// error. A nil pool runs them at once.
type pool struct {
	places chan struct{}
	group  sync.WaitGroup
	mu     sync.Mutex
	err    error // guarded by mu
}

func newPool(n int) *pool { return &pool{places: make(chan struct{}, n)} }

// run starts f when there is a place. It returns the error of an earlier f.
func (p *pool) run(f func() error) error {
	if p == nil {
		return f()
	}
	p.places <- struct{}{}
	p.group.Go(func() {
		defer func() { <-p.places }()
		if err := f(); err != nil {
			p.guard(func() {
				if p.err == nil {
					p.err = err
				}
			})
		}
	})
	return p.failed()
}

func (p *pool) failed() (err error) {
	p.guard(func() { err = p.err })
	return err
}

func (p *pool) guard(f func()) {
	if p == nil {
		f()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *pool) wait() error {
	if p == nil {
		return nil
	}
	p.group.Wait()
	return p.failed()
}
