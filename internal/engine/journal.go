package engine

import (
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/kinform/kinform/snapshot"
)

// journal writes what a reflector applies to disk, in the background, in its order. The
// reflector never waits for the disk: what has to be written is bounded in bytes, and
// when it is too much, it is dropped, and the whole store written instead, later.
type journal struct {
	file       *snapshot.File // nil until it could be opened
	open       func() (*snapshot.File, error)
	collection *Collection
	part       *Partition
	source     string
	status     *statusBox
	every      time.Duration

	// mu is held while the store changes and the change is noted, so that who holds it
	// finds the store at version. It is taken before all other locks.
	mu      sync.Mutex
	waiting []Change
	weight  int64 // of what waits, in bytes
	version Version
	seen    time.Time
	grave   *snapshot.Grave // the last deletion since the last list
	form    string          // of what is stored
	dirty   bool            // something has to be written, be it only a version
	behind  bool            // the file does not lead to what waits: the whole has to be written
	void    error           // why nothing can be written at present

	wake chan struct{}
	stop chan struct{}
	done chan struct{}

	remove bool // the file is of no use once stop is closed

	// What only the writing goroutine uses.
	wholeAt   time.Time // when the whole may be written again
	failures  int
	discarded bool
	scratch   []byte
}

const (
	// journalBudget bounds what waits to be written.
	journalBudget = 8 << 20
	// wholeShare is which share of the time the whole may take to write, where it has to be
	// written again and again.
	wholeShare = 20
)

// openAgain is how soon a file is tried again that could not be opened or written.
var openAgain = Backoff{First: 10 * time.Second, Most: 5 * time.Minute}

// newJournal starts to write. A store that did not come from the file has to be written
// whole. A file that could not be opened is tried again: who has it may end.
func newJournal(r *Reflector, f *snapshot.File) *journal {
	j := &journal{
		file: f, open: func() (*snapshot.File, error) { return r.options.Snapshot.Open(r.part.namespace) },
		collection: r.collection, part: r.part, source: r.source.String(), status: &r.status, every: r.options.Snapshot.Every,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	if j.every <= 0 {
		j.every = time.Second
	}
	j.form = r.form()
	if f == nil {
		j.failures = 1
		j.wholeAt = time.Now().Add(openAgain.delay(1, nil))
	}
	if r.known.Unconfirmed {
		j.version, j.grave = r.version, r.buried
	} else {
		j.behind = true
		if !r.part.Version().IsZero() { // else the store is not what the server had at any version
			j.begin()
			j.finish(r.worthKeeping())
		}
	}
	go j.run()
	return j
}

// begin is called before the store changes, and finish or end after it.
func (j *journal) begin() {
	if j != nil {
		j.mu.Lock()
	}
}

// note takes the changes of a batch. The lock is held.
func (j *journal) note(batch []Change) {
	if j == nil {
		return
	}
	j.bury(batch)
	if j.behind {
		return
	}
	for _, ch := range batch {
		j.weight += int64(ch.Record.Size()) + deltaSize
	}
	if j.weight > journalBudget {
		j.behind, j.waiting, j.weight, j.dirty = true, nil, 0, true
		return
	}
	j.waiting = append(j.waiting, batch...)
	j.dirty = j.dirty || len(batch) > 0
}

// bury notes the last deletion of a batch.
func (j *journal) bury(batch []Change) {
	for _, ch := range slices.Backward(batch) {
		if ch.Gone && ch.Record.number != 0 && ch.Record.uid != (uid{}) {
			j.grave = &snapshot.Grave{Key: ch.Record.key, UID: ch.Record.UID(), Version: ch.Record.Version().String()}
			return
		}
	}
}

// finish notes the version that the store has reached, or why that cannot be continued.
func (j *journal) finish(v Version, void error) {
	if j == nil {
		return
	}
	if v != j.version {
		j.dirty = true
	}
	if v != j.version || len(j.waiting) > 0 {
		j.seen = time.Now()
	}
	if void != nil { // until a list has replaced everything
		j.void, j.behind, j.waiting, j.weight, j.dirty = void, true, nil, 0, true
	} else if j.void == nil {
		j.version = v
	}
	dirty := j.dirty
	j.mu.Unlock()
	if dirty {
		select {
		case j.wake <- struct{}{}:
		default:
		}
	}
}

// end notes what a list has changed.
func (j *journal) end(deltas []Delta, form string, v Version, void error) {
	if j == nil {
		return
	}
	j.void, j.form = nil, form
	j.seen, j.dirty = time.Now(), true
	if !j.behind {
		batch := make([]Change, 0, min(len(deltas), inPlace))
		for _, d := range deltas {
			if d.marks() {
				continue
			}
			if batch = append(batch, Change{Record: d.New, Gone: d.Kind == Deleted}); len(batch) == inPlace {
				j.note(batch)
				batch = batch[:0]
			}
		}
		j.note(batch)
	}
	j.grave = nil // with which version those ended that a list lacks, nobody said
	j.finish(v, void)
}

// empty notes, in place of finish, that the resource is gone, and its versions with it.
func (j *journal) empty() {
	if j == nil {
		return
	}
	j.finish(Version{}, errors.New("the resource is not served"))
}

// run writes until close.
func (j *journal) run() {
	defer close(j.done)
	for {
		select {
		case <-j.wake:
		case <-j.stop:
			switch {
			case j.remove && j.file == nil:
			case j.remove:
				j.failed(j.file.Discard(), false)
			case j.failures == 0:
				j.wholeAt = time.Time{}
				j.write()
			}
			if j.file != nil {
				j.failed(j.file.Close(), false)
			}
			return
		}
		if wait := max(j.every, j.unwritten()); !j.pause(wait) {
			continue
		}
		if !j.write() {
			j.again()
		}
	}
}

// unwritten is how long the whole must not be written, if it has to be.
func (j *journal) unwritten() time.Duration {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.behind {
		return time.Until(j.wholeAt)
	}
	return 0
}

// pause waits, and returns false if close ends that.
func (j *journal) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-j.stop:
		return false
	}
}

