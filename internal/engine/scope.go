package engine

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
	"github.com/kinform/kinform/snapshot"
)

// Scope is what an informer covers.
type Scope struct {
	// Sources are what to list and watch, by namespace: "" alone for all of them, none
	// for nothing.
	Sources map[string]Source
	// Reselects: the sources select otherwise than those before, in every namespace.
	Reselects bool
	// Selects reports whether a record is still selected. It is set where what is
	// selected is part of what was selected before and records show which; else a list
	// has to.
	Selects func(*Record) bool
	// Open is that of SnapshotOptions.
	Open func(namespace string) (*snapshot.File, error)
}

// SetScope changes what the informer covers. Reflectors of namespaces that stay are not
// touched. The others end, and what is not covered any more leaves the store, with a
// Deleted for each object, before SetScope returns. Reflectors that come
//   - resume the watch where another one was that covered at least the same,
//   - or list, no older than what the store has, and compare with it,
//   - or list what is new.
//
// It must not be called by what reflectors and writers call: sources, index functions,
// OnFailure.
func (inf *Informer) SetScope(s Scope) {
	inf.scoping.Lock()
	defer inf.scoping.Unlock()
	inf.mu.Lock()
	inf.options.Snapshot.Open = s.Open
	inf.mu.Unlock()
	var next, ended []*Reflector
	for _, r := range inf.all() {
		if _, stays := s.Sources[r.part.namespace]; stays && !s.Reselects {
			next = append(next, r)
		} else {
			ended = append(ended, r)
		}
	}
	inf.stop(ended)
	came, left := inf.successors(s, next, ended)
	if len(ended) == 0 && len(came) == 0 {
		return
	}
	inf.rescope(ended, came, s.keeps)
	inf.orphans.add(left)
	next = append(next, came...)
	slices.SortFunc(next, func(a, b *Reflector) int { return strings.Compare(a.part.namespace, b.part.namespace) })
	inf.mu.Lock()
	inf.reflectors = next
	inf.mu.Unlock()
	for _, r := range ended {
		r.part.leave() // those who wait find the others
	}
	if inf.active != nil {
		for _, r := range came {
			inf.start(r)
		}
	}
}

// keeps reports whether a record may stay in the store.
func (s *Scope) keeps(r *Record) bool {
	_, some := s.Sources[r.Namespace()]
	_, all := s.Sources[""]
	return (some || all) && (s.Selects == nil || s.Selects(r))
}

// stop ends reflectors, and waits for them.
func (inf *Informer) stop(reflectors []*Reflector) {
	for _, r := range reflectors {
		r.leaving.Store(true)
	}
	if inf.active == nil {
		return
	}
	var stops []func()
	for _, r := range reflectors {
		if stop := inf.active.stops[r]; stop != nil {
			stops = append(stops, stop)
			delete(inf.active.stops, r)
		}
	}
	ended := make(chan struct{})
	for _, stop := range stops {
		go func() {
			stop()
			ended <- struct{}{}
		}()
	}
	for range stops {
		<-ended
	}
}

// succession is what a reflector takes over from others, in a scope that has changed.
type succession struct {
	// leaving: the scope does not have the reflector any more.
	leaving atomic.Bool
	// late: the informer had synced before the reflector came. What a disk has is not for
	// those who read it since.
	late bool
	// floor is what the store had reached in other scopes: the first list is no older.
	floor Version
}

// begins is the version that a run begins with.
func (r *Reflector) begins() Version {
	if v := r.part.Version(); !v.IsZero() {
		return v
	}
	return r.floor
}

// successors returns the reflectors that a scope needs beside those that stay, and the
// ingesters that none of them has taken over.
func (inf *Informer) successors(s Scope, stay, ended []*Reflector) (came []*Reflector, left []*ingester) {
	floor, late := inf.raiseFloor(ended), inf.HasSynced()
	given := map[*ingester]bool{}
	for ns, source := range s.Sources {
		if slices.ContainsFunc(stay, func(r *Reflector) bool { return r.part.namespace == ns }) {
			continue
		}
		n := NewReflector(source, inf.Collection, newPartition(ns), inf.options)
		n.late, n.floor = late, floor
		for _, r := range ended {
			if ns != "" && r.part.namespace != "" && r.part.namespace != ns {
				continue
			}
			if !given[r.in] && !given[n.in] {
				n.in = r.in
				given[r.in] = true
			}
			n.succeed(r, !s.Reselects || s.Selects != nil)
		}
		n.known.Handed = n.known.Handed && inf.active != nil
		came = append(came, n)
	}
	for _, r := range ended {
		if !given[r.in] {
			left = append(left, r.in)
		}
	}
	return came, left
}

