package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// ReflectorOptions of one reflector. The zero value works.
type ReflectorOptions struct {
	// PageSize asks for lists in pages. Default: one streamed request.
	PageSize int64
	// FromCache takes whatever the server has in its cache for the first list, which may
	// be older than what this program has written or read before. Default: the newest
	// state.
	FromCache bool
	// WatchList asks for the initial state through the watch. Default: LIST,
	// which costs both sides less.
	WatchList bool
	// WatchListDeadline is how long the initial events may pause before the
	// reflector falls back to LIST. Default: 10 s.
	WatchListDeadline time.Duration
	// Silence is how long a watch may send nothing at all before the server is
	// asked whether it is still there, and the watch opened again. Default: 150 s;
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
	// Accept returns an error for what is no object of the source's kind. It is reported
	// and passed over, as if it had not been sent. For a source of objects.
	Accept func(any) error
	// Transform changes or replaces each object of a source of objects before it
	// is stored. What came as bytes is transformed by the view that reads it.
	Transform func(any) (any, error)
	// Encoder makes bytes of the objects of a source of objects, and View is the one that
	// reads them. Default: objects are held as they came.
	Encoder Encoder
	View    *View
	// Server is what reflectors of one server share about it. Default: each finds it
	// out itself.
	Server *Server
	// Snapshot is what the run begins with and keeps. Default: nothing. For sources of bytes.
	Snapshot SnapshotOptions
	// EmptyGone empties the store, with Deleted for each object, once the source proves
	// that the resource is defined nowhere any more (Discovering). Default: what was read
	// is kept.
	EmptyGone bool
	// Policy says how a refusal is treated: the client is not authenticated or not
	// allowed, or the resource is not served. Default: KeepTrying.
	Policy Policy
	// Backoff after failures.
	Backoff Backoff
	// OnFailure is called for each failure of a list or a watch.
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
	in         *ingester
	status     statusBox

	// version is what the watch has reached, and the store a moment later; zero before
	// the first list. A run begins with that of the partition.
	version Version
	// consistent: the next list must be a consistent read, as the server could
	// not serve the version that we hold.
	consistent bool
	// renewing: the next list has more of each object than the store, or is to replace
	// everything for another reason.
	renewing bool
	// demands are lists that others want; answering are those who wait for the next one.
	demands   demands
	answering []chan struct{}
	// order separates new events from repeated ones.
	order order
	hearing
	warmth
	succession
	// disorders counts the lists that events out of order led to, the last one at
	// disorderAt.
	disorders  int
	disorderAt time.Time
	// settleAt is when a list is due that shows what doubtful events were; zero: none
	// is. Until then the watch goes on without them. doubt is what is wrong.
	settleAt time.Time
	doubt    error
	// listedAt is when the last list was stored.
	listedAt time.Time
	// listing measures the present list, and cause is why it is read.
	listing stopwatch
	cause   Cause
	// ranAt is when the run began; events and bookmarks count what watches have sent.
	ranAt             time.Time
	events, bookmarks uint64
	// staleLogged: that events were left out was logged since all was well.
	staleLogged bool
	// suspect: the last watch broke, so the server may have been replaced by one
	// whose history went back; ask before resuming.
	suspect bool
	// probedAt is when the server last proved that its history is the one we know.
	probedAt time.Time
	// openedAt is when the present watch was taken up, zero before; beganFrom is the
	// version that it was asked to go on from, endsAt when it was asked to end.
	openedAt  time.Time
	beganFrom Version
	endsAt    time.Time
	// lagging: the next watch may bring bookmarks from before its start, as the server
	// was asked about them; tolerant: the present one may.
	lagging, tolerant bool
	// unpaged: the next list is read in one piece, as pages have expired.
	unpaged bool
	// incomplete counts the lists in a row that had objects which could not be
	// read. What vanished may have been kept, so the list is read again in a while.
	incomplete int
	// failures in a row, outage those since all was well.
	failures, outage int
	// fruitless counts the watches that ended without result since one last brought
	// something. Lists in between may succeed, but must still become rarer.
	fruitless int
	// brief counts the watches in a row that the server soon ended with an error,
	// whatever they brought, the last one at briefAt.
	brief   int
	briefAt time.Time
	// logged are the kinds of failures that were logged since all was well; a
	// repeated one is counted, not logged again.
	logged map[Reason]bool
	// absent counts how often in a row the server did not know the resource; emptied: the
	// store has nothing of it, for that reason.
	absent  int
	emptied bool
	// missed: an object could not be taken as it is now, and the store has an older state.
	missed bool
	// refused is what ended Run, if the policy had it do so.
	refused error
}

