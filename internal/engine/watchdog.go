package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// watchdog ends a request whose server has been silent for too long. Its context
// is the request's.
type watchdog struct {
	context.Context
	silence time.Duration
	cancel  context.CancelCauseFunc
	timer   *time.Timer
}

func newWatchdog(ctx context.Context, silence time.Duration) *watchdog {
	ctx, cancel := context.WithCancelCause(ctx)
	return &watchdog{
		Context: ctx,
		silence: silence,
		cancel:  cancel,
		timer:   time.AfterFunc(silence, func() { cancel(errStalled) }),
	}
}

// only has the watchdog call a function where it would end the request.
func (w *watchdog) only(f func()) *watchdog {
	w.timer.Stop()
	w.timer = time.AfterFunc(w.silence, f)
	return w
}

// alive notes that the server sent something.
func (w *watchdog) alive() { w.timer.Reset(w.silence) }

// release ends the request, however it went.
func (w *watchdog) release() {
	w.timer.Stop()
	w.cancel(nil)
}

// cause prefers the reason for which we ended the request to the error that this
// led to.
func (w *watchdog) cause(err error) error {
	if cause := context.Cause(w); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// watchTimeout is how long a watch is asked to last: 5 to 10 minutes, at random,
// so that the watches of many clients do not end together.
func watchTimeout() time.Duration {
	return 5*time.Minute + time.Duration(rand.Int64N(int64(5*time.Minute)))
}
