package engine

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Handler is called for each delta, one at a time.
type Handler func(ctx context.Context, d Delta)

// SubscribeOptions of one subscriber. The zero value works.
type SubscribeOptions struct {
	// Name is for Status and the log. Default: "subscriber-N".
	Name string
	// Merge says which changes may be merged. Default: Every.
	Merge Merge
	// Limit is how many changes may wait before they are merged per object.
	// Default: 1024.
	Limit int
	// Resync calls the handler again for every object at this interval.
	// Default: never.
	Resync time.Duration
	// View is the one in which the handler reads objects, if it does: then they are
	// decoded ahead of it. Default: none.
	View *View
	// Filter is asked before a delta is delivered, in the goroutine of the handler: if it
	// says false, the handler does not get it. Then only what was added is decoded ahead:
	// of what has changed, nobody knows yet whether it is wanted. If it refuses an Updated
	// that a resync was merged into, it is asked for the Resynced. Default: every delta is
	// delivered.
	Filter func(Delta) bool
	// ChangesOnly: what is in the store is not delivered, only what happens to it from
	// now on. So an object may be Updated or Deleted that was never Added. For those that
	// look on. Default: an Added for each object comes first.
	ChangesOnly bool
	// Synced is closed when the subscription has synced. Default: it makes its own
	// channel.
	Synced chan struct{}
	// Trace is called before the handler is, with the subscriber's name; the handler gets
	// the context that it returns. end is called when the handler has returned, or has
	// panicked. Default: nothing is called.
	Trace func(ctx context.Context, name string, d Delta) (handler context.Context, end func(panicked any))
	// OnPanic is called when the handler panics. Default: the panic is logged; either
	// way the subscriber continues with the next change. If OnPanic panics, so does
	// the program.
	OnPanic func(key string, value any, stack []byte)
}

// Subscription is one subscriber: a queue, a handler, and, while the informer
// runs, a goroutine that leads from one to the other.
type Subscription struct {
	collection *Collection
	queue      *DeltaFIFO
	handler    Handler
	options    SubscribeOptions
	synced     chan struct{}

	ahead  prefetcher
	inHand []Delta // the delta that is being delivered, and what was taken with it

	number    uint64
	timing    timing
	delivered atomic.Uint64
	refused   atomic.Uint64
	panics    atomic.Uint64
	resyncing atomic.Bool // a resync waits in the queue

	mu     sync.Mutex
	cancel context.CancelFunc // ends the present run; nil when none
	ended  chan struct{}      // closed when the present run has ended
	runner uint64             // the goroutine of the present run
	parts  []chan struct{}    // of replays that wait in the queue, closed when they are delivered
	left   chan struct{}      // closed when it is over
	gone   bool               // left is closed
}

// serving is one run of a collection's subscribers.
type serving struct {
	ctx context.Context
	wg  sync.WaitGroup
}

// Subscribe adds a subscriber. It gets an Added for each object in the store, then
// every later change. The handler is called while the collection is served.
func (c *Collection) Subscribe(h Handler, o SubscribeOptions) *Subscription {
	s := &Subscription{
		collection: c,
		queue:      newDeltaFIFO(o.Merge, o.Limit),
		handler:    h,
		options:    o,
		synced:     o.Synced,
		left:       make(chan struct{}),
		ahead:      prefetcher{view: o.View, choosy: o.Filter != nil},
		number:     numbers.Add(1),
	}
	if s.synced == nil {
		s.synced = make(chan struct{})
	}
	c.write.Lock()
	defer c.write.Unlock()
	if s.options.Name == "" {
		s.options.Name = fmt.Sprintf("subscriber-%d", len(c.subs)+1)
	}
	present := c.presentLocked(o)
	if len(c.waiting) == 0 {
		present = append(present, Delta{Kind: initialEnd})
	}
	if len(present) > 0 {
		s.queue.push(present, true)
	}
	c.setSubsLocked(append(slices.Clip(c.subs), s))
	c.resident.readers(len(c.subs))
	if c.live != nil {
		s.start(c.live)
	}
	return s
}

// presentLocked returns what a subscriber gets first; write is held.
func (c *Collection) presentLocked(o SubscribeOptions) []Delta {
	if o.ChangesOnly {
		return nil
	}
	present := make([]Delta, 0, c.table.len()+1)
	now := stampOf(time.Now())
	for r := range c.table.snapshot().All() {
		if !c.untold(r) {
			present = append(present, Delta{Kind: Added, Initial: true, New: r, stamp: now})
		}
	}
	return present
}

// Serve calls the handlers until ctx ends, and returns when all have returned.
func (c *Collection) Serve(ctx context.Context) {
	v := &serving{ctx: ctx}
	c.write.Lock()
	c.live = v
	for _, s := range c.subs {
		s.start(v)
	}
	c.write.Unlock()
	<-ctx.Done()
	c.write.Lock()
	c.live = nil
	c.write.Unlock()
	v.wg.Wait()
}

// Subscriptions returns the subscribers, in the order in which they joined. It waits for
// nobody.
func (c *Collection) Subscriptions() []*Subscription {
	if subs := c.joined.Load(); subs != nil {
		return slices.Clone(*subs)
	}
	return nil
}

// setSubsLocked replaces the subscribers; the caller has the writer's lock.
func (c *Collection) setSubsLocked(subs []*Subscription) {
	c.subs = subs
	c.joined.Store(&subs)
}