// again has what is left be written in a while.
func (j *journal) again() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// write writes what waits, and reports whether nothing is left to be tried again.
func (j *journal) write() bool {
	j.mu.Lock()
	batch, void, behind := j.waiting, j.void, j.behind
	mark := snapshot.Mark{Version: j.version.String(), Seen: j.seen, Form: j.form, Grave: j.grave}
	written := j.version
	if !j.dirty || void == nil && j.version.IsZero() {
		j.mu.Unlock()
		return true
	}
	whole := behind || j.file == nil || j.file.Worn()
	if whole && void == nil && time.Now().Before(j.wholeAt) {
		j.behind, j.waiting, j.weight = true, nil, 0
		j.mu.Unlock()
		return false
	}
	var all iter.Seq[*Record]
	if whole && void == nil {
		all = j.collection.recordsOf(j.part)
		j.behind = false
	}
	j.waiting, j.weight, j.dirty = nil, 0, false
	j.mu.Unlock()
	k := j.collection.Kinds()
	mark.APIVersion, mark.Kind = k.APIVersion, k.Kind
	if err := j.reopen(); err != nil {
		j.failed(err, true)
		return false
	}
	if void != nil {
		return j.discard(void)
	}
	j.discarded = false
	began := time.Now()
	var err error
	if whole {
		err = j.file.Rewrite(j.entries(all), mark)
		j.wholeAt = time.Now().Add(wholeShare * time.Since(began))
	} else {
		err = j.file.Append(j.changes(batch), mark)
	}
	if err != nil {
		j.failed(err, true)
		return false
	}
	j.wrote(written)
	return true
}

// reopen opens the file, if that has failed so far.
func (j *journal) reopen() (err error) {
	if j.file != nil {
		return nil
	}
	if j.file, err = j.open(); err != nil {
		j.file = nil
		return err
	}
	path := j.file.Path()
	j.status.update(func(s *Status) { s.Snapshot.Path = path })
	return nil
}

// discard removes the file: nobody can go on from what it has.
func (j *journal) discard(why error) bool {
	if j.discarded {
		return true
	}
	err := j.file.Discard()
	j.discarded = err == nil
	if err == nil {
		err = why
	}
	j.status.update(func(s *Status) { s.Snapshot.Failure, s.Snapshot.Version, s.Snapshot.Size = err, Version{}, 0 })
	j.collection.log.line("no snapshot is kept", "source", j.source, "cause", err)
	return true
}

// failed notes why the file cannot be written. It is tried again, with the whole, after a
// while.
func (j *journal) failed(err error, retry bool) {
	if err == nil {
		return
	}
	j.failures++
	if j.failures == 1 {
		j.collection.log.line("the snapshot cannot be written", "source", j.source, "error", err)
	}
	j.status.update(func(s *Status) { s.Snapshot.Failure = err })
	if !retry {
		return
	}
	j.wholeAt = time.Now().Add(openAgain.delay(j.failures, nil))
	j.mu.Lock()
	defer j.mu.Unlock()
	j.behind, j.waiting, j.weight, j.dirty = true, nil, 0, true
}

// wrote notes what the file has reached.
func (j *journal) wrote(v Version) {
	if j.failures > 0 {
		j.collection.log.line("the snapshot is written again", "source", j.source, "failures", j.failures)
	}
	j.failures = 0
	size := j.file.Size()
	j.status.update(func(s *Status) { s.Snapshot.Failure, s.Snapshot.Version, s.Snapshot.Size = nil, v, size })
}

// entries makes entries of records, one at a time in the same memory.
func (j *journal) entries(records iter.Seq[*Record]) iter.Seq[snapshot.Entry] {
	return func(yield func(snapshot.Entry) bool) {
		for r := range records {
			if !yield(j.entry(r)) {
				return
			}
		}
	}
}

func (j *journal) entry(r *Record) snapshot.Entry {
	if cap(j.scratch) > largestScratch {
		j.scratch = nil
	}
	j.scratch = r.AppendBytes(j.scratch[:0])
	return snapshot.Entry{Key: r.key, Format: r.Format(), Bytes: j.scratch}
}

// changes makes entries of changes.
func (j *journal) changes(batch []Change) iter.Seq[snapshot.Entry] {
	return func(yield func(snapshot.Entry) bool) {
		for _, ch := range batch {
			e := snapshot.Entry{Key: ch.Record.key, Gone: true}
			if !ch.Gone {
				e = j.entry(ch.Record)
			}
			if !yield(e) {
				return
			}
		}
	}
}

// close writes what waits, and closes the file. If nobody is going to begin with it, as
// the scope is another one, it is removed instead.
func (j *journal) close(remove bool) {
	j.remove = remove
	close(j.stop)
	<-j.done
}
