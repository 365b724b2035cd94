package kinform

import (
	"context"
	"time"

	"github.com/kinform/kinform/internal/engine"
)

// ErrLeft says that a subscription has ended.
var ErrLeft = engine.ErrLeft

// ErrInside says that a handler has called what waits for the handler.
var ErrInside = engine.ErrInside

// ReplayOptions say how fast a replay is. The zero value works.
type ReplayOptions struct {
	// PerSecond is how many objects are delivered in a second at most. Zero or less is the
	// default, 1000. Set it to what the handler's work may cost others, such as requests
	// that it makes for each object.
	PerSecond int
	// Over is how long the replay takes at least; it counts instead of PerSecond. Zero or
	// less is the default: as long as PerSecond has it take.
	Over time.Duration
}

// Replay calls the handler again for every object in the store, with EventResynced, and
// returns for how many when the handler has returned from the last. It is what people hope
// for from a resync, which reminds handlers of everything at once, at an interval, whether
// there is a reason or not. Replay is called for a reason: the handler's configuration has
// changed, or what it writes to was lost.
//
//	n, err := sub.Replay(ctx, kinform.ReplayOptions{Over: 10 * time.Minute})
//
// It makes no request and decodes nothing that the handler does not read. The objects are
// queued a few at a time, the next ones when the handler has returned from the last:
// changes are delivered between them, in order, and little memory is needed. What is
// deleted meanwhile is not replayed after its EventDeleted. What is added meanwhile
// may be replayed or not. Where a change of an object waits and events are merged, the
// change is delivered and takes the place of the replay.
//
// Replay waits until the subscription has synced. It cannot be called by its handler, but
// by a goroutine that the handler starts. Where the informer has stopped, it waits until
// it runs again.
//
// Possible errors: ErrLeft, ErrInside, the cause of the end of ctx.
func (s *Subscription) Replay(ctx context.Context, o ReplayOptions) (int, error) {
	return s.sub.Replay(ctx, engine.ReplayOptions(o))
}
