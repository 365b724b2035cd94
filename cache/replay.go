package cache

import (
	"context"
	"fmt"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/engine"
)

// Replay calls a handler of a shared informer again for every object of the store, as
// kinform's Subscription.Replay does, with OnUpdate and the same object twice. A
// FilteringUpdateHandler is called for them, too. Handle is what AddEventHandler returned.
//
// Possible errors: engine.ErrLeft, engine.ErrInside, the cause of the end of ctx; that the
// informer is not kinform's.
func Replay(ctx context.Context, handle ResourceEventHandlerRegistration, o kinform.ReplayOptions) (int, error) {
	r, ok := handle.(*registration)
	if !ok {
		return 0, fmt.Errorf("%T is not a registration of an informer of kinform's", handle)
	}
	if r.isInside() {
		return 0, engine.ErrInside
	}
	select {
	case <-r.synced:
	case <-r.ended:
		return 0, engine.ErrLeft
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	r.informer.mu.Lock()
	sub := r.sub
	r.informer.mu.Unlock()
	return sub.Replay(ctx, engine.ReplayOptions(o))
}
