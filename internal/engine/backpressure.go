package engine

import (
	"context"
	"time"
)

// A watch can be read faster than handlers take its changes. A short wait then saves
// work: merged changes are lost to the handlers, and handlers that are far apart no
// longer find each other's objects decoded. So the reflector waits for the queues to
// have room, but not for long: a handler that does not make it in time is not waited
// for again until it has caught up.

// patience is how long a batch waits for the subscribers: far less than a server
// bears from a slow reader, and enough for a queue's worth of quick calls.
const patience = 50 * time.Millisecond

// waitForRoom waits until no queue is more than half full, or patience ends.
func (c *Collection) waitForRoom(ctx context.Context) {
	c.write.Lock()
	subs := c.subs
	c.write.Unlock()
	var timer *time.Timer
	for _, s := range subs {
		room := s.queue.wantRoom()
		if room == nil {
			continue
		}
		if timer == nil {
			timer = time.NewTimer(patience)
			defer timer.Stop()
		}
		select {
		case <-room:
		case <-ctx.Done():
			return
		case <-timer.C:
			s.queue.giveUp()
			timer.Reset(0) // for the others, too
		}
	}
}

// wantRoom returns a channel that is closed when the queue is at most half full; nil
// if it already is, or if the handler is too slow to wait for.
func (q *DeltaFIFO) wantRoom() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.latest != nil || q.slow || q.roomyLocked() {
		return nil
	}
	if q.room == nil { // the reflectors of several namespaces wait for one
		q.room = make(chan struct{})
	}
	return q.room
}

func (q *DeltaFIFO) giveUp() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.slow = true
}
