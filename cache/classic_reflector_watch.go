package cache

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// errNoWatch: a source broke its promise.
var errNoWatch = errors.New("the source returned neither a watch nor an error")

// watch applies events to the store, and resumes a watch that ends, until that
// no longer helps: it returns an error if a watch could not begin, and nil
// if one broke, as a list comes next in both cases. The first watch may be given.
func (r *StoreReflector) watch(ctx context.Context, w watch.Interface, resyncFailed <-chan error) error {
	internal := NewRetryWithDeadline(r.MaxInternalErrorRetryDuration, time.Minute, apierrors.IsInternalError, r.clock)
	for ctx.Err() == nil {
		e := events{r: r, store: r.store, started: r.clock.Now(), inOrder: true, advance: r.advance}
		if w == nil {
			var err error
			w, e.inOrder, err = r.beginWatch(ctx)
			switch {
			case err == nil:
			case isWorthWaiting(err):
				r.logger(ctx).V(4).Info("Watch failed - backing off", "err", err)
				if !r.pause(ctx) {
					return nil
				}
				continue
			default:
				return err
			}
		}
		err := e.consume(ctx, w, resyncFailed)
		w.Stop()
		w = nil
		internal.After(err)
		if err != nil && !r.mayResume(ctx, err, internal) {
			return nil
		}
	}
	if w != nil {
		w.Stop()
	}
	return nil
}

// beginWatch watches from what the store has reached. Without that, the server
// begins with events for all objects, in no order of versions.
func (r *StoreReflector) beginWatch(ctx context.Context) (w watch.Interface, inOrder bool, err error) {
	version := r.LastSyncResourceVersion()
	w, err = r.source.WatchWithContext(ctx, metav1.ListOptions{
		ResourceVersion:     version,
		TimeoutSeconds:      r.watchTimeout(),
		AllowWatchBookmarks: true,
	})
	if err != nil {
		return nil, false, err
	}
	if w == nil {
		return nil, false, errNoWatch
	}
	return w, version != "" && version != "0", nil
}

// mayResume decides, after a watch broke, whether another may continue where it was;
// it waits if the server asks for that.
func (r *StoreReflector) mayResume(ctx context.Context, err error, internal RetryWithDeadline) bool {
	log := r.logger(ctx)
	switch {
	case errors.Is(err, errStopped):
		return false
	case isExpired(err):
		// The list that follows asks for nothing older than what we have, so that
		// it need not be the newest.
		log.V(4).Info("Watch closed", "err", err)
		return false
	case apierrors.IsTooManyRequests(err):
		log.V(2).Info("Watch returned 429 - backing off")
		return r.pause(ctx)
	case apierrors.IsInternalError(err) && internal.ShouldRetry():
		log.V(2).Info("Retrying watch after internal error", "err", err)
		return true
	}
	log.Info("Warning: watch ended with error", "err", err)
	return false
}

// advance notes what the store has reached.
func (r *StoreReflector) advance(version string) {
	r.setVersion(version)
	if updater, ok := r.store.(ResourceVersionUpdater); ok {
		updater.UpdateResourceVersion(version)
	}
}
