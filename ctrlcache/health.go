package ctrlcache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/kinform/kinform/describe"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/humane"
	"github.com/kinform/kinform/internal/inside"
)

// Healthz returns a check that fails while a cache of New runs and something in it has
// not synced. It names what that is, and why. Of any other cache, nothing is known, so
// that the check passes.
//
//	mgr.AddReadyzCheck("cache", ctrlcache.Healthz(mgr.GetCache()))
func Healthz(c cache.Cache) healthz.Checker {
	own, ok := c.(*informerCache)
	if !ok {
		return healthz.Ping
	}
	return func(*http.Request) error { return own.unsynced() }
}

// Inside lets package debug show the informers of the cache, each once, in the order in
// which they were first asked for.
func (c *informerCache) Inside() []inside.Informer {
	members := c.all()
	slices.SortFunc(members, func(a, b *member) int { return cmp.Compare(a.number, b.number) })
	return insideOf(members)
}

// Inside lets package debug show the informers of several scopes.
func (s *several) Inside() []inside.Informer { return insideOf(s.members) }

func insideOf(members []*member) []inside.Informer {
	var informers []toolscache.SharedIndexInformer
	for _, m := range members {
		informers = append(informers, m.informer)
	}
	return inside.Of(informers)
}

// Measure describes the informers that run for package metrics, and has them measure their
// handlers and reads from the first call on.
func (c *informerCache) Measure() (all []describe.Description) {
	for _, m := range c.all() {
		if measured, ok := m.informer.(describe.Measurer); ok {
			all = append(all, measured.Measure()...)
		}
	}
	return all
}

// unsynced says what has not synced.
func (c *informerCache) unsynced() error {
	if !c.hasStarted() {
		return &cache.ErrCacheNotStarted{}
	}
	var errs []error
	for _, m := range c.all() {
		if !m.informer.HasSynced() {
			errs = append(errs, m.whyNot())
		}
	}
	return errors.Join(errs...)
}

// reporting returns what is called when a list or a watch has failed: the program's
// handler, or else a logger. It notes first whether it was a refusal.
func (m *member) reporting(handler toolscache.WatchErrorHandlerWithContext) toolscache.WatchErrorHandlerWithContext {
	if handler == nil {
		handler = m.logFailure
	}
	return func(ctx context.Context, r *toolscache.Reflector, err error) {
		m.refused.set(m.status().Reason.Refusal())
		handler(ctx, r, err)
	}
}

// refusal says whether the last failure was that the server refused a kind.
type refusal struct {
	mu sync.Mutex
	is chan struct{} // closed while it was
}

func (r *refusal) set(refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch known := isClosed(r.is); {
	case refused && !known:
		close(r.is)
	case !refused && known:
		r.is = make(chan struct{})
	}
}

// now returns a channel that is closed when the server has refused the kind, and has
// not failed otherwise since.
func (r *refusal) now() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.is
}

// logFailure logs that a list or a watch has failed, with the cause. That a watch ends,
// or that its version is forgotten, belongs to its life.
func (m *member) logFailure(ctx context.Context, r *toolscache.Reflector, err error) {
	log := logr.FromContextOrDiscard(ctx).WithValues("resource", r.TypeDescription(), "type", "*"+m.form.of.String())
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), errors.Is(err, io.EOF):
		log.V(4).Info("A watch has ended", "cause", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		log.V(1).Info("A watch was cut", "cause", err)
	default:
		log.Error(err, "List or watch failed, and will be tried again")
	}
}

// waitSynced waits until the member has synced. If ctx ends before, the error is a
// Timeout that names the cause.
func (m *member) waitSynced(ctx context.Context) error {
	if m.informer.HasSynced() {
		return nil // even if ctx has ended
	}
	select {
	case <-m.informer.HasSyncedChecker().Done():
		return nil
	case <-m.removed:
	case <-m.ended.Done():
	case <-ctx.Done():
	}
	timeout := apierrors.NewTimeoutError(fmt.Sprintf("failed waiting for *%s Informer to sync: %v", m.form.of, m.whyNot()), 0)
	return &syncError{timeout, m.cause()}
}

// whyNot says why the member has not synced.
func (m *member) whyNot() error {
	switch s := m.status(); {
	case isClosed(m.removed):
		return fmt.Errorf("%s: the informer was removed", s.Source)
	case m.ended.Err() != nil:
		return fmt.Errorf("%s: the cache has stopped", s.Source)
	case s.Cause != nil:
		return fmt.Errorf("%s: %s (%s): %w", s.Source, humane.Count(s.Attempts, "failed attempt"), s.Reason, s.Cause)
	default:
		return fmt.Errorf("%s: still %s, %s so far", s.Source, s.State, humane.Count(s.Listed, "object"))
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (m *member) cause() error { return m.status().Cause }

func (m *member) status() engine.Status {
	return m.informer.(dropin.Health).Health()[0] // it has one source
}

// syncError is a Timeout, and also what caused it, for errors.Is and errors.As.
type syncError struct {
	*apierrors.StatusError
	cause error
}

func (e *syncError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.StatusError}
	}
	return []error{e.StatusError, e.cause}
}
