package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinform/kinform/internal/engine/machine"
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
	// known is what the machine decides by; tell changes it.
	known machine.Known
	// err is what happened last that the machine was told of as a failure, reason its kind,
	// and delay how long to wait for it.
	err    error
	reason Reason
	delay  time.Duration
	// demands are lists that others want; answering are those who wait for the next one.
	demands   demands
	answering []chan struct{}
	// order separates new events from repeated ones.
	order order
	hearing
	warmth
	succession
	// disorderAt is when an event was last out of order, and briefAt when a watch was last brief.
	disorderAt, briefAt time.Time
	// settleAt is when a list is due that shows what doubtful events were; zero: none
	// is. Until then the watch goes on without them. doubt is what is wrong.
	settleAt time.Time
	doubt    error
	// listedAt is when the last list was stored.
	listedAt time.Time
	// listing measures the present list.
	listing stopwatch
	// ranAt is when the run began; events and bookmarks count what watches have sent.
	ranAt             time.Time
	events, bookmarks uint64
	// staleLogged: that events were left out was logged since all was well.
	staleLogged bool
	// probedAt is when the server last proved that its history is the one we know.
	probedAt time.Time
	// openedAt is when the present watch was taken up, zero before; beganFrom is the
	// version that it was asked to go on from, endsAt when it was asked to end.
	openedAt  time.Time
	beganFrom Version
	endsAt    time.Time
	// outage counts the failures since all was well.
	outage int
	// logged are the kinds of failures that were logged since all was well; a
	// repeated one is counted, not logged again.
	logged map[Reason]bool
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
	_, discovers := s.(Discovering)
	r.known.Options = machine.Options{
		Policy: machine.Policy(o.Policy), FirstNewest: !o.FromCache, Streams: o.WatchList,
		Paged: o.PageSize > 0, Discovers: discovers && o.EmptyGone, Objects: r.in.objects,
	}
	r.in.labels.known = map[string]knownLabels{}
	r.status.s.Source = s.String()
	return r
}

// Status returns what the reflector is doing.
func (r *Reflector) Status() Status { return r.status.get() }

// Run lists and watches until ctx ends, and then returns nil. With the policy
// FailFast it ends when it is refused, with a *RefusedError. It can be run again;
// it then continues where it was.
func (r *Reflector) Run(ctx context.Context) error {
	defer r.status.enter(Stopped)
	r.refused, r.staleLogged = nil, false
	r.version = r.begins()
	r.ranAt = time.Now()
	defer r.openSnapshot(ctx)()
	do := r.begin()
	for do.Act != machine.End && ctx.Err() == nil {
		do = r.performer(do.Act)(ctx, do)
	}
	if do.Refused {
		r.giveUp()
	}
	return r.refused
}

// performer returns what does an act, and returns what the machine says next.
func (r *Reflector) performer(act machine.Act) func(context.Context, machine.Do) machine.Do {
	switch act {
	case machine.Begin:
		return func(context.Context, machine.Do) machine.Do { return r.begin() }
	case machine.Prove:
		return r.prove
	case machine.List:
		return r.list
	case machine.Stream:
		return r.watchList
	case machine.Look:
		return func(context.Context, machine.Do) machine.Do { return r.look() }
	case machine.AskCache, machine.AskNewest:
		return r.probe
	case machine.Watch:
		return r.watch
	case machine.Wait:
		return r.wait
	case machine.Search:
		return func(ctx context.Context, _ machine.Do) machine.Do { return r.search(ctx) }
	case machine.Empty:
		return func(_ context.Context, do machine.Do) machine.Do { return r.empty(do) }
	}
	panic(fmt.Sprintf("the machine says %d where nothing goes on", act))
}

// begin tells what the run begins with.
func (r *Reflector) begin() machine.Do {
	return r.tell(machine.Happened{
		What: machine.Began, Held: !r.version.IsZero(), Filled: !r.part.Version().IsZero(),
		Streamable: !r.options.Server.listOnly.Load(),
	})
}

// list reads the whole set and replaces the partition with it.
func (r *Reflector) list(ctx context.Context, do machine.Do) machine.Do {
	r.observe(Observation{Point: PointList, Cause: do.Cause})
	r.listing = stopwatch{time.Now()}
	r.show(do)
	do = r.tell(machine.Happened{What: machine.Prepared, Demanded: r.takeDemands(), Held: !r.version.IsZero()})
	read := r.part.beginRead()
	o := ListOptions{Limit: r.options.PageSize}
	if do.Unpaged {
		o.Limit = 0
	}
	switch do.At {
	case machine.Any:
		o.ResourceVersion = "0"
	case machine.NotOlder:
		o.ResourceVersion = r.version.String()
	}
	r.in.distrust = do.Distrust
	list, version, err := r.readList(ctx, o)
	r.in.distrust, r.in.stored = false, nil
	if err != nil {
		return r.broke(ctx, err)
	}
	if do = r.tell(r.listed(list, version)); do.Act != machine.Store {
		return do
	}
	list.NewEpoch, list.Current = do.NewEpoch, do.Overwrite
	next := r.replace(ctx, list, version, do)
	r.metDemands()
	if do.Exact {
		r.part.proved(version, read)
	}
	return next
}