func (o ReflectorOptions) withDefaults() ReflectorOptions {
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
	return o
}

// NewReflector returns a reflector that fills a partition from a source.
func NewReflector(s Source, c *Collection, p *Partition, o ReflectorOptions) *Reflector {
	o = o.withDefaults()
	r := &Reflector{source: s, collection: c, part: p, options: o}
	r.in = &ingester{
		collection: c, dropManagedFields: o.DropManagedFields,
		accept: o.Accept, transform: o.Transform, encoder: o.Encoder, view: o.View,
	}
	_, r.in.objects = s.(Whole)
	r.in.labels.known = map[string]knownLabels{}
	r.status.s.Source = s.String()
	return r
}

// Status returns what the reflector is doing.
func (r *Reflector) Status() Status { return r.status.get() }

// state is what the reflector does next; nil: it has ended.
type state func(context.Context) state

// Run lists and watches until ctx ends, and then returns nil. With the policy
// FailFast it ends when it is refused, with a *RefusedError. It can be run again;
// it then continues where it was.
func (r *Reflector) Run(ctx context.Context) error {
	defer r.status.enter(Stopped)
	r.refused, r.staleLogged = nil, false
	r.version = r.begins()
	r.refusals, r.ranAt = 0, time.Now()
	defer r.openSnapshot(ctx)()
	next := r.start
	for next != nil && ctx.Err() == nil {
		next = next(ctx)
	}
	return r.refused
}

func (r *Reflector) start(context.Context) state {
	switch {
	case r.unconfirmed:
		return r.prove
	case !r.version.IsZero() && !r.part.Version().IsZero():
		r.suspect = r.suspect || !r.handed
		r.handed = false
		return r.watch
	case !r.version.IsZero() || r.consistent:
		return r.listFor(First) // no older than what was stored in other scopes
	case r.options.WatchList && !r.options.Server.listOnly.Load():
		return r.watchList
	}
	return r.listFor(First)
}

// list reads the whole set and replaces the partition with it.
func (r *Reflector) list(ctx context.Context) state {
	r.observe(Observation{Point: PointList, Cause: r.cause})
	r.listing = stopwatch{time.Now()}
	switch {
	case r.deaf:
		r.status.enter(Polling)
	case !r.polling:
		r.status.enter(Listing)
	}
	r.takeDemands()
	read := r.part.beginRead()
	o := ListOptions{Limit: r.options.PageSize, ResourceVersion: r.version.String()}
	if r.unpaged {
		o.Limit = 0
	}
	switch {
	case r.consistent:
		o.ResourceVersion = ""
	case r.version.IsZero() && r.options.FromCache:
		o.ResourceVersion = "0"
	}
	r.in.distrust = r.consistent || r.unconfirmed
	list, version, err := r.readList(ctx, o)
	r.in.distrust, r.in.stored = false, nil
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, ErrRenewed):
		return r.renew(ctx)
	case isExpired(err) && o.Limit > 0:
		// Pages are older than a server remembers by the time that all are read.
		r.unpaged, r.consistent = true, r.consistent || o.ResourceVersion != "0"
		return r.listFor(Forgotten)
	case (isAhead(err) || isExpired(err)) && o.ResourceVersion != "":
		// What we hold cannot be compared with what the server has: ask for what
		// it has.
		r.consistent = true
		return r.listFor(Incomparable)
	default:
		// A server that is asked for a version that it has not reached may wait for it,
		// for longer than we do, and its history may have gone back.
		r.consistent = r.consistent || errors.Is(err, errStalled)
		return r.failed(err, r.listFor(Failed))
	}
	list.NewEpoch = version.Before(r.version)
	if list.NewEpoch && !r.consistent {
		// An answer older than what was asked for proves nothing.
		r.consistent = true
		return r.listFor(Incomparable)
	}
	list.Current = r.renewing || r.unconfirmed || (r.order.disordered || r.order.unordered) && !r.order.apart
	r.unpaged = false
	r.replace(ctx, list, version)
	r.metDemands()
	if o.ResourceVersion == "" {
		r.part.proved(version, read)
	}
	return r.watch
}

