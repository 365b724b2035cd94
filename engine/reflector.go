package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/kinform/kinform/wire"
)

// ReflectorOptions of one reflector. The zero value works.
type ReflectorOptions struct {
	// PageSize asks for lists in pages. Default: one streamed request.
	PageSize int64
	// ConsistentFirstList asks for the newest state at the first list, too.
	// Default: whatever the server has in its cache, which is cheaper for it.
	ConsistentFirstList bool
	// WatchList asks for the initial state through the watch. Default: LIST,
	// which costs both sides less.
	WatchList bool
	// WatchListDeadline is how long the initial events may pause before the
	// reflector falls back to LIST. Default: 10 s.
	WatchListDeadline time.Duration
	// Silence is how long a watch may send nothing at all before the server is
	// asked whether it is still there, and the watch opened anew. Default: 150 s;
	// servers send bookmarks about once a minute while anything happens in them.
	Silence time.Duration
	// Poll is how often a resource is listed that cannot be watched: the watch is
	// refused, or brings nothing although the server changes. Each time the watch is
	// tried again. Default: 30 s, the longest wait of the default Backoff, at which
	// failing watches lead to lists as well; it bounds both how stale the store is and
	// what the lists cost the server.
	Poll time.Duration
	// DropManagedFields cuts metadata.managedFields out of what is stored.
	DropManagedFields bool
	// Transform changes or replaces each object of a source of objects before it
	// is stored. What came as bytes is transformed by the view that reads it.
	Transform func(any) (any, error)
	// Server is what reflectors of one server tell each other of it. Default: they
	// find it out for themselves.
	Server *Server
	// Policy says what a refusal means: who asks is not known, may not, or asks for
	// what is not served. Default: KeepTrying.
	Policy Policy
	// Backoff after failures.
	Backoff Backoff
	// OnFailure is told of each failure of a list or a watch.
	OnFailure func(error)
}

// Reflector keeps one partition of a collection equal to the server: list, then
// watch; resume the watch when it ends; list again when the server has forgotten
// the version that the watch would resume at.
type Reflector struct {
	source     Source
	collection *Collection
	part       *Partition
	options    ReflectorOptions
	in         ingester
	status     statusBox

	// version is what the store has reached; zero before the first list.
	version Version
	// consistent: the next list must be a consistent read, as the server could
	// not serve the version that we hold.
	consistent bool
	// order tells events that are news from those that come again.
	order order
	hearing
	// disorders counts the lists that events out of order led to, the last one at
	// disorderAt.
	disorders  int
	disorderAt time.Time
	// listedAt is when the last list was stored.
	listedAt time.Time
	// staleLogged: that events were left out was logged since all was well.
	staleLogged bool
	// suspect: the last watch broke, so the server may have been replaced by one
	// whose history went back; ask before resuming.
	suspect bool
	// endsAt is when the present watch was asked to end.
	endsAt time.Time
	// incomplete counts the lists in a row that had objects which could not be
	// read. What vanished may have been kept, so the list is read again in a while.
	incomplete int
	// failures in a row, outage those since all was well.
	failures, outage int
	// fruitless counts the watches that ended in vain since one last brought
	// something. Lists in between may succeed, and yet must become rarer.
	fruitless int
	// logged are the kinds of failures that were logged since all was well; a
	// repeated one is counted, not logged again.
	logged map[Reason]bool
	// absent counts how often in a row the server did not know the resource.
	absent int
	// refused is what ended Run, if the policy had it do so.
	refused error
}

// NewReflector returns a reflector that fills a partition from a source.
func NewReflector(s Source, c *Collection, p *Partition, o ReflectorOptions) *Reflector {
	if o.Silence <= 0 {
		o.Silence = 150 * time.Second
	}
	if o.Poll <= 0 {
		o.Poll = 30 * time.Second
	}
	if o.WatchListDeadline <= 0 {
		o.WatchListDeadline = 10 * time.Second
	}
	if o.Server == nil {
		o.Server = new(Server)
	}
	r := &Reflector{source: s, collection: c, part: p, options: o}
	r.in = ingester{collection: c, dropManagedFields: o.DropManagedFields, transform: o.Transform}
	_, r.in.objects = s.(Whole)
	r.in.labels.known = map[string]knownLabels{}
	r.status.s.Source = s.String()
	return r
}

// Status tells what the reflector is doing.
func (r *Reflector) Status() Status { return r.status.get() }