// succeed takes over what a reflector has that has ended. Covered says that the other
// one's selection had all that is selected now.
func (r *Reflector) succeed(before *Reflector, covered bool) {
	r.order.unordered = r.order.unordered || before.order.unordered
	r.in.unordered = r.in.unordered || before.in.unordered
	version, was := before.part.Version(), before.Status()
	if before.part.namespace == r.part.namespace {
		r.events, r.bookmarks = before.events, before.bookmarks
		r.status.update(func(s *Status) {
			s.Lists, s.Watches, s.Expired, s.Stale, s.Epochs = was.Lists, was.Watches, was.Expired, was.Stale, was.Epochs
			s.Events, s.Bookmarks, s.Reconnects = was.Events, was.Bookmarks, was.Reconnects
			s.ListsBy, s.Failures, s.ListTime = was.ListsBy, was.Failures, was.ListTime
			s.Differences = was.Differences
		})
	}
	switch {
	case version.IsZero():
		return
	case !before.certain():
		// Nor is what is stored of it: the list has the last word.
		r.tell(machine.Happened{What: machine.Succeeded})
		if before.known.Unconfirmed && r.options.Snapshot.OnlyChanges {
			// What was read from disk, and is known to subscribers, stays: another file is
			// not added to it, and an older list is one of a history that went back.
			r.late = true
			if r.floor.IsZero() || r.floor.Before(version) {
				r.floor = version
			}
		}
		return
	case !covered || before.part.namespace != "" && before.part.namespace != r.part.namespace:
		return
	}
	r.tell(machine.Happened{What: machine.Succeeded, Certain: true, Covered: true, Suspicious: before.known.Suspect})
	r.in.trusted = before.in.trusted // or it is certain of nothing until it lists
	r.part.reach(version)
	r.order.relisted(version, Version{}, false)
	r.order.forgotten = version
	r.listedAt, r.probedAt, r.provenAt = before.listedAt, before.probedAt, before.provenAt
	r.status.update(func(s *Status) {
		s.Synced, s.Version, s.LastContact, s.Since = true, version, was.LastContact, time.Now()
	})
}

// certain reports whether the store is what the server had at the version of the
// partition, so that a watch can go on from there.
func (r *Reflector) certain() bool {
	_, why := r.worthKeeping()
	return why == nil && r.known.Certain() && !r.incomparable() && r.version == r.part.Version()
}

// rescope has the collection's partitions be others. What is not kept is removed, and
// delivered, in one step with that.
func (inf *Informer) rescope(ended, came []*Reflector, keeps func(*Record) bool) {
	c := inf.Collection
	c.write.Lock()
	defer c.write.Unlock()
	var gone, untold []*Record
	for _, r := range ended {
		for rec := range c.table.snapshotBy(r.part) {
			switch {
			case r.known.Unconfirmed && c.restored[r.part]:
				untold = append(untold, rec)
			case !keeps(rec):
				gone = append(gone, rec)
			}
		}
		delete(c.restored, r.part)
	}
	c.discard(untold)
	deltas := c.discard(gone)
	if c.reparted(ended, came) {
		deltas = append(deltas, Delta{Kind: initialEnd})
	}
	c.push(deltas, true)
	c.shrink()
}

// discard removes records from the store, and returns what there is to deliver.
func (c *Collection) discard(gone []*Record) []Delta {
	deltas := make([]Delta, 0, len(gone)+1)
	rep := &replacement{lastWord: true}
	c.change(len(gone), inParts(nil, gone), func(t *table, part []indexedChange) { deltas = c.step(t, part, rep, deltas) })
	c.supersede(deltas)
	return deltas
}

// reparted notes which partitions have left and come, and reports whether that ends the
// initial list: none of those is left that were waited for.
func (c *Collection) reparted(ended, came []*Reflector) (complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := len(c.waiting) == 0
	first := len(c.unread) > 0
	for _, r := range ended {
		delete(c.waiting, r.part)
		delete(c.unread, r.part)
	}
	for _, r := range came {
		if !r.part.Version().IsZero() {
			close(r.part.listed)
			continue
		}
		c.waiting[r.part] = true
		if first {
			c.unread[r.part] = true
		}
	}
	if first && len(c.unread) == 0 {
		close(c.readable)
	}
	switch now := len(c.waiting) == 0; {
	case now && !was:
		close(c.synced)
		return true
	case was && !now:
		c.synced = make(chan struct{})
	}
	return false
}

// WaitSyncedIn waits until the first list of a namespace is in the store, if the scope has
// it. The error is a *SyncError.
func (inf *Informer) WaitSyncedIn(ctx context.Context, namespace string) error {
	return inf.waitIn([]string{namespace}, func(r *Reflector) error {
		over := inf.Over()
		var why error
		select {
		case <-r.part.hasListed():
			return nil
		case <-r.part.ended:
			return errLeft
		case <-over.Done():
			why = context.Cause(over)
		case <-ctx.Done():
			why = context.Cause(ctx)
		}
		return &SyncError{Status: r.Status(), Err: why}
	})
}
