package check

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Subscriber says how a Checker subscribes. The zero value works.
type Subscriber struct {
	// Name is shown in violations. Default: "subscriber".
	Name string
	// Latest, Limit and Resync are those of kinform.SubscribeOptions. A shared
	// informer knows Resync alone.
	Latest bool
	Limit  int
	Resync time.Duration
	// Look has the object itself looked at with each n-th event only: its content,
	// the state before, and what the store has. That needs decoding, all else does
	// not. Default: with every event.
	Look int
	// Then is called in the handler when an event has been checked: to block, to
	// panic, to change the object, to stop the subscription. Default: nothing.
	Then func(context.Context, Event)
	// OnPanic is called when Then panics, as in kinform.SubscribeOptions. A shared
	// informer does not have it.
	OnPanic func(key string, value any, stack []byte)
}

// Event is one event as a subscriber gets it.
type Event interface {
	// Kind is the string of a kinform.EventType.
	Kind() string
	Key() string
	UID() string
	ResourceVersion() string
	Initial() bool
	FinalStateUnknown() bool
	// Object is the newest state, nil if it does not fit the informer's type.
	Object() metav1.Object
	// Old is the state before, nil if there is none.
	Old() metav1.Object
	// Bytes are those that the server sent; nil where the informer has none.
	Bytes() []byte
}

// Subscription is one subscriber of a Checker.
type Subscription struct {
	checker *Checker
	options Subscriber
	under   subscription

	inside  atomic.Int32
	stopped atomic.Bool

	mu        sync.Mutex
	delivered Delivered
	shadow    map[string]state
	// base is the number of epochs that all states of the shadow have seen.
	base   uint64
	recent []line // a ring of the last events, over all objects
	next   int
	// ended: Stop was called before joining had returned.
	ended bool
}

// state is the state of an object that was last delivered to a subscriber.
type state struct {
	uid, version string
	number       uint64 // the version as a number; 0: not comparable
	sum          uint64 // of the bytes
	epoch        uint64 // the last epoch that let it step back
	gone         bool
}

// line is an event, for the report.
type line struct {
	kind, key, uid, version string
	initial, final          bool
	at                      time.Time
}

// remembered is how many events a subscriber remembers for its violations.
const remembered = 2048

var seed = maphash.MakeSeed()

// Subscribe adds a subscriber. It is held against the contract from now on, and
// its shadow takes part in Compare, until it stops.
func (c *Checker) Subscribe(o Subscriber) *Subscription {
	s := c.newSubscription(o)
	// Added first: the handler may be called, and may stop it, at once.
	c.mu.Lock()
	c.subscribers = append(c.subscribers, s)
	c.mu.Unlock()
	s.join()
	return s
}

func (c *Checker) newSubscription(o Subscriber) *Subscription {
	if o.Name == "" {
		o.Name = "subscriber"
	}
	o.Look = max(o.Look, 1)
	return &Subscription{
		checker: c, options: o, shadow: map[string]state{}, base: c.options.Epochs(),
		recent: make([]line, 0, 16),
	}
}

func (s *Subscription) join() {
	under := s.checker.target.subscribe(s.handle, s.options)
	s.mu.Lock()
	s.under = under
	ended := s.ended
	s.mu.Unlock()
	if ended {
		s.Stop()
	}
}

// Stop ends the subscription. Not one event may come after.
func (s *Subscription) Stop() {
	s.mu.Lock()
	under := s.under
	s.ended = true
	s.mu.Unlock()
	if under == nil {
		return // the handler is quicker than Subscribe, which will stop it
	}
	under.Stop()
	if s.checker.target.strict() && s.inside.Load() == 0 { // else it is the handler itself that stops
		s.stopped.Store(true)
	}
	c := s.checker
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.subscribers, s); i >= 0 {
		c.subscribers = slices.Delete(c.subscribers, i, i+1)
		c.delivered.add(s.Delivered())
	}
}

// Delivered counts the events that were delivered to the subscriber.
func (s *Subscription) Delivered() Delivered {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivered
}

// HasSynced reports whether the handler has returned from every object of the
// initial list.
func (s *Subscription) HasSynced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under != nil && s.under.HasSynced()
}

func (s *Subscription) handle(ctx context.Context, ev Event) {
	if s.inside.Add(1) != 1 {
		s.violated(Overlap, ev.Key(), "one call at a time", "a call while another one was under way")
	}
	defer s.inside.Add(-1)
	if s.stopped.Load() {
		s.violated(Stopped, ev.Key(), "no call", "a call after Stop had returned")
	}
	s.note(ev)
	if s.options.Then != nil {
		s.options.Then(ctx, ev)
	}
}

// note replays an event into the shadow, and says what is wrong with it.
func (s *Subscription) note(ev Event) {
	now := state{uid: ev.UID(), version: ev.ResourceVersion()}
	now.number = number(now.version)
	if raw := ev.Bytes(); raw != nil {
		now.sum = maphash.Bytes(seed, raw)
	}
	key := ev.Key()
	s.mu.Lock()
	s.rememberLocked(line{ev.Kind(), key, now.uid, now.version, ev.Initial(), ev.FinalStateUnknown(), time.Now()})
	before, known := s.shadow[key]
	s.countLocked(ev)
	look := s.delivered.Total()%uint64(s.options.Look) == 0
	s.mu.Unlock()
	now.epoch = before.epoch
	now.gone = ev.Kind() == deleted
	s.checkOrder(ev, &now, before, known)
	if look {
		s.checkContent(ev, now)
		s.checkBefore(ev, now, before, known)
		s.checkStoreFirst(ev, now)
	}
	s.mu.Lock()
	s.shadow[key] = now
	s.mu.Unlock()
}

