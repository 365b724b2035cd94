package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
	"github.com/kinform/kinform/snapshot"
)

// A warm start: the store is filled from disk before the first request. It can be read
// then, and nobody is told. Before it counts as synced the server has to prove that it is
// the one which the snapshot is of, that its history has not gone back since, and the
// watch has to have brought what happened meanwhile. Where it does not, a list does what
// it always does, and takes over what is unchanged.

// SnapshotOptions say what a run begins with and keeps.
type SnapshotOptions struct {
	// Open opens the snapshot on disk of a namespace, "" for all. Default: there is none.
	Open func(namespace string) (*snapshot.File, error)
	// Every is for how long changes are gathered before they are written. Default: 1 s.
	Every time.Duration
	// OnlyChanges has subscribers not be called for what a snapshot brings, but for what
	// has changed since it was written. Default: an Added for each, once confirmed.
	OnlyChanges bool
}

// SnapshotStatus is what became of the snapshot on disk.
type SnapshotStatus struct {
	// Path is the file.
	Path string
	// Restored is how many objects the run began with, and Seen when the server last
	// confirmed them to the process that wrote them.
	Restored int
	Seen     time.Time
	// Unconfirmed: the store is what the disk had; the server has not confirmed it yet.
	Unconfirmed bool
	// SetAside is why the run did not begin with a snapshot, or why what it began with
	// had to be listed; nil if it did not have to.
	SetAside error
	// Version is what the file has reached, and Size its bytes.
	Version Version
	Size    int64
	// Failure is why the file is not being written; nil while it is.
	Failure error
}

// warmth is what a reflector knows of its snapshot.
type warmth struct {
	journal *journal // nil: there is none
	// target is the version that the server had when it was asked first: once the store
	// has reached it, it is as new as a list would have been. Zero: it was not asked.
	target Version
	// outdated are states on disk which the server was found not to have any more: the
	// watch has to bring what became of them.
	outdated []*Record
	// buried is the last end of an object that the disk knows of; nil: none.
	buried *snapshot.Grave
}

// errUnconfirmed ends a watch that does not get to where the server was.
var errUnconfirmed = errors.New("the watch has not reached what the server had when it was asked")

// confirmIn is how long the first watch is asked to last. Servers send a bookmark two
// seconds before a watch ends, which says that all that happened has been sent.
const confirmIn = 3 * time.Second

// openSnapshot opens the snapshot and fills the store from it, unless the store is filled.
// What it returns closes it again.
func (r *Reflector) openSnapshot(ctx context.Context) (done func()) {
	r.journal = nil
	if r.options.Snapshot.Open == nil || r.in.objects {
		return func() {}
	}
	f, err := r.options.Snapshot.take(ctx, r.part.namespace)
	r.status.update(func(s *Status) {
		if !r.known.Unconfirmed {
			s.Snapshot = SnapshotStatus{}
		}
		if s.Snapshot.Failure = err; err == nil {
			s.Snapshot.Path = f.Path()
		}
	})
	if err != nil {
		r.setAside(err) // the journal tries again
	} else if r.version.IsZero() && !r.late {
		if err := r.restore(f); err != nil {
			r.setAside(err)
		}
	}
	r.journal = newJournal(r, f)
	return func() { r.journal.close(r.leaving.Load()) }
}

// handover is how long a file is waited for that another one has: it may be about to end,
// as an informer is that was let go a moment ago.
const handover = 300 * time.Millisecond

