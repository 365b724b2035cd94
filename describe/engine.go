package describe

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// Engine describes what the engine knows of an informer; subs are the subscribers to
// include. The calling package adds the kind of informer, its types, its queries and
// what else it puts around the engine.
func Engine(inf *engine.Informer, subs []*engine.Subscription) Description {
	o := inf.ReflectorOptions()
	backoff := o.Backoff.WithDefaults()
	d := Description{
		At:     time.Now(),
		Engine: inf.Number(),
		Queue:  "one for each handler",
		Source: Source{
			List:              listing(o),
			FromCache:         o.FromCache,
			PageSize:          o.PageSize,
			DropManagedFields: o.DropManagedFields,
			Silence:           Duration(o.Silence),
			Backoff:           &Backoff{Duration(backoff.First), Duration(backoff.Most)},
			Policy:            o.Policy.String(),
			ErrorHandler:      Function(o.OnFailure),
		},
		Store:    store(inf),
		Handlers: []Handler{},
		Status:   status(inf),
	}
	if len(d.Status.Sources) > 0 {
		d.Source.Name = d.Status.Sources[0].Source
	}
	for _, sub := range subs {
		d.Handlers = append(d.Handlers, Subscriber(sub))
	}
	return d
}

// listing says how the whole set is read.
func listing(o engine.ReflectorOptions) string {
	switch {
	case o.WatchList:
		return "WatchList, else LIST"
	case o.PageSize > 0:
		return fmt.Sprintf("LIST, in pages of %d", o.PageSize)
	}
	return "LIST, streamed"
}

func store(inf *engine.Informer) Store {
	s := Store{Indexes: inf.Indexers(), Residency: residency(inf.Residency()), Objects: inf.Len()}
	s.weigh(inf)
	for r := range inf.All() {
		s.Held = "objects"
		if r.Object() == nil {
			s.Held = r.Format().String()
		}
		break
	}
	var last error
	if s.Rejected, last = inf.Rejected(); last != nil {
		s.LastRejected = rejected(last)
	}
	return s
}

// weigh fills in what the store holds, and where.
func (s *Store) weigh(inf *engine.Informer) {
	s.Bytes, s.Packed = inf.Weight()
	s.Memory = Memory(inf.Memory())
	s.Hits, s.Misses = inf.Reads()
	for _, d := range inf.Decoded() {
		s.Decoded = append(s.Decoded, Decoded{d.Why.String(), d.Objects, d.Bytes, d.Since})
	}
}

func residency(r engine.Residency) string {
	switch r {
	case engine.Automatic:
		return "automatic"
	case engine.AlwaysDecoded:
		return "always decoded"
	case engine.NeverDecoded:
		return "never decoded"
	}
	return fmt.Sprintf("at most %d bytes decoded", int64(r))
}

// rejected says which object was rejected, without the text of the error, which may
// quote the object.
func rejected(err error) string {
	var undecoded *engine.DecodeError
	if errors.As(err, &undecoded) {
		return undecoded.Key + ", which is no " + undecoded.View
	}
	if key := engine.RejectedKey(err); key != "" {
		return key
	}
	return ""
}

func status(inf *engine.Informer) Status {
	sources := inf.Status()
	s := Status{Synced: inf.HasSynced(), Version: inf.Version().String(), Stopped: len(sources) > 0}
	for _, src := range sources {
		s.Started = s.Started || src.State != engine.Idle
		s.Stopped = s.Stopped && src.State == engine.Stopped
		s.Sources = append(s.Sources, SourceStatus{
			Source: src.Source, State: src.State.String(), Since: src.Since, Synced: src.Synced,
			Reason: string(src.Reason), Cause: cause(src), Attempts: src.Attempts, NextTry: src.NextTry,
			Version: src.Version.String(), LastContact: src.LastContact,
			Listed: src.Listed, Received: src.Received,
			Lists: src.Lists, Watches: src.Watches, Expired: src.Expired, Epochs: src.Epochs, Stale: src.Stale,
			Events: src.Events, Bookmarks: src.Bookmarks, Reconnects: src.Reconnects,
			ListsBy: byName(src.ListsBy), Failures: byName(src.Failures), ListTime: Duration(src.ListTime),
			WatchedSince: src.WatchedSince, SyncTook: Duration(src.SyncTook),
			Snapshot: onDisk(src.Snapshot),
		})
	}
	return s
}

