package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kinform/kinform/internal/engine/machine"
	"github.com/kinform/kinform/wire"
)

// How lists and events are taken in.

// readList streams a list into records and returns it with its version.
func (r *Reflector) readList(ctx context.Context, o ListOptions) (List, Version, error) {
	dog := newWatchdog(ctx, r.options.Silence)
	if _, whole := r.source.(Whole); whole {
		dog.only(func() {
			r.collection.log.line("a list takes long", "source", r.source.String(), "longer than", r.options.Silence)
		})
	}
	defer dog.release()
	o.Alive = dog.alive
	stream, err := r.source.List(dog, o)
	if err != nil {
		return List{}, Version{}, dog.cause(err)
	}
	defer stream.Close()
	list := List{Records: make([]*Record, 0, r.collection.Len())}
	for {
		item, err := stream.Next()
		dog.alive()
		if n := len(list.Records); err != nil || n&1023 == 0 {
			r.status.update(func(s *Status) { s.Listed, s.Received = n, stream.Received() })
		}
		switch {
		case err == io.EOF:
			m := stream.Meta()
			r.collection.kind.Store(&Kinds{m.APIVersion, strings.TrimSuffix(m.Kind, "List")})
			return list, ParseVersion(m.ResourceVersion), nil
		case err != nil:
			return List{}, Version{}, dog.cause(err)
		}
		r.add(&list, item)
	}
}

// add puts an item into a list. One that cannot be taken is reported, and its
// last good state kept.
func (r *Reflector) add(list *List, item Item) {
	record, err := r.in.record(item, false)
	var known *rejection
	switch {
	case err == nil && r.in.unchanged(record):
		list.Records = append(list.Records, r.in.held)
	case err == nil:
		list.Records = append(list.Records, record)
	case errors.As(err, new(*stranger)):
		r.collection.reject("", err)
	case errors.As(err, &known):
		r.collection.reject(known.key, err)
		list.Rejected = true
		if known.held != nil {
			list.Records = append(list.Records, known.held)
		}
	default:
		r.collection.reject("", fmt.Errorf("an object of %s: %w", r.source, err))
		list.Incomplete = true
	}
}

// replace puts a list into the store, as the machine has decided.
func (r *Reflector) replace(ctx context.Context, list List, version Version, do machine.Do) machine.Do {
	if list.NewEpoch {
		r.observe(Observation{Point: PointEpoch})
		r.collection.wentBack()
		r.collection.log.line("the server's history went back; everything is replaced",
			"source", r.source.String(), "from", r.version.String(), "to", version.String())
	}
	r.missed = list.Rejected
	version = r.in.weigh(ctx, list.Records, version)
	if r.in.trusted && !list.NewEpoch && r.goesBack(list.Records) {
		r.distrust()
		list.Current = true
	}
	r.order.relisted(version, newest(list.Records), list.NewEpoch)
	r.version, r.listedAt = version, time.Now()
	if do.Settled {
		r.settleAt = time.Time{}
	}
	listed := len(list.Records)
	r.journal.begin()
	stored := r.collection.Store(r.part, list, version)
	r.confirmed(do)
	r.part.answer(r.collection, nil, r.incomparable())
	overcome := r.healthy(do, true) // before anything is delivered: a handler may read the status
	reached, why := r.worthKeeping()
	r.journal.end(stored.changes, r.form(), reached, why)
	stored.Deliver()
	r.observe(Observation{Point: PointListed, Count: listed, Took: r.listing.took()})
	if !list.NewEpoch {
		r.order.vanished(stored.Gone, version)
	}
	if do = r.tell(machine.Happened{What: machine.Stored, Changed: stored.Changes > 0}); do.Deafened {
		r.deafened()
	}
	r.order.settle(r.collection)
	if r.order.unordered && r.in.objects {
		r.distrust()
	}
	r.logRecovered(overcome)
	r.in.compact()
	return do
}

// goesBack reports whether a list, which is no older than the store, has older states. A
// server's has not.
func (r *Reflector) goesBack(records []*Record) bool {
	return slices.ContainsFunc(records, func(rec *Record) bool {
		held := r.collection.Get(rec.key)
		return held != nil && rec.overtaken(held)
	})
}

// newest returns the highest version of some records.
func newest(records []*Record) (v Version) {
	for _, r := range records {
		v.number = max(v.number, r.number)
	}
	return v
}

// worthwhile is how long a watch has to last to be resumed at once although it
// brought nothing: some proxies end each after a second.
const worthwhile = time.Second / 2

// follow applies what a watch sends: whatever has arrived, in one batch.
func (r *Reflector) follow(ctx context.Context, dog *watchdog, stream WatchStream, do machine.Do) machine.Do {
	r.show(do)
	defer r.attend(dog)()
	received := false
	r.openedAt = time.Now()
	r.status.update(func(s *Status) { s.WatchedSince = r.openedAt })
	defer r.watched(r.openedAt, r.events)
	var batch []Change
	for {
		var err error
		r.brought = false
		batch, err = r.pull(stream, batch[:0])
		watch := r.collection.stopwatch()
		r.apply(batch)
		r.part.reach(r.version)
		r.part.answer(r.collection, batch, r.incomparable())
		r.applied(len(batch), watch)
		clear(batch)
		r.collection.waitForRoom(ctx)
		r.in.settle()
		r.in.compact()
		if err == nil {
			dog.alive()
		}
		if r.brought {
			received = true
			do = r.tell(machine.Happened{What: machine.Received})
			r.show(do)
			r.logRecovered(r.healthy(do, false))
		}
		if r.known.Unconfirmed {
			if do = r.caughtUp(machine.Happened{What: machine.CaughtUp}, err); do.Act != machine.Continue {
				return do
			}
		}
		if err != nil {
			return r.watchEnded(ctx, dog.cause(err), received || time.Since(r.openedAt) >= worthwhile)
		}
	}
}

