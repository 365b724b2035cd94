package engine

import (
	"context"
	"errors"
	"time"
)

// ErrLeft says that a subscription has ended.
var ErrLeft = errors.New("the subscription has ended")

// ErrInside says that a handler has called what waits for the handler.
var ErrInside = errors.New("a handler cannot wait for itself: call it in a goroutine")

// ReplayOptions say how fast a replay is. The zero value works.
type ReplayOptions struct {
	// PerSecond is how many objects are delivered in a second at most. Default: 1000.
	PerSecond int
	// Over is how long the replay takes at least, whatever PerSecond is. Default: as long
	// as PerSecond has it take.
	Over time.Duration
}

const (
	defaultReplay = 1000
	// replaySteps is into how many parts the objects of a second are divided.
	replaySteps = 10
)

// rate is how many objects are delivered in a second.
func (o ReplayOptions) rate(objects int) float64 {
	switch {
	case o.Over > 0:
		return max(float64(objects), 1) / o.Over.Seconds()
	case o.PerSecond > 0:
		return float64(o.PerSecond)
	}
	return defaultReplay
}

// Replay calls the handler again for every object in the store, with Resynced, and returns
// how often. It waits until the subscription has synced.
//
// The objects are queued a few at a time, the next ones when the handler has returned from
// the last, so that a replay takes no memory to speak of, and changes are delivered
// between them. They are taken from the store when they are queued: what was deleted by
// then is left out, and what changes later is delivered later. An object that is added
// meanwhile may be replayed or not.
//
// Possible errors: ErrLeft, ErrInside, the cause of the end of ctx.
func (s *Subscription) Replay(ctx context.Context, o ReplayOptions) (int, error) {
	if s.Inside() {
		return 0, ErrInside
	}
	if err := s.await(ctx, s.synced); err != nil {
		return 0, err
	}
	rate := o.rate(s.collection.Len())
	most := min(max(int(rate/replaySteps), 1), takeAtMost)
	began, replayed := time.Now(), 0
	for at := (&replayCursor{}); ; {
		n, done := s.replayPart(at, most)
		if n == 0 {
			return replayed, nil
		}
		if err := s.await(ctx, done); err != nil {
			return replayed, err
		}
		replayed += n
		rate = max(rate, o.rate(s.collection.Len())) // more may have come into the scope
		due := began.Add(time.Duration(float64(replayed) / rate * float64(time.Second)))
		if err := s.pause(ctx, time.Until(due)); err != nil {
			return replayed, err
		}
	}
}

// replayCursor is how far a replay has come.
type replayCursor struct {
	slot  int
	moves int // of the table that the slot is in
}

// replayPart queues the next objects. Done is closed when they are delivered.
func (s *Subscription) replayPart(at *replayCursor, most int) (n int, done <-chan struct{}) {
	c := s.collection
	c.write.Lock()
	defer c.write.Unlock()
	if at.moves != c.table.moves {
		// Few are left, in other places: they are all replayed.
		*at = replayCursor{moves: c.table.moves}
	}
	var part []Delta
	now := stampOf(time.Now())
	for weight := int64(0); at.slot < c.table.records.Slots() && len(part) < most && weight < takeWeight; at.slot++ {
		r := c.table.at(slot(at.slot))
		if r == nil || c.untold(r) {
			continue
		}
		part = append(part, Delta{Kind: Resynced, Replayed: true, Old: r, New: r, stamp: now})
		weight += part[len(part)-1].weight()
	}
	if len(part) == 0 {
		return 0, nil
	}
	mark := make(chan struct{})
	s.mu.Lock()
	s.parts = append(s.parts, mark)
	s.mu.Unlock()
	s.queue.push(append(part, Delta{Kind: replayEnd}), false)
	return len(part), mark
}

// replayed notes that the handler has returned from a part of a replay.
func (s *Subscription) replayed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.parts[0])
	s.parts = s.parts[1:]
}

// await waits for a channel to be closed.
func (s *Subscription) await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-s.left:
		return ErrLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pause waits for a while.
func (s *Subscription) pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.left:
		return ErrLeft
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
