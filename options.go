package kinform

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/engine"
	"github.com/kinform/kinform/kube"
	"github.com/kinform/kinform/wire"
)

// Options of an informer. The zero value works, for every type of k8s.io/api.
type Options struct {
	// Resource is what to list and watch. Default: the resource of the informer's
	// type, which is known for the types of k8s.io/api; it must be set for all
	// others, for unstructured and for metadata-only objects.
	Resource schema.GroupVersionResource

	// Namespaces to look at, each with a list and a watch of its own. Default:
	// all of them, with one. Set it where the rights do not reach further, or for
	// few namespaces of a large cluster.
	Namespaces []string

	// LabelSelector and FieldSelector narrow what the server sends, as kubectl's
	// -l and --field-selector. Default: everything.
	LabelSelector string
	FieldSelector string

	// DropManagedFields leaves metadata.managedFields out of the cache. Default:
	// every field is kept.
	DropManagedFields bool

	// PageSize asks for lists in pages of so many objects. Default: one streamed
	// request, which is read as it arrives and so needs no pages. Set it for
	// servers that cannot stream.
	PageSize int64

	// ConsistentFirstList asks the server for its newest state at the first list.
	// Default: whatever its cache holds, which is cheaper for it; the watch brings
	// the rest.
	ConsistentFirstList bool

	// WatchList asks for the first list through the watch. Default: LIST, which
	// costs both sides less. Where the closing bookmark does not come within
	// 10 s of silence, LIST is used after all.
	WatchList bool

	// JSON keeps the server from sending protobuf. Default: protobuf for types
	// that have it. For debugging.
	JSON bool

	// Compression says whether the server is asked to compress lists: CompressFar,
	// CompressAlways or CompressNever. Default: CompressFar, unless the server is on
	// this machine or that of the cluster around the program. Set CompressAlways
	// where that network is slow or paid for.
	Compression Compression

	// Residency says for how long objects stay decoded: Automatic, AlwaysDecoded,
	// NeverDecoded, or a number of bytes that decoded objects may weigh together.
	// Default: Automatic, while they are read. Set a number where memory is scarce,
	// AlwaysDecoded where the first read must be as fast as the next.
	Residency Residency

	// MaxObjectSize is the largest object that is taken from the server; one that
	// is larger is an error. Default: wire.DefaultLimits. A server limits objects
	// to about 3 MiB itself.
	MaxObjectSize int64

	// Silence is how long a watch may send nothing before the server is asked
	// whether it is still there, and the watch opened anew. Default: 150 s. Raise it
	// for servers without bookmarks.
	Silence time.Duration

	// Policy says what it means that the server refuses: KeepTrying, FailFast or
	// Optional. Default: KeepTrying, which shows the cause in Status and in
	// WaitSynced's error, and goes on when the rights or the resource are there.
	Policy Policy

	// Backoff is how long to wait after failures. Default: 0.8 s, doubled each
	// time, at most 30 s.
	Backoff Backoff

	// OnFailure is told of each failure of a list or a watch, before it is tried
	// again. It must not wait. Default: failures show in Status and in the log.
	OnFailure func(error)

	// MutationDetector looks for readers that change the objects they got, which
	// other readers then see until the object is decoded again: MutationsIgnored,
	// MutationsSampled or MutationsAll. Default: MutationsIgnored. Set
	// MutationsSampled in production, MutationsAll in tests.
	MutationDetector MutationDetector

	// OnMutation is told of each such change. It must not wait. Default: they show
	// in Status and in the log.
	OnMutation func(Mutation)

	// Logger takes changes of state, failures and rejected objects; never one
	// line per event. Default: slog.Default().
	Logger *slog.Logger
}

// Residency says for how long objects stay decoded.
type Residency = engine.Residency

// Ways to keep objects decoded.
const (
	Automatic     = engine.Automatic
	AlwaysDecoded = engine.AlwaysDecoded
	NeverDecoded  = engine.NeverDecoded
)

// Compression says whether a server is asked to compress its lists.
type Compression = kube.Compression

// When to compress lists.
const (
	CompressFar    = kube.CompressFar
	CompressAlways = kube.CompressAlways
	CompressNever  = kube.CompressNever
)

// Backoff says how long to wait after failures.
type Backoff = engine.Backoff

// check returns what is wrong with the options, if anything.
func (o *Options) check() error {
	if _, err := labels.Parse(o.LabelSelector); err != nil {
		return fmt.Errorf("Options.LabelSelector %q: %w", o.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(o.FieldSelector); err != nil {
		return fmt.Errorf("Options.FieldSelector %q: %w", o.FieldSelector, err)
	}
	if slices.Contains(o.Namespaces, "") {
		return fmt.Errorf("Options.Namespaces has an empty name: leave the list empty for all namespaces")
	}
	if o.PageSize < 0 {
		return fmt.Errorf("Options.PageSize is %d: it cannot be negative", o.PageSize)
	}
	if o.Policy > Optional {
		return fmt.Errorf("Options.Policy is %d: it is one of KeepTrying, FailFast and Optional", o.Policy)
	}
	return nil
}

func (o *Options) log() engine.Log {
	l := o.Logger
	if l == nil {
		l = slog.Default()
	}
	return func(message string, args ...any) { l.Warn("kinform: "+message, args...) }
}

func (o *Options) reflector() engine.ReflectorOptions {
	return engine.ReflectorOptions{
		PageSize:            o.PageSize,
		ConsistentFirstList: o.ConsistentFirstList,
		WatchList:           o.WatchList,
		Silence:             o.Silence,
		DropManagedFields:   o.DropManagedFields,
		Policy:              o.Policy,
		Backoff:             o.Backoff,
		OnFailure:           o.OnFailure,
	}
}

func (o *Options) limits() wire.Limits { return wire.Limits{Frame: o.MaxObjectSize} }
