package apisim

import (
	"net/http"
	"sync"
)

// Follower is a second API server of a cluster: what a kube-apiserver is to
// another one that shares its etcd. It has the same objects and versions, but
// keeps them in a watch cache of its own, which can lag.
//
// As on a real server, writes, single objects and reads without a resource
// version are answered from the shared storage, and are never old. Lists and
// watches with a resource version are answered from the cache: a list from any
// version ("0") may be old, one that is not to be older than a version which
// the cache does not have waits for it and is refused in the end, a watch from
// such a version sends nothing until the cache has passed it.
//
// A follower does not follow Restore, nor custom resources that are defined
// after it began.
type Follower struct {
	leader *Server
	cache  *Server // has no connections of its own

	mu    sync.Mutex
	held  bool
	queue []change // what the cache has not seen yet
}

// change is an event of one of the leader's collections.
type change struct {
	collection *collection
	event      *event
}

// Follow returns a follower that has what the server has, and does not lag
// until it is made to. It is an http.Handler, to be put in front of the server
// (see Options.Front), and needs no closing.
func (s *Server) Follow() *Follower {
	f := &Follower{leader: s, cache: &Server{options: s.options, store: newStore(s.options.History)}}
	f.cache.store.onChange = nil // the leader sends what one change brings about
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	f.cache.store.restore(s.snapshotLocked())
	s.store.followers = append(s.store.followers, f.see)
	return f
}

// Hold has the cache see no change that comes from now on, until Release.
func (f *Follower) Hold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = true
}

// Release has the cache see what was held back, and everything after it.
func (f *Follower) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = false
	for _, c := range f.queue {
		f.applyLocked(c)
	}
	f.queue = nil
}

// ForgetHistory drops the history of the cache; see Server.ForgetHistory.
func (f *Follower) ForgetHistory() { f.cache.ForgetHistory() }

// see is called for a change while the leader's store is locked.
func (f *Follower) see(c *collection, e *event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held {
		f.queue = append(f.queue, change{c, e})
		return
	}
	f.applyLocked(change{c, e})
}

func (f *Follower) applyLocked(c change) {
	s := f.cache.store
	s.mu.Lock()
	defer s.mu.Unlock()
	for own := range s.collectionsLocked() {
		if own.gr == c.collection.gr {
			s.commitLocked(own, &event{kind: c.event.kind, object: c.event.object, before: c.event.before})
			return
		}
	}
}

// ServeHTTP answers one request.
func (f *Follower) ServeHTTP(w http.ResponseWriter, h *http.Request) {
	r, isResource := parseRequest(h)
	cached := isResource && (r.verb == "list" || r.verb == "watch") && h.URL.Query().Get("resourceVersion") != ""
	if cached {
		f.cache.ServeHTTP(w, h)
	} else {
		f.leader.ServeHTTP(w, h)
	}
}
