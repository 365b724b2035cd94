package debug

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kinform/kinform/internal/engine"
)

// subscriberName is what the page calls itself among an informer's handlers.
const subscriberName = "the debug page"

// watcher watches one informer while somebody looks. It holds on to few states, and
// decodes none before somebody is to see it.
type watcher struct {
	informer named
	engine   *engine.Informer
	sub      *engine.Subscription
	began    time.Time

	mu      sync.Mutex
	events  uint64
	sampled uint64    // how many of them are in the samples
	at      time.Time // when the last sample was taken
	rates   []float64 // of events a second, the oldest first
	hot     hotList
	recent  changeQueue
	readers map[*reader]bool
}

// How much is remembered of an informer: seconds of rates, and bytes of states.
const (
	longestChart = 120
	recentBytes  = 256 << 10
	recentCount  = 50
)

func watch(inf named, e *engine.Informer) *watcher {
	now := time.Now()
	w := &watcher{informer: inf, engine: e, began: now, at: now, readers: map[*reader]bool{}}
	w.recent = changeQueue{bytes: recentBytes, count: recentCount}
	w.sub = e.Subscribe(w.handle, engine.SubscribeOptions{Name: subscriberName, ChangesOnly: true})
	return w
}

func (w *watcher) stop() { w.sub.Stop() }

// handle counts a change, and passes it to who reads. It is called by the informer.
func (w *watcher) handle(_ context.Context, d engine.Delta) {
	if d.Initial || d.Kind == engine.Resynced {
		return
	}
	c := newChange(w.informer, d)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events++
	w.hot.add(c.key, c.at)
	w.recent.push(c)
	for r := range w.readers {
		r.offer(c)
	}
}

// sample notes how much has happened since the last sample.
func (w *watcher) sample(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	passed := now.Sub(w.at).Seconds()
	if passed <= 0 {
		return
	}
	if len(w.rates) == longestChart {
		w.rates = slices.Delete(w.rates, 0, 1)
	}
	w.rates = append(w.rates, float64(w.events-w.sampled)/passed)
	w.sampled, w.at = w.events, now
}

// chart returns the events of each second, the oldest first.
func (w *watcher) chart() []float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]float64{}, w.rates...)
}

// changes returns the last changes that a filter passes, the newest first.
func (w *watcher) changes(f filter) []shownChange {
	w.mu.Lock()
	recent := slices.Clone(w.recent.waiting)
	w.mu.Unlock()
	shown := []shownChange{}
	for _, c := range slices.Backward(recent) {
		if f.matches(c.key, c.labels) {
			shown = append(shown, c.show())
		}
	}
	return shown
}

// hottest returns the objects that changed most since the page was opened.
func (w *watcher) hottest() []hotObject {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hot.top(mostRanked)
}