func (s *Subscription) countLocked(ev Event) {
	switch {
	case ev.Kind() == resynced:
		s.delivered.Reminders++
	case ev.Initial():
		s.delivered.Initial++
	default:
		s.delivered.Changes++
	}
}

// The kinds of events, as package kinform names them.
const (
	added    = "added"
	updated  = "updated"
	deleted  = "deleted"
	resynced = "resynced"
)

func (s *Subscription) checkOrder(ev Event, now *state, before state, known bool) {
	kind, key, there := ev.Kind(), ev.Key(), known && !before.gone
	got := fmt.Sprintf("%s @%s after @%s", kind, now.version, before.version)
	switch {
	case kind == added && there:
		s.violated(Order, key, "no second Added", got)
	case kind != added && !there:
		s.violated(Order, key, "Added first", got)
	case kind == resynced && now.version != before.version:
		s.violated(Order, key, "a resync of the state delivered before", got)
	case kind == updated && now.uid != before.uid && s.checker.target.strict():
		s.violated(Order, key, "Deleted and Added for another object of the name", got)
	}
	if !known || now.number == 0 || before.number == 0 {
		return
	}
	back := now.number < before.number || kind == updated && now.number == before.number
	if back && !s.wentBack(now) {
		s.violated(Version, key, "a newer state", got)
	}
}

// wentBack reports whether the informer has reported a new epoch since the state's
// last step back, and notes it.
func (s *Subscription) wentBack(st *state) bool {
	s.mu.Lock()
	seen := max(st.epoch, s.base)
	s.mu.Unlock()
	if n := s.checker.options.Epochs(); n > seen {
		st.epoch = n
		return true
	}
	return false
}

func (s *Subscription) checkContent(ev Event, now state) {
	obj := ev.Object()
	if obj == nil {
		return // it does not fit the informer's type, which the informer reports
	}
	if key := keyOf(obj); key != ev.Key() || obj.GetResourceVersion() != now.version || string(obj.GetUID()) != now.uid {
		s.violated(Content, ev.Key(), fmt.Sprintf("@%s of uid %s", now.version, now.uid),
			fmt.Sprintf("the object %s@%s of uid %s", key, obj.GetResourceVersion(), obj.GetUID()))
	}
	if verify := s.checker.options.Verify; verify != nil {
		if err := verify(obj); err != nil {
			s.violated(Content, ev.Key(), "an object that is whole", fmt.Sprintf("@%s: %v", now.version, err))
		}
	}
}

func (s *Subscription) checkBefore(ev Event, now, before state, known bool) {
	old := ev.Old()
	if old == nil || !known || before.gone {
		return
	}
	if old.GetResourceVersion() != before.version {
		s.violated(Before, ev.Key(), "the state delivered before, @"+before.version,
			fmt.Sprintf("%s @%s from @%s", ev.Kind(), now.version, old.GetResourceVersion()))
	}
}

// checkStoreFirst asks the store for the object of the event. What is no longer there
// was deleted since; Compare sees whether that was delivered, too.
func (s *Subscription) checkStoreFirst(ev Event, now state) {
	obj, ok := s.checker.target.get(ev.Key())
	if !ok {
		return
	}
	n := number(obj.GetResourceVersion())
	behind := n < now.number || now.gone && n == now.number && !s.checker.options.Rescoped
	if n == 0 || now.number == 0 || !behind || s.wentBack(&now) {
		return
	}
	s.violated(StoreFirst, ev.Key(), fmt.Sprintf("@%s or newer in the store", now.version),
		fmt.Sprintf("%s @%s while the store has @%s", ev.Kind(), now.version, obj.GetResourceVersion()))
}

func (s *Subscription) violated(rule Rule, key, want, got string) {
	s.checker.record(Violation{
		Rule: rule, Subscriber: s.options.Name, Key: key, Want: want, Got: got, Recent: s.lately(key),
	})
}

// rememberLocked notes an event for later reports.
func (s *Subscription) rememberLocked(l line) {
	if len(s.recent) < remembered {
		s.recent = append(s.recent, l)
		return
	}
	s.recent[s.next] = l
	s.next = (s.next + 1) % remembered
}

// lately returns the last events of an object.
func (s *Subscription) lately(key string) []string {
	const most = 12
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for i := range s.recent {
		if l := s.recent[(s.next+i)%len(s.recent)]; l.key == key {
			lines = append(lines, l.String())
		}
	}
	return lines[max(0, len(lines)-most):]
}

func (l line) String() string {
	text := fmt.Sprintf("%s %s %s@%s uid %s", l.at.Format("15:04:05.000"), l.kind, l.key, l.version, l.uid)
	if l.initial {
		text += " (initial)"
	}
	if l.final {
		text += " (final state unknown)"
	}
	return text
}
