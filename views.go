package kinform

import (
	"errors"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kcore "github.com/kinform/kinform/internal/core"
	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

var (
	unstructuredType = reflect.TypeFor[unstructured.Unstructured]()
	metadataType     = reflect.TypeFor[metav1.PartialObjectMetadata]()
)

// decoder makes objects of records.
type decoder = func(*engine.Record, engine.Neighbour) (any, error)

// views are the ways in which one resource is read. Readers of one type share a
// view, and with it the decoded objects.
type views struct {
	kind   func() schema.GroupVersionKind
	secret kcore.Secrecy // what may be quoted of the objects
	apart  bool          // objects have no parts in common
	// changed returns what a view calls when a reader has changed such a part.
	changed func(view string) func(key string, fields []string)

	mu    sync.Mutex
	known map[reflect.Type]*engine.View
	// whole is a type that has every field of the objects: one of Kubernetes' own, or
	// one that an API's generators made. It is nil if no reader has brought one.
	whole reflect.Type
	// native is a type that the stored protobuf bytes can be read into. Unlike
	// JSON they are not self-describing, so unstructured readers go through it.
	native reflect.Type
	// projections are how structs of the program's own are read from protobuf.
	projections map[reflect.Type]*decode.Projection
	// checked are those whose names the objects have, read from JSON. unseen are what
	// others name that may not exist.
	checked map[reflect.Type]bool
	unseen  []*unseen
	log     func(message string, args ...any)
}

// of returns the view of a type.
func (v *views) of(t reflect.Type) *engine.View {
	v.mu.Lock()
	defer v.mu.Unlock()
	if view := v.known[t]; view != nil {
		return view
	}
	view := &engine.View{Name: "*" + t.String(), Apart: v.apart}
	view.Changed = v.changed(view.Name)
	switch {
	case t == metadataType:
		view.Decode = v.metadata
	case t == unstructuredType:
		view.Decode = v.unstructured
	case v.projections[t] != nil:
		p := v.projections[t]
		view.Decode = func(r *engine.Record, _ engine.Neighbour) (any, error) { return v.named(decode.Projected(r, p, t)) }
	default:
		view.Type = reflect.PointerTo(t)
		view.Decode = func(r *engine.Record, near engine.Neighbour) (any, error) { return v.typed(r, near, t) }
		if v.native == nil && decode.SpeaksProtobuf(t) {
			v.native = t
		}
		if v.whole == nil && isWhole(t) {
			v.whole = t
		}
		if !isWhole(t) && !v.checked[t] {
			view.Decode = v.lookFor(t, view.Decode)
		}
	}
	view.Decode = v.secret.Decoder(view.Decode)
	if v.known == nil {
		v.known = map[reflect.Type]*engine.View{}
	}
	v.known[t] = view
	return view
}

// project prepares the view of a struct of the program's own, of objects that are held as
// protobuf. It returns an error if the struct does not fit them.
func (v *views) project(t reflect.Type) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.projections[t] != nil {
		return nil
	}
	if v.native == nil {
		return errNoNative
	}
	p, err := decode.NewProjection(t, v.native)
	if err != nil {
		return err
	}
	if v.projections == nil {
		v.projections = map[reflect.Type]*decode.Projection{}
	}
	v.projections[t] = p
	return nil
}

// check returns an error if a struct, to be read from JSON, names what the objects do not
// have, as far as that is known.
func (v *views) check(t reflect.Type) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.whole == nil || t == unstructuredType || t == metadataType || isWhole(t) {
		return nil
	}
	if err := decode.CheckNames(t, v.whole); err != nil {
		return err
	}
	if v.checked == nil {
		v.checked = map[reflect.Type]bool{}
	}
	v.checked[t] = true
	return nil
}

// wholeType returns a type that has every field of the objects, nil if none is known.
func (v *views) wholeType() reflect.Type {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.whole
}

func (v *views) nativeType() reflect.Type {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.native
}

func (v *views) typed(r *engine.Record, near engine.Neighbour, t reflect.Type) (any, error) {
	return v.named(decode.Typed(r, near, t))
}

// named names what was made, if it says what kind it is.
func (v *views) named(obj any, err error) (any, error) {
	if o, ok := obj.(kinded); ok {
		v.name(o)
	}
	return obj, err
}

// kinded is what says what kind it is: runtime.Objects, and others with a TypeMeta.
type kinded interface {
	GetObjectKind() schema.ObjectKind
}

// name sets an object's kind, if it is known.
func (v *views) name(o kinded) {
	if gvk := v.kind(); gvk.Kind != "" {
		o.GetObjectKind().SetGroupVersionKind(gvk)
	}
}

func (v *views) metadata(r *engine.Record, _ engine.Neighbour) (any, error) {
	obj, err := decode.Metadata(r)
	if err != nil {
		return nil, err
	}
	v.name(obj)
	return obj, nil
}

var errNoNative = errors.New("the objects are held as protobuf, and no typed view of them exists")

func (v *views) unstructured(r *engine.Record, _ engine.Neighbour) (any, error) {
	fields, err := v.fields(r)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{Object: fields}
	v.name(obj)
	return obj, nil
}

func (v *views) fields(r *engine.Record) (map[string]any, error) {
	if r.Format() == wire.JSON {
		return decode.Fields(r)
	}
	t := v.nativeType()
	if t == nil {
		return nil, errNoNative
	}
	typed, err := v.typed(r, engine.Neighbour{}, t)
	if err != nil {
		return nil, err
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
}
