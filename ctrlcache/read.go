package ctrlcache

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform"
	dropins "github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/core"
	"github.com/kinform/kinform/internal/engine"
)

// Get reads an object into out.
//
// Possible errors: NotFound; *cache.ErrCacheNotStarted; *cache.ErrResourceNotCached;
// Timeout, if ctx ends before the kind has synced, which names the cause.
func (c *informerCache) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	o := (&client.GetOptions{}).ApplyOptions(opts)
	f, err := c.formOf(out)
	if err != nil {
		return err
	}
	k, err := c.kindToRead(f.gvk)
	if err != nil {
		return err
	}
	scope, ok := k.scope(key.Namespace)
	if !ok {
		return fmt.Errorf("unable to get: %v because of unknown namespace for the cache", key)
	}
	m, err := c.readable(ctx, k, f, scope, k.storeKey(key))
	if err != nil {
		return err
	}
	r := m.records.Record(k.storeKey(key))
	if r == nil {
		// The resource is only for the message, which names the kind.
		return apierrors.NewNotFound(schema.GroupResource{Group: f.gvk.Group, Resource: f.gvk.Kind}, key.Name)
	}
	return m.read(r, out, m.shares(o.UnsafeDisableDeepCopy), engine.Read)
}

func (k *kind) storeKey(key client.ObjectKey) string {
	if !k.namespaced || key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// kindToRead returns what is known of a kind that somebody reads. The server is not
// asked about kinds that must have an informer first.
func (c *informerCache) kindToRead(gvk schema.GroupVersionKind) (*kind, error) {
	if !c.options.ReaderFailOnMissingInformer {
		return c.kind(gvk)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	k := c.kinds[gvk]
	if k == nil {
		return nil, &cache.ErrResourceNotCached{GVK: gvk}
	}
	return k, nil
}

// readable returns a member that has synced, and has what was written of some objects, or
// of all if none are given.
func (c *informerCache) readable(ctx context.Context, k *kind, f form, scope string, keys ...string) (*member, error) {
	m := c.known(memberKey{f, scope})
	if m == nil {
		if c.options.ReaderFailOnMissingInformer {
			return nil, &cache.ErrResourceNotCached{GVK: f.gvk}
		}
		var err error
		if m, err = c.member(k, f, scope); err != nil {
			return nil, err
		}
	}
	if !c.hasStarted() {
		return nil, &cache.ErrCacheNotStarted{}
	}
	if err := m.waitSynced(ctx); err != nil || c.writes == nil {
		return m, err
	}
	return m, m.waitForWrites(ctx, c.writes, keys)
}

// waitForWrites waits until the member has what was written, or has ended.
func (m *member) waitForWrites(ctx context.Context, w *kinform.Writes, keys []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.ended, func() { cancel(m.whyNot()) })()
	return dropins.WaitForWrites(ctx, m.informer, w, keys...)
}

// shares reports whether a reader gets objects that others have, too.
func (m *member) shares(asked *bool) bool { return m.share || asked != nil && *asked }

// read reads a record into an object: a shared one, or one that is the caller's own.
func (m *member) read(r *engine.Record, to any, shared bool, use engine.Use) error {
	if shared {
		obj, err := m.records.Object(r)
		if err != nil {
			return err
		}
		return m.form.assign(obj, to)
	}
	obj, err := m.records.Wanted(r, use)
	switch {
	case err != nil:
		return err
	case obj != nil:
		return m.form.copyInto(obj, to)
	}
	if err := m.intoContained(r, to); err != nil {
		if _, known := m.records.Object(r); known != nil {
			return known // it names the object, and was counted
		}
		return core.SecrecyOf(m.kind.resource.GroupResource()).Error(err)
	}
	return nil
}

// intoContained turns a panic of a type's own decoder into an error. A list reads
// objects in goroutines of its own.
func (m *member) intoContained(r *engine.Record, to any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return m.form.into(r, to)
}
