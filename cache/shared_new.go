package cache

import (
	"cmp"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	kcore "github.com/kinform/kinform/internal/core"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// NewSharedInformer returns an informer without indexes.
func NewSharedInformer(lw ListerWatcher, example runtime.Object, defaultResync time.Duration) SharedInformer {
	return NewSharedIndexInformer(lw, example, defaultResync, Indexers{})
}

// NewSharedIndexInformer returns an informer for what lw lists and watches. The
// example gives the type of the objects. Handlers are called again for every object
// each defaultResync, unless they ask for another period; 0 is never.
func NewSharedIndexInformer(lw ListerWatcher, example runtime.Object, defaultResync time.Duration, indexers Indexers) SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, example, SharedIndexInformerOptions{ResyncPeriod: defaultResync, Indexers: indexers})
}

// NewSharedIndexInformerWithOptions is NewSharedIndexInformer with more options.
func NewSharedIndexInformerWithOptions(lw ListerWatcher, example runtime.Object, o SharedIndexInformerOptions) SharedIndexInformer {
	s := &sharedIndexInformer{
		lw:            lw,
		objectType:    example,
		description:   o.ObjectDescription,
		defaultResync: o.ResyncPeriod,
		resyncCheck:   o.ResyncPeriod,
		detector:      NewCacheMutationDetector(fmt.Sprintf("%T", example)),
		handlers:      map[*registration]bool{},
		synced:        make(chan struct{}),
		meters:        newMeters(o),
		shell:         newReflectorShell(callSite(), cmp.Or(o.ObjectDescription, describeType(example))),
	}
	if s.description == "" {
		s.description = fmt.Sprintf("%T", example)
	}
	b, ok := lw.(*dropin.ListWatch)
	s.secrecy = secrecyOf(lw, example)
	s.view = &engine.View{Name: s.description, Decode: s.secrecy.Decoder(s.fromObject), Changed: s.partChanged, Apart: mutationDetection}
	s.indexer = &sharedIndexer{view: s.view, secrecy: s.secrecy, version: s.LastSyncResourceVersion, indexers: Indexers{}}
	switch {
	case !ok:
		s.core = newCore(kube.NewObjectSource(s.description, lw),
			engine.ReflectorOptions{Accept: s.accept, Transform: s.secrecy.Transform(s.transformed), Encoder: &s.packing, View: s.view})
	case b.Share == dropin.Share{}:
		s.core = newCore(b.Open(b.Needs), reflectorOptions(b, b.Needs.String))
	default:
		s.core, s.grown = sharedCore(s.description, b)
	}
	if ok {
		s.view.Decode = s.secrecy.Decoder(s.fromBytes(b.Decode))
		if t := reflect.TypeOf(example); t != nil && t != unstructuredType && t != metadataType {
			s.view.Type = t
		}
	}
	if s.core.lazy == nil {
		s.indexer.moveTo(s.core.Collection, "")
	} else {
		// Until it runs, the informer sees nothing of what others have stored, and
		// others see nothing of what is put into its store.
		own, _ := engine.NewCollection(engine.Options{}, "")
		s.indexer.moveTo(own, "")
	}
	if err := s.indexer.AddIndexers(o.Indexers); err != nil {
		panic(err) // the names of one map do not conflict
	}
	return s
}

// secrecyOf says whether the objects are Secrets, or may be: by what is asked for, or by
// their type.
func secrecyOf(lw ListerWatcher, example runtime.Object) kcore.Secrecy {
	if b, ok := lw.(*dropin.ListWatch); ok {
		return kcore.SecrecyOf(b.Query.Resource.GroupResource())
	}
	return kcore.SecrecyOfObject(example)
}

// logWarning logs what the engine says. Failures reach the program by its watch error
// handler, so that they are for those who want details; of objects that are left out,
// nobody would hear.
func logWarning(message string, args ...any) {
	if message == engine.RejectedMessage {
		klog.ErrorS(nil, "kinform: "+message, args...)
		return
	}
	klog.V(2).InfoS("kinform: "+message, args...)
}

// object returns a record's object, for a handler.
func (s *sharedIndexInformer) object(r *engine.Record) (any, error) {
	return s.indexer.object(r, engine.Delivered)
}

// fromBytes reads what came as bytes, or was put into the store as an object.
func (s *sharedIndexInformer) fromBytes(decode dropin.Decoder) func(*engine.Record, engine.Neighbour) (any, error) {
	return func(r *engine.Record, near engine.Neighbour) (any, error) {
		if obj := r.Object(); obj != nil {
			return obj, nil
		}
		kinds := s.indexer.store.Load().Kinds()
		if f := s.transformer(); f != nil {
			return transformed(f, near, func() (any, error) { return decode(r, engine.Neighbour{}, kinds) })
		}
		return decode(r, near, kinds)
	}
}
