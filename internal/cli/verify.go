package cli

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/kinform/kinform"
)

// ledger holds what the events of each target add up to: the version that each
// object has by what was delivered.
type ledger struct {
	mu       sync.Mutex
	versions map[*target]map[string]string
	changed  chan struct{} // holds a token when something was entered
}

func newLedger() *ledger {
	return &ledger{versions: map[*target]map[string]string{}, changed: make(chan struct{}, 1)}
}

func (l *ledger) enter(t *target, kind kinform.EventType, key, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.versions[t] == nil {
		l.versions[t] = map[string]string{}
	}
	if kind == kinform.EventDeleted {
		delete(l.versions[t], key)
	} else {
		l.versions[t][key] = version
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

func (l *ledger) of(t *target) map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.versions[t])
}

// catchUp is how long the cache may go without a change while it differs from the
// server.
const catchUp = 10 * time.Second

// verify compares what the server lists, now that nothing changes any more, with
// the cache, field by field, and with what the events add up to. It returns the
// number of objects.
func (d *demo) verify(ctx context.Context) (int, error) {
	objects := 0
	for _, r := range d.resources {
		n, err := d.await(ctx, r)
		if err != nil {
			return 0, err
		}
		objects += n
	}
	return objects, nil
}

// await waits until a cache shows what the server lists, and returns how many
// objects that are. Each event may have brought it there; the server's last
// change may have been under way, so it is asked each time.
func (d *demo) await(ctx context.Context, r demoResource) (int, error) {
	for {
		n, difference, err := r.differs(ctx, d.ledger.of(r.target))
		switch {
		case err != nil:
			return 0, explain("cannot check "+r.name, err, d.server)
		case difference == "":
			return n, nil
		}
		select {
		case <-d.ledger.changed:
		case <-time.After(catchUp):
			return 0, &problem{what: "the cache of " + r.name + " does not equal the server's list", why: difference}
		}
	}
}