// watched notes that a watch has ended, which began at a time and a number of events.
func (r *Reflector) watched(began time.Time, events uint64) {
	r.observe(Observation{Point: PointWatched, Count: int(r.events - events), Took: time.Since(began)})
}

// applied notes that a batch is in the store.
func (r *Reflector) applied(n int, watch stopwatch) {
	if n > 0 && r.collection.observed() {
		r.observe(Observation{Point: PointApplied, Count: n, Took: watch.took()})
	}
}

// pull waits for an event and takes along what has arrived with it.
func (r *Reflector) pull(stream WatchStream, batch []Change) ([]Change, error) {
	for {
		ev, err := stream.Next()
		if err != nil {
			return batch, err
		}
		if batch, err = r.take(ev, batch); err != nil {
			return batch, err
		}
		if len(batch) >= inPlace || !stream.Buffered() {
			return batch, nil
		}
	}
}

// take turns an event into a change. An object that cannot be taken is reported
// and left out. If it is not known which object it is, continuing would leave a gap,
// so that ends the watch.
func (r *Reflector) take(ev Event, batch []Change) ([]Change, error) {
	if ev.Type == wire.Bookmark {
		r.bookmarks++
		return batch, r.bookmark(ev)
	}
	r.events++
	record, err := r.in.record(ev.Item, true)
	gone := ev.Type == wire.Deleted
	if err != nil {
		if known := (*rejection)(nil); errors.As(err, &known) {
			return r.takeRejected(known, gone, batch), nil
		}
		if errors.As(err, new(*stranger)) {
			r.collection.reject("", err)
			return batch, nil
		}
		return batch, fmt.Errorf("watch %s: an event after version %s: %w", r.source, r.version, err)
	}
	held := r.in.held
	if !r.order.isNews(record, held, r.version) {
		// Only the store shows it, once all earlier events are applied.
		r.apply(batch)
		clear(batch)
		batch = batch[:0]
		held = r.collection.Get(record.key)
		stale, err := r.order.isStale(record, held, gone)
		if stale && r.in.objects {
			// Or it is of a source that looks like a server and does not order its states.
			r.leftOut(record, held)
			if stale, err = false, r.order.doubt(record); !r.settleAt.IsZero() {
				return batch, nil // a list will show what it is
			}
		}
		switch doubtful := errors.Is(err, errOutOfOrder); {
		case doubtful && r.settleAt.IsZero():
			r.settleAt = time.Now() // whatever else ends the watch just now
		case doubtful:
			r.observe(Observation{Point: PointStale, Key: record.key})
			return batch, nil // a list will show what it is
		}
		if stale {
			r.leftOut(record, held)
		}
		if stale || err != nil {
			return batch, err
		}
	}
	r.brought = true
	r.order.taken(record, held, gone)
	if r.in.objects && !gone && record.number != 0 && !r.order.listed.Before(record.Version()) {
		r.distrust() // a server's list would have had it
	}
	r.advance(r.in.version)
	if !gone { // what is not going to be stored need not be small
		r.in.hold(record, true)
	}
	return append(batch, Change{Record: record, Gone: gone}), nil
}

// takeRejected reports an object that cannot be taken. Its last good state is kept,
// unless the event is its deletion.
func (r *Reflector) takeRejected(known *rejection, gone bool, batch []Change) []Change {
	r.collection.reject(known.key, known)
	r.brought = true
	held := known.held
	r.missed = r.missed || !gone
	if gone && held != nil && !known.version.Before(held.Version()) {
		batch = append(batch, Change{Record: held, Gone: true})
	}
	r.advance(known.version)
	return batch
}

// distrust has the versions of a source of objects not be compared any more: they look
// like a server's and are not.
func (r *Reflector) distrust() {
	if r.in.trusted {
		r.collection.log.line("versions go back; from now on they are not compared, and new objects held as they come",
			"source", r.source.String())
	}
	r.in.trusted, r.in.unordered = false, true
	r.order = order{listed: r.order.listed, unordered: true}
}

// advance notes the version of an event: where the watch would be resumed. It never
// goes back, as late events and those of unordered servers would have it.
func (r *Reflector) advance(v Version) {
	if !v.IsZero() && !r.order.apart && !v.Before(r.version) {
		r.version = v
	}
}

// leftOut counts a stale event, and logs the first since all was well. One from before
// the start of the watch, or before what the store has, may be of a server that does
// not heed versions, or that does not order the states of an object: then the list that
// follows the watch shows it.
func (r *Reflector) leftOut(record, held *Record) {
	if held == nil || record.older(held) || !r.beganFrom.Before(record.Version()) {
		r.order.disordered = true
	}
	r.observe(Observation{Point: PointStale, Key: record.key})
	if r.staleLogged {
		return
	}
	r.staleLogged = true
	stored := "none, its end is known"
	if held != nil {
		stored = held.Version().String()
	}
	r.collection.log.line("an event of an older state was left out; further ones are only counted",
		"source", r.source.String(), "key", record.key, "version", record.Version().String(), "stored", stored)
}

func (r *Reflector) bookmark(ev Event) error {
	version, err := r.in.versionOf(ev.Item)
	switch {
	case err != nil || version.IsZero():
		r.brought = true
		return nil // it only says that the server is there
	case version.Before(r.version) && r.known.Tolerant:
		return nil
	case version.Before(r.version):
		return errWentBack
	}
	r.version, r.brought = version, true
	return nil
}