// take opens the snapshot of a namespace, and waits a moment for who has it.
func (o SnapshotOptions) take(ctx context.Context, namespace string) (*snapshot.File, error) {
	t := time.NewTicker(handover / 30)
	defer t.Stop()
	for end := time.Now().Add(handover); ; {
		f, err := o.Open(namespace)
		if !errors.Is(err, snapshot.ErrLocked) || !time.Now().Before(end) {
			return f, err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

// setAside notes why there is no warm start.
func (r *Reflector) setAside(err error) {
	r.status.update(func(s *Status) { s.Snapshot.SetAside = err })
	if !errors.Is(err, snapshot.ErrNone) {
		r.collection.log.line("the snapshot is set aside", "source", r.source.String(), "cause", err)
	}
}

// restore fills the store from disk.
func (r *Reflector) restore(f *snapshot.File) error {
	var all []Change
	drop := r.in.dropManagedFields
	r.in.dropManagedFields = false // they were dropped before
	defer func() { r.in.dropManagedFields = drop }()
	mark, err := f.Load(func(e snapshot.Entry) error {
		record, err := r.in.record(Item{Format: e.Format, Bytes: e.Bytes}, false)
		if err != nil || record.key != e.Key {
			return fmt.Errorf("%w: %q: %w", snapshot.ErrDamaged, e.Key, err)
		}
		all = append(all, Change{Record: record})
		return nil
	})
	if err != nil {
		return err
	}
	version := ParseVersion(mark.Version)
	if version.number == 0 {
		return fmt.Errorf("%w: its version is %q", snapshot.ErrDamaged, mark.Version)
	}
	if s, ok := r.source.(Formed); ok && !s.Resume(mark.Form) {
		return fmt.Errorf("%w: of each object it has %q, which is too little", snapshot.ErrScope, mark.Form)
	}
	c := r.collection
	c.kind.Store(&Kinds{mark.APIVersion, mark.Kind})
	c.restore(r.part, all, !r.options.Snapshot.OnlyChanges)
	r.part.restore(version)
	r.version, r.target, r.buried = version, Version{}, mark.Grave
	r.tell(machine.Happened{What: machine.Restored})
	r.order.relisted(version, Version{}, true)
	r.status.update(func(s *Status) {
		s.Version, s.LastContact = version, mark.Seen
		s.Snapshot.Restored, s.Snapshot.Seen, s.Snapshot.Unconfirmed = len(all), mark.Seen, true
		s.Snapshot.Version, s.Snapshot.Size = version, f.Size()
	})
	return nil
}

// restore puts records into the store that come from disk. If nobody is to be told before
// they are confirmed, subscribers that join do not get them either.
func (c *Collection) restore(p *Partition, all []Change, silent bool) {
	c.write.Lock()
	if silent {
		if c.restored == nil {
			c.restored = map[*Partition]bool{}
		}
		c.restored[p] = true
	}
	c.write.Unlock()
	c.Edit(all)
	c.readableWith(p)
}

// untold reports whether a record came from disk and nobody is to be told of it yet.
func (c *Collection) untold(r *Record) bool {
	for p := range c.restored {
		if p.namespace == "" || p.namespace == r.Namespace() {
			return true
		}
	}
	return false
}

// first returns what is to be delivered after a partition has come to equal the server:
// the changes, or everything if nobody was told of what was there. If it was the last
// partition to do so for the first time, an end is added. The caller holds the writer's lock.
func (c *Collection) first(p *Partition, changes []Delta) *Stored {
	stored := &Stored{c: c, changes: changes}
	deltas := changes
	if c.restored[p] {
		c.supersede(changes)
		deltas = nil
		now := stampOf(time.Now())
		for r := range c.table.snapshotBy(p) {
			deltas = append(deltas, Delta{Kind: Added, Initial: true, New: r, stamp: now})
		}
		delete(c.restored, p)
	}
	if c.waiting[p] {
		delete(c.waiting, p)
		stored.listed = p
		if len(c.waiting) == 0 {
			deltas = append(deltas[:len(deltas):len(deltas)], Delta{Kind: initialEnd})
		}
	}
	c.readableWith(p)
	stored.deltas = deltas
	return stored
}

// unconfirmedFor is when and why a watch is to end for a list, if it has not confirmed
// the store by then: nothing else would.
func (r *Reflector) unconfirmedFor(in time.Duration, why error) (time.Duration, error) {
	if r.known.Unconfirmed && (why == nil || 2*confirmIn < in) {
		return 2 * confirmIn, errUnconfirmed
	}
	return in, why
}

// caughtUp tells whether the store has what the server had when it was asked: it has
// reached that version, or the server has ended the watch at its time.
func (r *Reflector) caughtUp(h machine.Happened, err error) machine.Do {
	onTime := err == io.EOF && time.Until(r.endsAt) < time.Second
	h.Reached = !r.target.IsZero() && (!r.version.Before(r.target) || onTime)
	h.Unchanged = h.Reached && slices.ContainsFunc(r.outdated, func(old *Record) bool {
		held := r.collection.Get(old.key)
		return held != nil && held.sameState(old)
	})
	do := r.tell(h)
	if do.Confirm {
		r.confirm(do)
	}
	return do
}

// confirm has everybody see that the store is what the server has.
func (r *Reflector) confirm(do machine.Do) {
	c := r.collection
	c.write.Lock()
	stored := c.first(r.part, nil)
	r.part.confirm()
	r.confirmed(do)
	r.part.answer(c, nil, r.incomparable())
	overcome := r.healthy(do, true)
	stored.Deliver()
	r.logRecovered(overcome)
}

// confirmed notes that the store is what the server has, before anybody is told of that:
// who waits for it may ask for the status at once.
func (r *Reflector) confirmed(do machine.Do) {
	if do.Confirm {
		r.outdated = nil
		r.status.update(func(s *Status) { s.Snapshot.Unconfirmed = false })
	}
}

// worthKeeping returns why what the store has cannot be continued by another process, or
// nil if it can: its versions say where to go on, and it is complete.
func (r *Reflector) worthKeeping() (Version, error) {
	switch {
	case r.version.number == 0:
		return Version{}, errors.New("the server's versions are not numbers")
	case r.order.apart, r.order.unordered, r.order.disordered:
		return Version{}, errors.New("the server's versions do not say what happened before and after")
	case r.known.Incomplete > 0:
		return Version{}, errIncomplete
	case r.missed:
		return Version{}, errors.New("an object could not be taken as it is now")
	case !r.settleAt.IsZero():
		return Version{}, errDisorder
	}
	return r.version, nil
}

// form says what is stored of each object, if that may change.
func (r *Reflector) form() string {
	if s, ok := r.source.(Formed); ok {
		return s.Form()
	}
	return ""
}

// apply makes the changes that a watch brought, and has them written.
func (r *Reflector) apply(batch []Change) {
	r.journal.begin()
	if r.known.Unconfirmed && !r.options.Snapshot.OnlyChanges {
		r.collection.Edit(batch) // nobody was told of what they change
	} else {
		r.collection.Apply(batch)
	}
	r.journal.note(batch)
	r.journal.finish(r.worthKeeping())
}
