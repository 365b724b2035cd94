package kinform

import (
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// Options of an informer. The zero value works, for every type of k8s.io/api.
type Options struct {
	// Resource is what to list and watch. Default: the resource of the informer's
	// type, which is known for the types of k8s.io/api; it must be set for all
	// others, for unstructured and for metadata-only objects.
	Resource schema.GroupVersionResource

	// Namespaces to list and watch, each with its own requests. Default: all
	// namespaces, with one list and one watch. Set it where permissions are limited
	// to some namespaces, or for few namespaces of a large cluster. Informer.SetScope
	// changes them, and the selectors, later.
	Namespaces []string

	// LabelSelector and FieldSelector narrow what the server sends, as kubectl's
	// -l and --field-selector. Default: everything.
	LabelSelector string
	FieldSelector string

	// OwnScope has For and Acquire return an informer that nobody else gets, so that its
	// scope can be changed (Informer.SetScope). Default: readers that ask a factory for
	// the same share one informer, whose scope is fixed. New needs no OwnScope.
	OwnScope bool

	// DropManagedFields leaves metadata.managedFields out of the cache. Default:
	// every field is kept.
	DropManagedFields bool

	// PageSize requests lists in pages of that many objects. Default: one streamed
	// request, which is read as it arrives and so needs no pages. Set it for
	// servers that cannot stream.
	PageSize int64

	// FromCache takes the first list from the server's cache as it is. That cache may
	// lag, so that an informer which has just synced can be older than what the program
	// itself wrote or read a moment ago, or before it restarted. Default: the newest
	// state. Servers from 1.31 on answer that from their cache, too, once it has caught
	// up; older ones read it from etcd. Set it for large resources on older servers,
	// where a start may be a little behind.
	FromCache bool

	// WatchList asks for the first list through the watch. Default: LIST, which
	// costs both sides less. If 10 s pass without an event and without the closing
	// bookmark, LIST is used instead.
	WatchList bool

	// JSON keeps the server from sending protobuf. Default: protobuf for types
	// that have it. For debugging.
	JSON bool

	// Compression says whether the server is asked to compress lists:
	// CompressionFar, CompressionAlways or CompressionNever. Default: CompressionFar,
	// which compresses unless the server is on this machine or is that of the cluster
	// which the program runs in. Set CompressionAlways where that network is slow or
	// billed by volume.
	Compression Compression

	// Residency says for how long objects stay decoded: ResidencyAutomatic,
	// ResidencyAlways, ResidencyNever, or a number of bytes that the objects may take
	// together which readers have asked for. What handlers get is not part of that
	// number; Memory.Passing shows it. Default: ResidencyAutomatic, while they are read.
	// Set a number where memory is scarce, ResidencyAlways where repeated reads must be
	// as fast as possible.
	Residency Residency

	// Unshared decodes each object on its own. Default: objects that the server sent
	// with much the same bytes, such as the pods of one workload, have those parts in
	// common when they are decoded, except for labels and annotations. That takes a
	// third of the memory and half of the time. A program that changes an object that
	// it has not copied may then change others, until that is found, which it is at
	// intervals: Status.Mutated counts it, and all of them are decoded again. Set it
	// for a program that is known to do so. With MutationDetectorFull it is always so.
	Unshared bool

	// MaxObjectSize is the largest object that is accepted from the server; a larger
	// one is an error. Default: 64 MiB. Servers themselves limit objects to about
	// 3 MiB.
	MaxObjectSize int64

	// Snapshot says where to keep what was read, for the next start of the program.
	// Default: nothing is kept, and each start lists everything. Set it where lists are
	// large or programs restart often.
	Snapshot SnapshotOptions

	// Silence is how long a watch may send nothing before the server is probed and
	// the watch opened again. Default: 150 s. Raise it for servers without bookmarks.
	Silence time.Duration

	// Poll is how often the resource is listed while it cannot be watched: the server
	// or a proxy refuses watches, or their events never arrive. The watch is tried
	// again each time. Default: 30 s. Raise it where lists are expensive and a store
	// that old is good enough.
	Poll time.Duration

	// Policy says what a refusal by the server means: PolicyKeepTrying,
	// PolicyFailFast or PolicyOptional. Default: PolicyKeepTrying, which shows the
	// cause in Status and in WaitSynced's error, and continues once the permission is
	// granted or the resource is served.
	Policy Policy

	// Backoff is how long to wait after failures. Default: 0.8 s, doubled each
	// time, at most 30 s.
	Backoff Backoff

	// Grace is how long an informer that was acquired from a factory goes on after its
	// last release. Default: it ends at once. Set it where the next Acquire often follows
	// soon.
	Grace time.Duration

	// OnFailure is called for each failure of a list or a watch, before it is tried
	// again; while a resource is absent, only for the first ones. It must not block. Default: failures show in Status and in the log.
	OnFailure func(error)

	// MutationDetector looks for readers that change the objects they got, which
	// other readers then see until the object is decoded again:
	// MutationDetectorOff, MutationDetectorSampled or MutationDetectorFull. Default:
	// MutationDetectorOff. Set MutationDetectorSampled in production,
	// MutationDetectorFull in tests.
	MutationDetector MutationDetector

	// OnMutation is called for each such change. It must not block. Default: they
	// show in Status and in the log.
	OnMutation func(Mutation)

	// Tracer begins a span for each event that a handler of this informer is called for.
	// Default: none, and nothing is done for it. Set it to see what a handler does together
	// with the event that it was called for; see package tracing.
	Tracer Tracer

	// Logger gets changes of state, failures and rejected objects; never one line
	// per event. Default: slog.Default().
	Logger *slog.Logger
}

// Residency says for how long objects stay decoded. A positive number is how many
// bytes the objects may take together that are kept for readers.
type Residency int64

// Ways to keep objects decoded.
const (
	// ResidencyAutomatic keeps an object that readers ask for decoded while they keep
	// asking, within a share of the memory that the process may use.
	ResidencyAutomatic Residency = 0
	// ResidencyAlways keeps every object that was decoded once, until it changes.
	ResidencyAlways Residency = -1
	// ResidencyNever keeps nothing decoded for readers. What was decoded a moment ago is
	// still shared, and must not be changed.
	ResidencyNever Residency = -2
)

// String returns "automatic", "always", "never" or a number of bytes.
func (r Residency) String() string {
	if r > 0 {
		return fmt.Sprintf("%d bytes", int64(r))
	}
	return nameOf(-int64(r), "Residency", "automatic", "always", "never")
}

// Compression says whether a server is asked to compress its lists.
type Compression uint8

// When to compress lists.
const (
	// CompressionFar compresses unless the server is on this machine, or is that of
	// the cluster which the program runs in: compressing a list takes a server longer
	// than the network between the two. rest.Config.DisableCompression is respected.
	CompressionFar Compression = iota
	// CompressionAlways is for networks inside a cluster that are slow or billed by
	// volume.
	CompressionAlways
	// CompressionNever is for fast networks to remote servers.
	CompressionNever
)

// String returns "far", "always" or "never".
func (c Compression) String() string {
	return nameOf(int64(c), "Compression", "far", "always", "never")
}

// Backoff says how long to wait after failures: First after the first one, twice as
// long after each further one, at most Most, each time up to half as long again at
// random, so that many clients of one failing server do not come back together.
// Default: 0.8 s and 30 s.
type Backoff struct {
	First time.Duration
	Most  time.Duration
}

// The defaults of MaxObjectSize, Silence and Poll, which are package wire's and the
// engine's.
const (
	defaultMaxObjectSize = 64 << 20
	defaultSilence       = 150 * time.Second
	defaultPoll          = 30 * time.Second
)

// check returns what is wrong with the options, if anything.
func (o *Options) check() error {
	if r := o.Resource; r.Resource == "" && (r.Group != "" || r.Version != "") {
		return fmt.Errorf("Options.Resource has a group or a version (%q, %q) and no resource: name its plural, such as \"pods\"", r.Group, r.Version)
	}
	if err := o.scope().check("Options"); err != nil {
		return err
	}
	if err := o.Snapshot.check(); err != nil {
		return err
	}
	return o.checkNumbers()
}

func (o *Options) checkNumbers() error {
	switch {
	case o.PageSize < 0:
		return fmt.Errorf("Options.PageSize is %d: it is 0, for no pages, or more", o.PageSize)
	case o.MaxObjectSize < 0:
		return fmt.Errorf("Options.MaxObjectSize is %d: it is 0, for the default of %d, or more", o.MaxObjectSize, defaultMaxObjectSize)
	case o.Silence < 0:
		return fmt.Errorf("Options.Silence is %v: it is 0, for the default of %v, or more", o.Silence, defaultSilence)
	case o.Poll < 0:
		return fmt.Errorf("Options.Poll is %v: it is 0, for the default of %v, or more", o.Poll, defaultPoll)
	case o.Grace < 0:
		return fmt.Errorf("Options.Grace is %v: it is 0, for none, or more", o.Grace)
	case o.Backoff.First < 0 || o.Backoff.Most < 0:
		return fmt.Errorf("Options.Backoff is %v to %v: both are 0, for the default, or more", o.Backoff.First, o.Backoff.Most)
	case o.Compression > CompressionNever:
		return fmt.Errorf("Options.Compression is %d: it is one of CompressionFar, CompressionAlways and CompressionNever", o.Compression)
	case o.Residency < ResidencyNever:
		return fmt.Errorf("Options.Residency is %d: it is one of ResidencyAutomatic, ResidencyAlways and ResidencyNever, or a number of bytes", int64(o.Residency))
	case o.Policy > PolicyOptional:
		return fmt.Errorf("Options.Policy is %d: it is one of PolicyKeepTrying, PolicyFailFast and PolicyOptional", o.Policy)
	case o.MutationDetector > MutationDetectorFull:
		return fmt.Errorf("Options.MutationDetector is %d: it is one of MutationDetectorOff, MutationDetectorSampled and MutationDetectorFull", o.MutationDetector)
	}
	for name, d := range map[string]time.Duration{"Silence": o.Silence, "Poll": o.Poll, "Backoff.First": o.Backoff.First} {
		if d > 0 && d < time.Millisecond { // the server would be asked without a pause
			return fmt.Errorf("Options.%s is %v, less than a millisecond: a unit such as time.Second may be missing", name, d)
		}
	}
	backoff := engine.Backoff(o.Backoff).WithDefaults()
	if backoff.First > backoff.Most {
		return fmt.Errorf("Options.Backoff is %v to %v: First is at most Most", backoff.First, backoff.Most)
	}
	return nil
}

func (o *Options) reflector() engine.ReflectorOptions {
	return engine.ReflectorOptions{
		PageSize:          o.PageSize,
		FromCache:         o.FromCache,
		WatchList:         o.WatchList,
		Silence:           o.Silence,
		Poll:              o.Poll,
		DropManagedFields: o.DropManagedFields,
		Policy:            engine.Policy(o.Policy),
		EmptyGone:         true,
		Backoff:           engine.Backoff(o.Backoff),
		Snapshot:          engine.SnapshotOptions{Every: o.Snapshot.Every, OnlyChanges: o.Snapshot.OnlyChanges},
	}
}

func (o *Options) limits() wire.Limits { return wire.Limits{Frame: o.MaxObjectSize} }
