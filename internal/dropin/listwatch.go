package dropin

import (
	"context"
	"iter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// ListWatch is a ListerWatcher that can also be asked for bytes.
type ListWatch struct {
	// ListerWatcher is for whoever asks for objects.
	clientgo.ListerWatcher
	// Open gives a source of the same objects as bytes, for readers of which the
	// neediest has the given needs.
	Open func(Needs) engine.Source
	// Decode makes an object of a record of such a source, as the client of
	// ListerWatcher would have; the kinds are what the server called them. Needs
	// says what it can make them of.
	Decode Decoder
	Needs  Needs
	// Client is whom Open asks, if it is known.
	Client rest.Interface
	// Query is what the server is asked for, but for what Needs decide.
	Query kube.Query
	// Share, if it is not zero, lets the informer have one watch with others. The
	// following are the same for all who share.
	Share Share
	// Grows: when a reader joins that needs more than what is watched, the watch is
	// replaced by one that has it. Default: the reader gets another watch.
	Grows bool
	// Scopes are what it lists in other namespaces; nil: nothing.
	Scopes *Scopes
	// DropManagedFields cuts metadata.managedFields out of what is stored.
	DropManagedFields bool
	// Place, if it has a folder, is where what is stored is kept for the next start, as
	// Snapshot says, but for what opens it.
	Place    kube.SnapshotPlace
	Snapshot engine.SnapshotOptions
}

// Records is what the store of an informer has for those who want to read records.
type Records interface {
	// Record returns the record of a key, or nil.
	Record(key string) *engine.Record
	// Records yields all records, RecordsIn those of a namespace, RecordsBy those that
	// have a value of an index, which must exist: each as of the moment of the call.
	Records() iter.Seq[*engine.Record]
	RecordsIn(namespace string) iter.Seq[*engine.Record]
	RecordsBy(index, value string) iter.Seq[*engine.Record]
	// Has reports whether a record has a value of an index, which must exist.
	Has(r *engine.Record, index, value string) bool
	// Object returns the object of a record, which is shared. Wanted returns it if it
	// is worth sharing, else nil.
	Object(*engine.Record) (any, error)
	Wanted(*engine.Record, engine.Use) (any, error)
	// Alters reports whether objects are other than their records, by a transform.
	Alters() bool
}

// Health is what informers have that can say how they are.
type Health interface{ Health() []engine.Status }

// Client is what client-go's clients have for one resource: typed, dynamic and
// metadata clients differ in the list that they give.
type Client[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// Objects lists and watches what a client gives, with options that tweak, if not
// nil, changes last. The client is asked for at each request: programs
// make informers with clients that cannot be used, and never run them.
func Objects[L runtime.Object](client func() Client[L], tweak func(*metav1.ListOptions)) *clientgo.ListWatch {
	tweaked := func(o metav1.ListOptions) metav1.ListOptions {
		if tweak != nil {
			tweak(&o)
		}
		return o
	}
	list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client().List(ctx, tweaked(o))
	}
	follow := func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return client().Watch(ctx, tweaked(o))
	}
	return &clientgo.ListWatch{
		ListFunc:             func(o metav1.ListOptions) (runtime.Object, error) { return list(context.Background(), o) },
		WatchFunc:            func(o metav1.ListOptions) (watch.Interface, error) { return follow(context.Background(), o) },
		ListWithContextFunc:  list,
		WatchFuncWithContext: follow,
	}
}