// state is what the reflector does next; nil: it has ended.
type state func(context.Context) state

// Run lists and watches until ctx ends, and then returns nil. With the policy
// FailFast it ends when it is refused, with a *RefusedError. It can be run again;
// it then goes on where it was.
func (r *Reflector) Run(ctx context.Context) error {
	defer r.status.enter(Stopped)
	r.refused, r.staleLogged = nil, false
	next := r.start
	for next != nil && ctx.Err() == nil {
		next = next(ctx)
	}
	return r.refused
}

func (r *Reflector) start(context.Context) state {
	switch {
	case !r.version.IsZero():
		r.suspect = true
		return r.watch
	case r.options.WatchList && !r.options.Server.listOnly.Load():
		return r.watchList
	}
	return r.list
}

// list reads the whole set and replaces the partition with it.
func (r *Reflector) list(ctx context.Context) state {
	r.status.update(func(s *Status) { s.Lists++ })
	if !r.polling && !r.deaf {
		r.status.enter(Listing)
	}
	o := ListOptions{Limit: r.options.PageSize, ResourceVersion: r.version.String()}
	switch {
	case r.consistent:
		o.ResourceVersion = ""
	case r.version.IsZero() && !r.options.ConsistentFirstList:
		o.ResourceVersion = "0"
	}
	r.in.distrust = r.consistent
	list, version, err := r.readList(ctx, o)
	r.in.distrust, r.in.stored = false, nil
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil
	case (isAhead(err) || isExpired(err)) && o.ResourceVersion != "":
		// What we hold cannot be compared with what the server has: ask for what
		// it has.
		r.consistent = true
		return r.list
	default:
		return r.failed(err, r.list)
	}
	list.NewEpoch = version.Before(r.version)
	if list.NewEpoch && !r.consistent {
		// An answer older than what was asked for proves nothing.
		r.consistent = true
		return r.list
	}
	r.replace(list, version)
	return r.watch
}

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
	case err == nil && record.sameObject(r.in.held):
		list.Records = append(list.Records, r.in.held)
	case err == nil:
		list.Records = append(list.Records, record)
	case errors.As(err, &known):
		r.collection.reject(known.key, err)
		if known.held != nil {
			list.Records = append(list.Records, known.held)
		}
	default:
		r.collection.reject("", fmt.Errorf("an object of %s: %w", r.source, err))
		list.Incomplete = true
	}
}

// replace puts a list into the store.
func (r *Reflector) replace(list List, version Version) {
	if list.NewEpoch {
		r.status.update(func(s *Status) { s.Epochs++ })
		r.collection.log.line("the server's history went back; everything is replaced",
			"source", r.source.String(), "from", r.version.String(), "to", version.String())
	}
	if r.incomplete++; !list.Incomplete {
		r.incomplete = 0
	}
	version = r.in.weigh(list.Records, version)
	r.order.relisted(version, newest(list.Records), list.NewEpoch)
	r.version, r.consistent, r.suspect = version, false, false
	r.listedAt = time.Now()
	overcome := 0
	list.Stored = func() { overcome = r.healthy(true) }
	changes, gone := r.collection.Replace(r.part, list)
	if !list.NewEpoch {
		r.order.vanished(gone, version)
	}
	r.listened(changes)
	r.order.settle(r.collection)
	r.logRecovered(overcome)
	r.in.compact()
}

// newest returns the highest version of some records.
func newest(records []*Record) (v Version) {
	for _, r := range records {
		v.number = max(v.number, r.number)
	}
	return v
}

// watch follows the changes from the version that the store has reached.
func (r *Reflector) watch(ctx context.Context) state {
	relist, why := r.relistIn()
	if r.proving = r.unproven(); r.proving || why == errDisorder && relist <= 0 {
		return r.list
	}
	if r.suspect && !r.in.objects && r.version.number != 0 { // others are not compared
		if next := r.probe(ctx); next != nil || ctx.Err() != nil {
			return next
		}
	}
	silence := r.options.Silence
	if r.deaf {
		silence = min(silence, r.options.Poll)
	}
	dog := newWatchdog(ctx, silence)
	defer dog.release()
	r.status.update(func(s *Status) { s.Watches++ })
	timeout := watchTimeout()
	r.endsAt = time.Now().Add(timeout)
	stream, err := r.source.Watch(dog, WatchOptions{ResourceVersion: r.version.String(), Timeout: timeout})
	if err != nil {
		return r.watchEnded(ctx, dog.cause(err), false)
	}
	defer stream.Close()
	r.answered()
	if why != nil {
		t := time.AfterFunc(relist, func() { dog.cancel(why) })
		defer t.Stop()
	}
	return r.follow(ctx, dog, stream)
}