func byName[K ~string](counts map[K]uint64) map[string]uint64 {
	if len(counts) == 0 {
		return nil
	}
	named := make(map[string]uint64, len(counts))
	for k, n := range counts {
		named[string(k)] = n
	}
	return named
}

// onDisk says what became of a snapshot.
func onDisk(s engine.SnapshotStatus) string {
	var words []string
	switch {
	case s.Unconfirmed:
		words = append(words, fmt.Sprintf("%d objects as of %s, not confirmed yet", s.Restored, s.Seen.UTC().Format(time.RFC3339)))
	case s.Restored > 0:
		words = append(words, fmt.Sprintf("began with %d objects", s.Restored))
	}
	if s.SetAside != nil {
		words = append(words, "set aside: "+s.SetAside.Error())
	}
	if s.Failure != nil {
		words = append(words, "not written: "+s.Failure.Error())
	} else if !s.Version.IsZero() {
		words = append(words, fmt.Sprintf("%d bytes at version %s", s.Size, s.Version))
	}
	return strings.Join(words, "; ")
}

// cause is why a source fails. What cannot be understood is not quoted, it may be
// an object.
func cause(s engine.Status) string {
	switch {
	case s.Cause == nil:
		return ""
	case s.Reason == engine.Garbled:
		return "what was sent cannot be understood (Status has the words)"
	}
	return s.Cause.Error()
}

// Subscriber describes a subscriber of the engine.
func Subscriber(sub *engine.Subscription) Handler {
	o, s := sub.Options(), sub.Status()
	q := &Queue{
		Policy: "every change", Limit: o.Limit,
		Waiting: s.Waiting, Delivered: s.Delivered, Refused: s.Refused, Merged: s.Merged, Panics: s.Panics,
		Lag: Duration(s.Lag), Took: durations(s.Took, engine.HandlerBuckets), Late: durations(s.Late, engine.DelayBuckets),
	}
	if o.Merge == engine.Latest {
		q.Policy, q.Limit = "latest states", 0
	}
	return Handler{Name: s.Name, ID: sub.Number(), Resync: Duration(o.Resync), Synced: s.Synced, Queue: q}
}

// durations describes what was measured; nil if nothing was.
func durations(d engine.Durations, limits []float64) *Durations {
	for _, n := range d.Counts {
		if n > 0 {
			return &Durations{limits, d.Counts, Duration(d.Sum)}
		}
	}
	return nil
}

// Query describes what a server is asked for. Informers of several namespaces name
// these themselves.
func (s *Source) Query(q kube.Query) {
	s.Via = "the API server, as bytes"
	s.Resource = q.Resource.Resource + "." + q.Resource.Version
	if q.Resource.Group != "" {
		s.Resource += "." + q.Resource.Group
	}
	if q.Namespace != "" {
		s.Namespaces = []string{q.Namespace}
	}
	s.LabelSelector, s.FieldSelector, s.Tweak = q.LabelSelector, q.FieldSelector, Function(q.Tweak)
	s.MetadataOnly, s.MaxObjectSize = q.MetadataOnly, q.Limits.Frame
	s.Encoding = "json"
	if q.Protobuf {
		s.Encoding = "protobuf, else json"
	}
}

// Function is the name of a function; "" for nil.
func Function(f any) string {
	v := reflect.ValueOf(f)
	if !v.IsValid() || v.IsNil() {
		return ""
	}
	if fn := runtime.FuncForPC(v.Pointer()); fn != nil {
		return fn.Name()
	}
	return v.Type().String()
}
