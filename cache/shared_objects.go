package cache

import (
	"fmt"
	"reflect"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinform/kinform/internal/encode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// Informers on any ListerWatcher but those of kinform's factories get objects.

// ObjectOptions are those of an informer that gets objects: one on a ListerWatcher of
// the program's own, of a generated clientset, or of controller-runtime. The zero value
// is what informers have.
type ObjectOptions struct {
	// Unpacked has objects held as they came, as client-go does. Default: an object that
	// a server has given a version is held as bytes, packed, if they give back an equal
	// object, which is tried for each; any other is held as it came. A handler gets the
	// very object that came. Who reads the store gets it, too, or one that is equal:
	// objects stay decoded while they are read.
	//
	// Set it where a program relies on two reads giving the same pointer, or reads all
	// objects all the time, so that they stay decoded anyway, and cannot spare the
	// processor time: encoding and comparing an object takes about as long as
	// decoding it did.
	Unpacked bool
}

// SetObjectOptions sets the options of an informer that gets objects, before it runs.
// One that gets bytes has no use for them. For controller-runtime:
//
//	cache.Options{NewInformer: func(lw toolscache.ListerWatcher, example runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
//		i := kinformcache.NewSharedIndexInformer(lw, example, resync, indexers)
//		_ = kinformcache.SetObjectOptions(i, kinformcache.ObjectOptions{Unpacked: true}) // it does not run yet
//		return i
//	}}
//
// It returns an error if the informer has started, or is not one of this package.
func SetObjectOptions(informer SharedInformer, o ObjectOptions) error {
	return setUp(informer, func(s *sharedIndexInformer) { s.packing.off.Store(o.Unpacked) })
}

// setUp changes an informer of this package that has not started.
func setUp(informer SharedInformer, change func(*sharedIndexInformer)) error {
	s, err := ours(informer)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errStarted
	}
	change(s)
	return nil
}

// packing is the encoder of an informer that gets objects.
type packing struct {
	encode.Codec
	off atomic.Bool
}

func (p *packing) Encode(dst []byte, obj any) ([]byte, wire.Format, bool) {
	if p.off.Load() {
		return dst, 0, false
	}
	return p.Codec.Encode(dst, obj)
}

// accept returns an error for an object that is not of the informer's type.
func (s *sharedIndexInformer) accept(obj any) error {
	err := s.rightKind(obj)
	if want := reflect.TypeOf(s.objectType); want != nil && reflect.TypeOf(obj) != want {
		err = fmt.Errorf("expected an object of type %v, but watched object of type %T", want, obj)
	}
	if err != nil {
		utilruntime.HandleError(err)
	}
	return err
}

// transformed is what the informer's transform makes of an object of a source of objects.
func (s *sharedIndexInformer) transformed(obj any) (any, error) {
	if f := s.transformer(); f != nil {
		return f(obj)
	}
	return obj, nil
}

// rightKind checks, for an informer of unstructured objects of one kind, that an
// object is of that kind.
func (s *sharedIndexInformer) rightKind(obj any) error {
	example, ok := s.objectType.(*unstructured.Unstructured)
	u, isOne := obj.(*unstructured.Unstructured)
	if !ok || !isOne || u == nil || example.GroupVersionKind().Empty() {
		return nil
	}
	if got, want := u.GroupVersionKind(), example.GroupVersionKind(); got != want {
		return fmt.Errorf("expected an object of kind %v, but watched object of kind %v", want, got)
	}
	return nil
}

// fromObject reads what came as an object, whatever it is held as. The transform has
// made it what it is.
func (s *sharedIndexInformer) fromObject(r *engine.Record, _ engine.Neighbour) (any, error) {
	if obj := r.Object(); obj != nil {
		return obj, nil
	}
	return s.packing.Decode(r)
}

// delivered returns the object of a delta's new state: the very one that came, if it
// came as an object.
func (s *sharedIndexInformer) delivered(d engine.Delta) (any, error) {
	if obj := d.Arrived(); obj != nil {
		return obj, nil
	}
	return s.object(d.New)
}