// disorderPause is how soon after a list another one may follow because a watch sent
// states from before it: such servers may end watches as fast as they begin.
const disorderPause = 10 * time.Second

// relistIn tells when the next watch is to end for a list, and why, if it is. Where
// the last watch brought states from before the last list, or the list had no version,
// versions do not say what happened between two watches; a list does.
func (r *Reflector) relistIn() (time.Duration, error) {
	since := time.Since(r.listedAt)
	switch {
	case r.incomplete > 0:
		return 10 * r.options.Backoff.delay(r.incomplete, nil), errIncomplete
	case r.order.disordered:
		return disorderPause - since, errDisorder
	}
	return 0, nil
}

// watchTimeout is how long a watch is asked to last: 5 to 10 minutes, at random,
// so that the watches of many clients do not end together.
func watchTimeout() time.Duration {
	return 5*time.Minute + time.Duration(rand.Int64N(int64(5*time.Minute)))
}

// follow applies what a watch sends: whatever has arrived, in one batch.
func (r *Reflector) follow(ctx context.Context, dog *watchdog, stream WatchStream) state {
	if !r.deaf {
		r.status.enter(Watching)
	}
	r.mute++
	began, heard := time.Now(), false
	var batch []Change
	for {
		var err error
		batch, err = r.pull(stream, batch[:0])
		r.collection.Apply(batch)
		clear(batch)
		r.collection.waitForRoom(ctx)
		r.in.settle()
		r.in.compact()
		if err == nil || len(batch) > 0 {
			heard = true
			dog.alive()
			r.heard()
			r.logRecovered(r.healthy(false))
		}
		if err != nil {
			return r.watchEnded(ctx, dog.cause(err), heard || time.Since(began) > time.Second)
		}
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
// and left out; but where it is not even known which one it is, going on would be
// a gap, so that ends the watch.
func (r *Reflector) take(ev Event, batch []Change) ([]Change, error) {
	if ev.Type == wire.Bookmark {
		return batch, r.bookmark(ev)
	}
	record, err := r.in.record(ev.Item, true)
	gone := ev.Type == wire.Deleted
	if known := (*rejection)(nil); errors.As(err, &known) {
		return r.takeRejected(known, gone, batch), nil
	}
	if err != nil {
		return batch, fmt.Errorf("watch %s: an event after version %s: %w", r.source, r.version, err)
	}
	held := r.in.held
	if !r.order.isNews(record, held, r.version) {
		// Only the store can tell, with all that came before.
		r.collection.Apply(batch)
		clear(batch)
		batch = batch[:0]
		held = r.collection.Get(record.key)
		if stale, err := r.order.isStale(record, held, gone); stale || err != nil {
			if stale {
				r.leftOut(record, held)
			}
			return batch, err
		}
	}
	r.order.taken(record, held, gone)
	r.advance(record.Version())
	return append(batch, Change{Record: record, Gone: gone}), nil
}

// takeRejected reports an object that cannot be taken. Its last good state is kept,
// but for its end.
func (r *Reflector) takeRejected(known *rejection, gone bool, batch []Change) []Change {
	r.collection.reject(known.key, known)
	held := known.held
	if gone && held != nil && !known.version.Before(held.Version()) {
		batch = append(batch, Change{Record: held, Gone: true})
	}
	r.advance(known.version)
	return batch
}

// advance notes the version of an event: where the watch would be resumed. It never
// goes back, as late events and those of unordered servers would have it.
func (r *Reflector) advance(v Version) {
	if !v.IsZero() && !r.order.apart && !v.Before(r.version) {
		r.version = v
	}
}

// leftOut counts a stale event, and logs the first since all was well.
func (r *Reflector) leftOut(record, held *Record) {
	r.status.update(func(s *Status) { s.Stale++ })
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

// errIncomplete ends a watch that followed an incomplete list.
var errIncomplete = errors.New("the last list had objects that could not be read")

// errAtOnce: a watch ended as soon as it had begun, as proxies do that cannot
// stream.
var errAtOnce = errors.New("the server ended the watch at once")

// errWentBack ends a watch whose server has a lower version than we hold.
var errWentBack = errors.New("the server's version is lower than the one that it was asked to go on from")

func (r *Reflector) bookmark(ev Event) error {
	version, err := r.in.versionOf(ev.Item)
	switch {
	case err != nil || version.IsZero():
		return nil // it only says that the server is there
	case version.Before(r.version):
		return errWentBack
	}
	r.version = version
	return nil
}

// calm is how long no event must be out of order for the next one to be a surprise
// again.
const calm = 10 * time.Minute

// outOfOrder lists after an event that nobody can place: at once at first, then ever
// more rarely, as some proxies send such events all the time.
func (r *Reflector) outOfOrder(err error) state {
	if time.Since(r.disorderAt) > calm {
		r.disorders = 0
	}
	r.disorderAt = time.Now()
	if r.disorders++; r.disorders == 1 {
		return r.list
	}
	return r.failed(fmt.Errorf("watch %s: %w", r.source, err), r.list)
}

// wentBack asks a server what it has, whose bookmark was older than what we hold. If it
// only lags behind another one, the watch is resumed, ever more rarely while it lags.
func (r *Reflector) wentBack(err error) state {
	r.suspect = true
	if time.Since(r.disorderAt) > calm {
		r.disorders = 0
	}
	r.disorderAt = time.Now()
	if r.disorders++; r.disorders == 1 {
		return r.watch
	}
	return r.failed(fmt.Errorf("watch %s: %w", r.source, err), r.watch)
}

// watchEnded decides how to go on after a watch. A productive one did something
// for us, so that it can be resumed at once.
func (r *Reflector) watchEnded(ctx context.Context, err error, productive bool) state {
	if r.order.listed.IsZero() && !r.in.objects {
		r.order.disordered = true // there is no version to resume at that a list gave
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err == io.EOF && productive:
		// Before its time, it may be the last word of a server that goes down.
		r.suspect = time.Until(r.endsAt) > time.Second
		return r.watch
	}
	if !productive {
		r.fruitless++
	}
	switch {
	case isExpired(err):
		r.status.update(func(s *Status) { s.Expired++ })
		if r.fruitless > 1 {
			return r.failed(err, r.list) // it forgets what it has just listed
		}
		return r.list
	case errors.Is(err, errWentBack):
		return r.wentBack(err)
	case errors.Is(err, errIncomplete), errors.Is(err, errDisorder):
		return r.list
	case errors.Is(err, errOutOfOrder):
		return r.outOfOrder(err)
	case errors.Is(err, ErrStalled):
		// Where nothing happens at all, servers have nothing to say. Ask.
		r.suspect = true
		return r.watch
	}
	if isUnwatchable(err) {
		return r.poll(err)
	}
	r.suspect = true
	if err == io.EOF {
		err = fmt.Errorf("watch %s: %w", r.source, errAtOnce)
	}
	reason := ReasonOf(err)
	if r.failures > 0 && (reason == Garbled || reason == Unknown || reason == ServerError || errors.Is(err, errAtOnce)) {
		// It was not the way here: the server itself sends what cannot be read, or
		// nothing, or cannot watch. A list gets past it.
		return r.failed(err, r.list)
	}
	return r.failed(err, r.watch)
}

// probe asks for the server's version after a watch broke. A server that was restored
// from a backup would take our higher version and send nothing, for as long as it takes
// to catch up with it.
//
// It asks for a state that is not older than ours, which the server's cache can answer:
// a cache that has reached our version proves that the history is the one we know, as
// caches are filled from it. After a failure all clients ask at once, and must not all
// have the storage read. A cache that has not reached it proves nothing: that server
// may lag behind the one that we were connected to. Only then a consistent read is
// asked for; if that is older than what we hold, the history went back, and a
// consistent list replaces everything. If it is not, the watch goes on, on whichever
// server: one that lags sends nothing that is older than the version it was asked for.
func (r *Reflector) probe(ctx context.Context) state {
	version, err := r.askVersion(ctx, min(r.options.Silence, catchUp), ListOptions{Limit: 1, Probe: true, ResourceVersion: r.version.String()})
	if isAhead(err) || isExpired(err) || err == ErrStalled || err == nil && version.Before(r.version) {
		version, err = r.askVersion(ctx, r.options.Silence, ListOptions{Limit: 1, Probe: true})
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return r.failed(err, r.watch)
	}
	r.suspect = false
	switch {
	case version.Before(r.version):
		r.consistent = true
		return r.list
	case version == r.version:
		// Nothing has happened since what the store has.
		r.mute, r.provenAt = 0, time.Now()
		r.status.update(func(s *Status) { s.LastContact = r.provenAt })
	}
	return nil
}

// catchUp is how long a cache may take to reach our version. Servers give it 3 s.
const catchUp = 10 * time.Second

// askVersion returns the version of a list.
func (r *Reflector) askVersion(ctx context.Context, silence time.Duration, o ListOptions) (Version, error) {
	dog := newWatchdog(ctx, silence)
	defer dog.release()
	stream, err := r.source.List(dog, o)
	if err != nil {
		return Version{}, dog.cause(err)
	}
	defer stream.Close()
	for err == nil {
		_, err = stream.Next()
	}
	if err != io.EOF {
		return Version{}, dog.cause(err)
	}
	return ParseVersion(stream.Meta().ResourceVersion), nil
}

// answered notes that the server took up a watch: what failed before is overcome
// for now. Failures are counted on until the watch brings something.
func (r *Reflector) answered() {
	if r.deaf {
		return
	}
	r.polling, r.refusals = false, 0
	r.status.update(func(s *Status) {
		s.Cause, s.Reason, s.Attempts, s.NextTry = nil, None, 0, time.Time{}
	})
}

// healthy notes that the server sent something of use, and returns how many
// failures are over with that. A list alone proves nothing where watches fail.
func (r *Reflector) healthy(listed bool) (overcome int) {
	failed := r.failures > 0
	r.failures, r.absent = 0, 0
	if !listed {
		r.fruitless = 0
	}
	if r.fruitless == 0 && !(listed && (r.polling || r.deaf)) {
		overcome = r.outage
		r.outage, r.logged = 0, nil
		r.staleLogged = r.staleLogged && overcome == 0
	}
	r.provenAt = time.Now()
	r.status.update(func(s *Status) {
		if failed && !r.polling {
			s.Cause, s.Reason, s.Attempts, s.NextTry = nil, None, 0, time.Time{}
		}
		s.Version, s.LastContact = r.version, r.provenAt
		s.Synced = s.Synced || listed
	})
	return overcome
}

func (r *Reflector) logRecovered(failures int) {
	if failures > 0 {
		r.collection.log.line("recovered", "source", r.source.String(), "failures", failures)
	}
}

// failed notes a failure, waits, and returns how to go on.
func (r *Reflector) failed(err error, next state) state {
	if err == ErrStalled {
		err = fmt.Errorf("%s: nothing came for %v: %w", r.source, r.options.Silence, err)
	}
	r.polling, r.deaf, r.proving = false, false, false
	r.failures++
	delay := r.options.Backoff.delay(max(r.failures, r.fruitless, r.disorders-1), err)
	err, reason := r.noteFailure(err, r.failures, delay)
	if reason != NoResource {
		r.absent = 0
	}
	switch {
	case r.options.Policy == FailFast && reason.Refusal():
		return r.giveUp(reason, err)
	case r.options.Policy == Optional && reason == NoResource && r.missing(err):
		return r.wait(Absent, delay, r.start)
	}
	if r.news(reason) {
		r.collection.log.line("failed, and will be tried again", "source", r.source.String(),
			"reason", string(reason), "error", err, "in", delay)
	}
	return r.wait(Waiting, delay, next)
}

// noteFailure has a failure counted and seen, and returns it in a readable length.
func (r *Reflector) noteFailure(err error, attempts int, delay time.Duration) (error, Reason) {
	err = shorten(r.source, err)
	reason := ReasonOf(err)
	r.outage++
	r.status.update(func(s *Status) {
		s.Cause, s.Reason, s.Attempts, s.NextTry = err, reason, attempts, time.Now().Add(delay)
	})
	if r.options.OnFailure != nil {
		r.options.OnFailure(err)
	}
	return err, reason
}

// news tells whether a failure is of a kind that was not logged since all was
// well.
func (r *Reflector) news(reason Reason) bool {
	if r.logged[reason] {
		return false
	}
	if r.logged == nil {
		r.logged = map[Reason]bool{}
	}
	r.logged[reason] = true
	return true
}

// wait is in a state for a while, and then goes on.
func (r *Reflector) wait(in State, delay time.Duration, next state) state {
	return func(ctx context.Context) state {
		r.status.enter(in)
		t := time.NewTimer(delay)
		defer t.Stop()
		select {
		case <-t.C:
			return next
		case <-ctx.Done():
			return nil
		}
	}
}
