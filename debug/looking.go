package debug

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// looking is what is done while somebody looks: a watcher for each informer, and once a
// second a look at what they counted. It ends some time after the last look.
type looking struct {
	handler *Handler
	ctx     context.Context
	end     context.CancelFunc

	// Guarded by the handler's lock.
	last time.Time // when somebody looked
	open int       // how many streams are

	mu       sync.Mutex
	watchers []*watcher // in the order of the page
	rows     []row      // of the moment
	rowsAt   time.Time
}

// look notes that somebody looks, and begins what that needs.
func (h *Handler) look() (*looking, *refusal) {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil, closed()
	}
	l, fresh := h.looking, h.looking == nil
	if fresh {
		l = &looking{handler: h}
		l.ctx, l.end = context.WithCancel(context.Background())
		h.looking = l
		h.running.Add(1) // under the lock, so that Close waits for it
		l.mu.Lock()      // others wait until there is something to see
	}
	l.last = time.Now()
	h.mu.Unlock()
	if fresh {
		l.adjustLocked()
		l.mu.Unlock()
		go func() {
			defer h.running.Done()
			l.run()
		}()
	}
	return l, nil
}

func closed() *refusal {
	return refuse(http.StatusServiceUnavailable, "The page is closed: the program is about to end.")
}

// run counts until nobody has looked for a while.
func (l *looking) run() {
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case now := <-second.C:
			l.mu.Lock()
			l.adjustLocked()
			for _, w := range l.watchers {
				w.sample(now)
			}
			l.mu.Unlock()
			if !l.forgotten(now) {
				continue
			}
		case <-l.ctx.Done():
			l.handler.drop(l)
		}
		break
	}
	l.end()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.watchers {
		w.stop()
	}
	l.watchers = nil
}

// forgotten reports whether nobody looks any more, and if so, ends it.
func (l *looking) forgotten(now time.Time) bool {
	h := l.handler
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.open > 0 || now.Sub(l.last) < h.options.Idle {
		return false
	}
	h.looking = nil
	return true
}

func (h *Handler) drop(l *looking) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.looking == l {
		h.looking = nil
	}
}

// adjustLocked makes the watchers those of the informers that there are.
func (l *looking) adjustLocked() {
	old := l.watchers
	l.watchers = nil
	for _, inf := range l.handler.informers() {
		engine := inf.Engine()
		i := slices.IndexFunc(old, func(w *watcher) bool { return w.informer.name == inf.name && w.engine == engine })
		if i >= 0 {
			l.watchers = append(l.watchers, old[i])
			old = slices.Delete(slices.Clone(old), i, i+1)
			continue
		}
		l.watchers = append(l.watchers, watch(inf, engine))
	}
	for _, w := range old {
		w.stop()
	}
}

// all returns the watchers.
func (l *looking) all() []*watcher {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.watchers)
}

// watcher returns that of a name.
func (l *looking) watcher(name string) (*watcher, *refusal) {
	for _, w := range l.all() {
		if w.informer.name == name {
			return w, nil
		}
	}
	return nil, refuse(http.StatusNotFound, "There is no informer of that name here.")
}

// fresh is for how long a look at the informers serves everybody.
const fresh = 500 * time.Millisecond

// overview returns a row for each informer, not older than a moment.
func (l *looking) overview() []row {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.rows == nil || now.Sub(l.rowsAt) >= fresh {
		l.rows = make([]row, 0, len(l.watchers))
		for _, w := range l.watchers {
			l.rows = append(l.rows, w.row(now))
		}
		l.rowsAt = now
	}
	return l.rows
}