func (s *Subscription) start(v *serving) {
	ctx, cancel := context.WithCancel(v.ctx)
	s.mu.Lock()
	s.cancel, s.ended = cancel, make(chan struct{})
	ended := s.ended
	s.mu.Unlock()
	v.wg.Go(func() {
		defer close(ended)
		defer cancel()
		s.goOn(ctx)
	})
}

// goOn runs, and runs again if a handler ended the goroutine (runtime.Goexit, as
// t.FailNow does), which is a panic by another name.
func (s *Subscription) goOn(ctx context.Context) {
	s.mu.Lock()
	s.runner = goroutineID()
	s.mu.Unlock()
	returned := false
	defer func() {
		if returned {
			return
		}
		s.queue.giveBack(s.inHand[1:])
		if ctx.Err() != nil {
			return
		}
		s.panicked(s.inHand[0].Key(), "the handler ended its goroutine")
		again := make(chan struct{})
		go func() {
			defer close(again)
			s.goOn(ctx)
		}()
		<-again
	}()
	s.run(ctx)
	returned = true
}

// run delivers until ctx ends. What was taken and not delivered goes back, for
// the next run.
func (s *Subscription) run(ctx context.Context) {
	defer s.ahead.stop()
	var reminder <-chan time.Time
	if s.options.Resync > 0 {
		t := time.NewTicker(s.options.Resync)
		defer t.Stop()
		reminder = t.C
	}
	for {
		deltas := s.queue.take()
		if deltas == nil {
			select {
			case <-s.queue.wake:
			case <-reminder:
				s.Remind()
			case <-ctx.Done():
				return
			}
			continue
		}
		for i, d := range deltas {
			if ctx.Err() != nil {
				s.queue.giveBack(deltas[i:])
				return
			}
			s.ahead.reach(s.collection, deltas, i)
			if d.marks() {
				s.reached(d)
				continue
			}
			s.inHand = deltas[i:]
			s.deliver(ctx, d)
		}
		s.inHand = nil // it would hold on to the whole batch
	}
}

// reached notes that the handler has come to a mark in the queue.
func (s *Subscription) reached(d Delta) {
	switch d.Kind {
	case initialEnd:
		select {
		case <-s.synced: // partitions have come since
		default:
			close(s.synced)
		}
	case resyncEnd:
		s.resyncing.Store(false)
	case replayEnd:
		s.replayed()
	}
}

// deliver calls the handler, if its filter lets it, and contains the panic of both.
func (s *Subscription) deliver(ctx context.Context, d Delta) {
	var end func(panicked any)
	defer func() {
		p := recover()
		if end != nil {
			end(p)
		}
		if p != nil {
			s.panicked(d.Key(), p)
		}
	}()
	if s.options.Filter != nil && !s.options.Filter(d) {
		s.refused.Add(1)
		if !d.resync || d.Kind != Updated {
			return
		}
		if d = (Delta{Kind: Resynced, Replayed: d.Replayed, stamp: d.stamp, Old: d.New, New: d.New}); !s.options.Filter(d) {
			return
		}
	}
	if s.options.Trace != nil {
		ctx, end = s.options.Trace(ctx, s.options.Name, d)
	}
	watch := s.begin(d)
	s.handler(ctx, d)
	s.delivered.Add(1)
	s.end(d, watch)
}

func (s *Subscription) panicked(key string, p any) {
	n := s.panics.Add(1)
	s.timing.inHand.Store(0)
	s.collection.observe(Observation{Point: PointPanicked, Subscriber: s.options.Name, Key: key})
	if s.options.OnPanic != nil {
		s.options.OnPanic(key, p, debug.Stack())
		return
	}
	if n&(n-1) == 0 {
		s.collection.log.line("handler panicked", "subscriber", s.options.Name, "key", key,
			"panic", fmt.Sprint(p), "panics", n, "stack", string(debug.Stack()))
	}
}

// Remind queues a Resynced for every object, unless the last ones still wait. Where
// the queue merges, an object whose change waits gets none: the change is enough, if the filter passes it.
func (s *Subscription) Remind() {
	c := s.collection
	c.write.Lock()
	defer c.write.Unlock()
	if c.table.len() == 0 || len(c.restored) > 0 || s.resyncing.Swap(true) {
		return
	}
	batch := make([]Delta, 0, c.table.len()+1)
	now := stampOf(time.Now())
	for r := range c.table.snapshot().All() {
		batch = append(batch, Delta{Kind: Resynced, Old: r, New: r, stamp: now})
	}
	s.queue.push(append(batch, Delta{Kind: resyncEnd}), true)
}

// Synced is closed when the handler has returned from every object of the
// initial list.
func (s *Subscription) Synced() <-chan struct{} { return s.synced }

// Stop ends the subscription and waits until the handler has returned. Called
// from the handler itself, it does not wait: the call under way is the last.
func (s *Subscription) Stop() {
	ended := s.Leave()
	if !s.Inside() {
		<-ended
	}
}

// Leave ends the subscription and does not wait. The result is closed when the
// handler has returned.
func (s *Subscription) Leave() <-chan struct{} {
	c := s.collection
	c.write.Lock()
	c.setSubsLocked(slices.DeleteFunc(slices.Clone(c.subs), func(o *Subscription) bool { return o == s }))
	c.resident.readers(len(c.subs))
	c.write.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		s.gone = true
		close(s.left)
	}
	if s.cancel != nil {
		s.cancel()
		return s.ended
	}
	never := make(chan struct{})
	close(never)
	return never
}
