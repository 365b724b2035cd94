package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Who waits for a version is answered by the events, bookmarks and lists that come
// anyway. Where nothing comes, as the write that gave the version was of an object that
// is not selected, only a bookmark would, about once a minute. So after a while the
// server is asked, once: a small set is listed again; for a large one the version is
// asked for, and then a watch that soon ends, as servers send a bookmark before the end
// of a watch. A consistent answer also shows that the server does not have that version.

const (
	// askAfter is how long nothing must have come before the server is asked.
	askAfter = 300 * time.Millisecond
	// askPause is how long after one question the next one may follow.
	askPause = 2 * time.Second
	// smallSet is what a collection weighs at most that is listed to answer one.
	smallSet = 1 << 20
	// endsSoon is how long a watch is to last that is opened for the bookmark before
	// its end, which comes two seconds before.
	endsSoon = 3 * time.Second
)

// errAsked ends a watch so that the server is asked for its version.
var errAsked = errors.New("somebody waits for a version that does not come")

// asking is what a partition knows about asking the server.
type asking struct {
	movedAt time.Time // when the last version was noted
	askedAt time.Time
	due     bool   // a question is due
	ask     func() // has the reflector ask; nil while it cannot
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
	if wait := max(askAfter-time.Since(p.movedAt), askPause-time.Since(p.askedAt)); wait > 0 {
		p.armed = true
		p.timer.Reset(wait)
		p.mu.Unlock()
		return
	}
	p.due = true
	ask := p.ask
	p.mu.Unlock()
	if ask != nil {
		ask()
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
// the result is called.
func (p *Partition) attend(ask func()) (leave func()) {
	p.mu.Lock()
	p.ask = ask
	p.due = p.due && p.wantedLocked() != 0
	due := p.due
	p.mu.Unlock()
	if due {
		ask()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ask = nil
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

// waited reports whether somebody waits for a higher version.
func (p *Partition) waited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiters) > 0
}

// asked finds out for those who wait whether the server has reached their version, and
// has it say so in a list or a watch.
func (r *Reflector) asked(ctx context.Context) state {
	if !r.part.takeQuestion() {
		return r.watch
	}
	if sent, _ := r.collection.Weight(); sent <= smallSet && r.collection.Len() <= inPlace {
		r.consistent = true
		return r.list
	}
	read := r.part.beginRead()
	version, err := r.askVersion(ctx, r.options.Silence, ListOptions{Limit: 1, Probe: true})
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		r.suspect, r.probedAt = true, time.Time{} // the watch will show what is wrong
		return r.watch
	case version.Before(r.version):
		r.consistent = true
		return r.list
	}
	r.part.proved(version, read)
	r.short = r.part.waited()
	return r.watch
}

// watchTimeout is how long a watch is asked to last: 5 to 10 minutes, at random,
// so that the watches of many clients do not end together, unless a bookmark is wanted.
func (r *Reflector) watchTimeout() time.Duration {
	if r.short {
		r.short = false
		return endsSoon
	}
	return 5*time.Minute + time.Duration(rand.Int64N(int64(5*time.Minute)))
}

// incomparable reports whether what the store has reached does not say that it has
// everything before.
func (r *Reflector) incomparable() bool {
	return r.order.apart || r.order.unordered || r.in.objects && !r.in.trusted || r.version.number == 0
}
