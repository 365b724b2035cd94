package engine

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Who waits for a version is answered by the events, bookmarks and lists that come
// anyway. Where nothing comes, as the write that gave the version was of an object that
// is not selected, only a bookmark would, about once a minute. So after a while the
// server is asked, once. A small set is listed again. For a large one only the version is
// asked for, which shows whether the server has it at all, while the watch goes on: a
// watch that begins anew gets no bookmark for what happened before it.

const (
	// askAfter is how long nothing must have come before the server is asked.
	askAfter = 300 * time.Millisecond
	// askPause is how long after one question the next one may follow.
	askPause = 2 * time.Second
	// smallSet is what a collection weighs at most that is listed to answer one.
	smallSet = 1 << 20
)

// errAsked ends a watch so that the server is asked for its version.
var errAsked = errors.New("somebody waits for a version that does not come")

// asking is what a partition knows about asking the server.
type asking struct {
	movedAt time.Time // when the last version was noted
	askedAt time.Time
	due     bool           // a question is due
	ask     func()         // has the reflector ask; nil while it cannot
	asks    sync.WaitGroup // calls of it; added to while it is not nil
	timer   *time.Timer
	armed   bool
}

// askLaterLocked has the server be asked after a while, if somebody still waits then.
func (p *Partition) askLaterLocked() {
	if p.armed || p.due {
		return
	}
	p.armed = true
	if p.timer == nil {
		p.timer = time.AfterFunc(askAfter, p.askNow)
	} else {
		p.timer.Reset(askAfter)
	}
}

// askNow has the server be asked if nothing has come for a while and somebody waits on
// whose behalf it was not asked yet.
func (p *Partition) askNow() {
	p.mu.Lock()
	p.armed = false
	if p.wantedLocked() == 0 {
		p.mu.Unlock()
		return
	}
	wait := max(askAfter-time.Since(p.movedAt), askPause-time.Since(p.askedAt))
	if p.unconfirmed { // which the server is being asked about
		wait = max(wait, askAfter)
	}
	if wait > 0 {
		p.armed = true
		p.timer.Reset(wait)
		p.mu.Unlock()
		return
	}
	p.due = true
	p.askLocked()
	p.mu.Unlock()
}

// askLocked has the reflector ask, if it can.
func (p *Partition) askLocked() {
	if p.ask != nil {
		p.asks.Go(p.ask)
	}
}

// wantedLocked is the highest version on whose behalf the server was not asked yet.
func (p *Partition) wantedLocked() (most uint64) {
	for _, w := range p.waiters {
		if !w.asked {
			most = max(most, w.version)
		}
	}
	return most
}

// attend has a question that is due, or becomes due, asked by calling a function, until
// the result is called, which waits for the function to return.
func (p *Partition) attend(ask func()) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ask = ask
	if p.due = p.due && p.wantedLocked() != 0; p.due {
		p.askLocked()
	}
	return func() {
		p.mu.Lock()
		p.ask = nil
		p.mu.Unlock()
		p.asks.Wait()
	}
}

// takeQuestion reports whether there still is something to ask, which is done on behalf
// of all who wait now.
func (p *Partition) takeQuestion() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due = false
	wanted := p.wantedLocked() != 0
	if wanted {
		p.askedAt = time.Now()
	}
	for _, w := range p.waiters {
		w.asked = true
	}
	return wanted
}

// attend has questions asked while a watch goes on, until the result is called.
func (r *Reflector) attend(dog *watchdog) (leave func()) {
	ctx, cancel := context.WithCancel(dog)
	stop := r.part.attend(func() {
		if sent, _ := r.collection.Weight(); sent <= smallSet && r.collection.Len() <= inPlace {
			dog.cancel(errAsked)
		} else {
			r.askAside(ctx, dog)
		}
	})
	return func() {
		cancel()
		stop()
	}
}

// askAside asks for the server's version while the watch goes on.
func (r *Reflector) askAside(ctx context.Context, dog *watchdog) {
	if !r.part.takeQuestion() {
		return
	}
	read, reached := r.part.beginRead(), r.part.Version()
	version, err := r.askVersion(ctx, r.options.Silence, ListOptions{Limit: 1, Probe: true})
	switch {
	case err != nil: // the watch will show what is wrong
	case version.Before(reached):
		dog.cancel(errWentBack)
	default:
		r.part.proved(version, read)
	}
}

// incomparable reports whether what the store has reached does not say that it has
// everything before.
func (r *Reflector) incomparable() bool {
	return r.order.apart || r.order.unordered || r.in.objects && !r.in.trusted || r.version.number == 0
}
