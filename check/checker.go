package check

import (
	"context"
	"iter"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Options of a Checker. Only List is needed, and only by Compare.
type Options struct {
	// Name is shown in violations. Default: the informer's own.
	Name string
	// List returns the server's own list of what the informer selects, in the
	// informer's type, as of now. It should not go through what the informer goes
	// through.
	List func(context.Context) (runtime.Object, error)
	// Equal compares an object of the store with the server's. Default: every field
	// is the same, kind and API version excepted, which lists leave out. Set it where
	// the informer changes objects (transforms, DropManagedFields).
	Equal func(have, server metav1.Object) bool
	// Verify says what is wrong with the content of an object that an event carries,
	// for tests whose objects carry a checksum. Default: nothing is.
	Verify func(metav1.Object) error
	// Epochs returns how often the informer has reported that the server's history went
	// back. Default: what an Informer's Status says; a shared informer never reports it.
	Epochs func() uint64
	// Rescoped: the informer's scope is changed meanwhile (SetScope). What has only left it,
	// or its selectors by a change of its own, may be in the store again, in the same state,
	// when its Deleted is delivered.
	Rescoped bool
	// Keep is how many violations are kept; more are only counted. Default: 100.
	Keep int
	// OnViolation is called for each violation that is kept, when it is found. It may
	// be called by several goroutines.
	OnViolation func(Violation)
}

// Checker checks one informer. Its methods may be called by many goroutines.
type Checker struct {
	target  target
	options Options

	mu          sync.Mutex
	subscribers []*Subscription
	indexes     []index
	violations  []Violation
	total       int
	delivered   Delivered // to subscribers that have stopped
}

// target is an informer as the checker sees it.
type target interface {
	// subscribe has handle called as the options say.
	subscribe(handle func(context.Context, Event), o Subscriber) subscription
	// get returns what the store has under a key.
	get(key string) (metav1.Object, bool)
	// all yields everything in the store.
	all() iter.Seq2[string, metav1.Object]
	// epochs counts how often the server's history is known to have gone back.
	epochs() uint64
	// strict: it promises all of package kinform's contract, and not only what
	// client-go's informers do.
	strict() bool
}

type subscription interface {
	Stop()
	HasSynced() bool
}

// index is one index under check.
type index struct {
	name   string
	values func(metav1.Object) []string // what the function says of an object
	keys   func(value string) []string  // what the index finds
	all    func() []string              // every value that it has; nil: not known
}

func newChecker(t target, o Options) *Checker {
	if o.Equal == nil {
		o.Equal = sameFields
	}
	if o.Epochs == nil {
		o.Epochs = t.epochs
	}
	if o.Keep <= 0 {
		o.Keep = 100
	}
	return &Checker{target: t, options: o}
}

// Delivered counts events that were delivered to subscribers.
type Delivered struct {
	// Initial are the Added of objects that were there when a subscriber joined,
	// Changes all other events but reminders.
	Initial, Changes, Reminders uint64
}

// Total is how many there were of all kinds.
func (t Delivered) Total() uint64 { return t.Initial + t.Changes + t.Reminders }

func (t *Delivered) add(o Delivered) {
	t.Initial += o.Initial
	t.Changes += o.Changes
	t.Reminders += o.Reminders
}

// Delivered counts the events that were delivered to all subscribers.
func (c *Checker) Delivered() Delivered {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.delivered
	for _, s := range c.subscribers {
		n.add(s.Delivered())
	}
	return n
}

// Stop ends all subscriptions, and waits for their handlers.
func (c *Checker) Stop() {
	c.mu.Lock()
	all := append([]*Subscription(nil), c.subscribers...)
	c.mu.Unlock()
	for _, s := range all {
		s.Stop()
	}
}