// watch follows the changes from the version that the store has reached.
func (r *Reflector) watch(ctx context.Context) state {
	relist, why := r.relistIn()
	if r.proving = r.unproven(); r.proving || why != nil && relist <= 0 {
		return r.listFor(causeOf(why, r.proving))
	}
	if r.demands.pending() {
		return r.listFor(Verified)
	}
	if r.suspect && time.Since(r.probedAt) >= probePause && !r.in.objects && r.version.number != 0 { // others are not compared
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
	defer r.demands.heed(func() { dog.cancel(errDemanded) })()
	o := WatchOptions{ResourceVersion: r.version.String(), Timeout: r.watchTimeout()}
	r.begin(o)
	stream, err := r.source.Watch(dog, o)
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

// begin notes that a watch is about to be opened.
func (r *Reflector) begin(o WatchOptions) {
	r.observe(Observation{Point: PointWatch})
	if r.suspect || r.failures > 0 {
		r.status.update(func(s *Status) { s.Reconnects++ })
	}
	r.openedAt, r.beganFrom = time.Time{}, r.version
	r.endsAt = time.Now().Add(o.Timeout)
	r.tolerant, r.lagging = r.lagging, false
}

// errIncomplete ends a watch that followed an incomplete list.
var errIncomplete = errors.New("the last list had objects that could not be read")

// errAtOnce: a watch ended as soon as it had begun, as proxies do that cannot
// stream.
var errAtOnce = errors.New("the server ended the watch at once")

// errWentBack ends a watch whose server has a lower version than we hold.
var errWentBack = errors.New("the server's version is lower than the one that it was asked to go on from")

// watchEnded decides what follows a watch. A productive one brought something, so it
// can be resumed at once.
func (r *Reflector) watchEnded(ctx context.Context, err error, productive bool) state {
	if r.order.listed.IsZero() && !r.in.objects {
		r.order.disordered = true // there is no version to resume at that a list gave
	}
	switch {
	case errors.Is(err, ErrRenewed):
		return r.renew
	case errors.Is(err, errAsked):
		return r.asked
	case errors.Is(err, errDemanded):
		return r.listFor(Verified)
	}
	r.noteEnd(err)
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
		r.observe(Observation{Point: PointExpired})
		if r.fruitless > 1 || r.brief > 2 {
			return r.failed(err, r.listFor(Forgotten)) // it forgets what it has just listed
		}
		return r.listFor(Forgotten)
	case errors.Is(err, errWentBack):
		return r.wentBack(err)
	case errors.Is(err, errIncomplete), errors.Is(err, errDisorder), errors.Is(err, errUnconfirmed):
		return r.listFor(causeOf(err, false))
	case errors.Is(err, errOutOfOrder):
		return r.outOfOrder(err)
	case errors.Is(err, errStalled):
		// Where nothing happens at all, servers have nothing to say. Ask.
		r.suspect, r.probedAt = true, time.Time{}
		return r.watch
	}
	if isUnwatchable(err) {
		return r.poll(err)
	}
	r.suspect = true
	if err == io.EOF {
		err = fmt.Errorf("watch %s: %w", r.source, errAtOnce)
	}
	reason := reasonOf(err)
	if (reason == Garbled || reason == Unknown) && !r.openedAt.IsZero() && time.Since(r.openedAt) < lasting {
		r.brief, r.briefAt = r.brief+1, time.Now() // it may be sent each time, and lists do not end it
	}
	if r.failures > 0 && (reason == Garbled || reason == Unknown || reason == ServerError || errors.Is(err, errAtOnce)) {
		// It was not the way here: the server itself sends what cannot be read, or
		// nothing, or cannot watch. A list gets past it.
		return r.failed(err, r.listFor(Failed))
	}
	return r.failed(err, r.watch)
}
