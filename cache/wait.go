package cache

import (
	"context"
	"slices"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// syncedPoll is how often functions are asked whether they have synced. What can
// be waited for is a [DoneChecker]: see [WaitFor].
const syncedPoll = 100 * time.Millisecond

// WaitForCacheSync asks until all say yes, which is true, or until stopCh is
// closed, which is false.
func WaitForCacheSync(stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	if allSynced(cacheSyncs) {
		return true
	}
	ticker := time.NewTicker(syncedPoll)
	defer ticker.Stop()
	for {
		select {
		case <-stopCh:
			return false
		case <-ticker.C:
		}
		if allSynced(cacheSyncs) {
			return true
		}
	}
}

func allSynced(cacheSyncs []InformerSynced) bool {
	for _, synced := range cacheSyncs {
		if !synced() {
			return false
		}
	}
	return true
}

// WaitForNamedCacheSync is [WaitForCacheSync] that logs the name of the waiting
// controller.
func WaitForNamedCacheSync(controllerName string, stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	return waitLogged(context.Background(), klog.Background().WithValues("controller", controllerName), stopCh, cacheSyncs)
}

// WaitForNamedCacheSyncWithContext is [WaitForCacheSync] that logs with the
// context's logger.
func WaitForNamedCacheSyncWithContext(ctx context.Context, cacheSyncs ...InformerSynced) bool {
	return waitLogged(ctx, klog.FromContext(ctx), ctx.Done(), cacheSyncs)
}

func waitLogged(ctx context.Context, log klog.Logger, stopCh <-chan struct{}, cacheSyncs []InformerSynced) bool {
	log.Info("Waiting for caches to sync")
	if !WaitForCacheSync(stopCh, cacheSyncs...) {
		utilruntime.HandleErrorWithContext(klog.NewContext(ctx, log), nil, "Unable to sync caches")
		return false
	}
	log.Info("Caches are synced")
	return true
}

// WaitFor waits, without polling, until all are done, which is true, or until ctx
// ends before that, which is false. If what is not empty, the progress is logged
// under that name, at the caller's line: each checker as soon as it is done.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	log := klog.LoggerWithValues(klog.FromContext(ctx), "for", what).WithCallDepth(1)
	if what == "" {
		log = klog.Logger{} // of no sink: silent
	}
	log.Info("Waiting")
	ended := make(chan DoneChecker) // done, or not before ctx ended
	for _, checker := range checkers {
		go func() {
			select {
			case <-checker.Done():
			case <-ctx.Done():
			}
			ended <- checker
		}()
	}
	var undone []string
	for range checkers { // logged here: the caller is not on the goroutines' stacks
		if checker := <-ended; IsDone(checker) {
			log.Info("Done waiting", "instance", checker.Name())
		} else {
			undone = append(undone, checker.Name())
		}
	}
	if len(undone) > 0 {
		slices.Sort(undone)
		log.Info("Timed out waiting", "cause", context.Cause(ctx), "instances", undone)
	}
	return len(undone) == 0
}

// IsDone reports, without waiting, whether an activity is over.
func IsDone(checker DoneChecker) bool {
	select {
	case <-checker.Done():
		return true
	default:
		return false
	}
}