// listed is what there is to tell of a list.
func (r *Reflector) listed(list List, version Version) machine.Happened {
	return machine.Happened{
		What: machine.Listed, Version: r.compare(version), Gaps: list.Incomplete,
		Unsure:   (r.order.disordered || r.order.unordered) && !r.order.apart,
		Doubtful: !r.settleAt.IsZero(),
	}
}

// look tells what there is to know before a watch is opened.
func (r *Reflector) look() machine.Do {
	h := machine.Happened{What: machine.Looked, Demanded: r.demands.pending()}
	if relist, why := r.relistIn(); why != nil && relist <= 0 {
		h.Due = failureOf(why)
	}
	since := time.Since(r.provenAt)
	h.Quiet = since >= min(r.options.Silence, r.options.Poll)
	h.QuietLong = since/machine.MuteWatches >= r.options.Silence
	h.ProbeOld = time.Since(r.probedAt) >= probePause
	h.Comparable = r.version.number != 0
	return r.tell(h)
}

// watch follows the changes from the version that the store has reached.
func (r *Reflector) watch(ctx context.Context, do machine.Do) machine.Do {
	relist, why := r.relistIn()
	silence := r.options.Silence
	if r.known.Deaf {
		silence = min(silence, r.options.Poll)
	}
	dog := newWatchdog(ctx, silence)
	defer dog.release()
	defer r.demands.heed(func() { dog.cancel(errDemanded) })()
	o := WatchOptions{ResourceVersion: r.version.String(), Timeout: watchTimeout()}
	if do.Short {
		o.Timeout = confirmIn
	}
	r.opening(o, do)
	stream, err := r.source.Watch(dog, o)
	if err != nil {
		return r.watchEnded(ctx, dog.cause(err), false)
	}
	defer stream.Close()
	do = r.tell(machine.Happened{What: machine.Opened})
	if do.Overcome {
		r.status.update(r.overcome)
	}
	if why != nil {
		t := time.AfterFunc(relist, func() { dog.cancel(why) })
		defer t.Stop()
	}
	return r.follow(ctx, dog, stream, do)
}

// opening notes that a watch is about to be opened.
func (r *Reflector) opening(o WatchOptions, do machine.Do) {
	r.observe(Observation{Point: PointWatch})
	if do.Reconnect {
		r.status.update(func(s *Status) { s.Reconnects++ })
	}
	r.openedAt, r.beganFrom = time.Time{}, r.version
	r.endsAt = time.Now().Add(o.Timeout)
}

// errIncomplete ends a watch that followed an incomplete list.
var errIncomplete = errors.New("the last list had objects that could not be read")

// errAtOnce: a watch ended as soon as it had begun, as proxies do that cannot
// stream.
var errAtOnce = errors.New("the server ended the watch at once")

// errWentBack ends a watch whose server has a lower version than we hold.
var errWentBack = errors.New("the server's version is lower than the one that it was asked to go on from")

// watchEnded tells how a watch ended. A productive one brought something, so it can be
// resumed at once.
func (r *Reflector) watchEnded(ctx context.Context, err error, productive bool) machine.Do {
	if r.order.listed.IsZero() && !r.in.objects {
		r.order.disordered = true // there is no version to resume at that a list gave
	}
	f := failureOf(err)
	var status apierrors.APIStatus
	e := machine.Ending{
		Productive:   productive,
		Early:        time.Until(r.endsAt) > time.Second,
		Taken:        !r.openedAt.IsZero(),
		Lasted:       !r.openedAt.IsZero() && time.Since(r.openedAt) >= lasting,
		Said:         errors.As(err, &status),
		BriefLongAgo: time.Since(r.briefAt) > max(apart, 2*r.options.Backoff.WithDefaults().Most),
		Wanted:       f == machine.Question && r.part.takeQuestion(),
	}
	switch {
	case f == machine.Expired && ctx.Err() == nil:
		r.observe(Observation{Point: PointExpired})
	case f == machine.OutOfOrder, f == machine.Older && r.in.objects:
		e.Calm = time.Since(r.disorderAt) > calm
		err = fmt.Errorf("watch %s: %w", r.source, err)
	case f == machine.Ended:
		err = fmt.Errorf("watch %s: %w", r.source, errAtOnce)
	}
	if ctx.Err() != nil {
		f = machine.Stop
	}
	r.err = err
	return r.tell(machine.Happened{What: machine.Broke, Failure: f, Ending: e})
}
