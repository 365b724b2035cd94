package ctrlcache

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// form is how objects are read: as a Go type, as metadata alone, or as unstructured
// data. The type of what is read into decides it.
type form struct {
	gvk schema.GroupVersionKind
	// of is the type of the objects, a struct.
	of reflect.Type
}

var (
	metadataType     = reflect.TypeFor[metav1.PartialObjectMetadata]()
	unstructuredType = reflect.TypeFor[unstructured.Unstructured]()
)

// formOf returns the form of an object.
func (c *informerCache) formOf(obj runtime.Object) (form, error) {
	gvk, err := apiutil.GVKForObject(obj, c.options.Scheme)
	if err != nil {
		return form{}, err
	}
	if _, ok := obj.(runtime.Unstructured); ok {
		return form{gvk, unstructuredType}, nil
	}
	t := reflect.TypeOf(obj)
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return form{}, fmt.Errorf("objects of %s cannot be cached: it is no pointer to a struct", t)
	}
	return form{gvk, t.Elem()}, nil
}

// formOfList returns the form of a list's items.
func (c *informerCache) formOfList(list client.ObjectList) (form, error) {
	gvk, err := apiutil.GVKForObject(list, c.options.Scheme)
	if err != nil {
		return form{}, err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	switch list.(type) {
	case runtime.Unstructured:
		return form{gvk, unstructuredType}, nil
	case *metav1.PartialObjectMetadataList:
		return form{gvk, metadataType}, nil
	}
	return c.formOfKind(gvk)
}

// formOfKind returns the form of the Go type that the scheme has for a kind.
func (c *informerCache) formOfKind(gvk schema.GroupVersionKind) (form, error) {
	obj, err := c.options.Scheme.New(gvk)
	if err != nil {
		return form{}, err
	}
	return form{gvk, reflect.TypeOf(obj).Elem()}, nil
}

// needs is what objects of the form can be made of.
func (f form) needs() dropin.Needs {
	switch {
	case f.of == metadataType:
		return dropin.Metadata
	case f.of != unstructuredType && decode.SpeaksProtobuf(f.of):
		return dropin.Anything
	}
	return dropin.JSON
}

// example is an empty object.
func (f form) example() runtime.Object {
	obj := reflect.New(f.of).Interface().(runtime.Object)
	if f.of == unstructuredType || f.of == metadataType {
		obj.GetObjectKind().SetGroupVersionKind(f.gvk)
	}
	return obj
}

// decode makes a shared object of a record. Of a Go type, it does not say what kind it
// is, wherever its bytes came from: handlers know those of controller-runtime's cache
// that way. It is a dropin.Decoder.
func (f form) decode(r *engine.Record, near engine.Neighbour, _ engine.Kinds) (any, error) {
	if f.of == unstructuredType || f.of == metadataType {
		obj := reflect.New(f.of).Interface()
		return obj, f.into(r, obj)
	}
	obj, err := decode.Typed(r, near, f.of)
	if err == nil {
		obj.(runtime.Object).GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj, err
}

// into makes an object of a record in the caller's memory, whatever was there before.
// It says what kind it is.
func (f form) into(r *engine.Record, to any) error {
	switch to := to.(type) {
	case *unstructured.Unstructured:
		fields, err := decode.Fields(r)
		if err != nil {
			return err
		}
		to.Object = fields
		to.SetGroupVersionKind(f.gvk)
		return nil
	case *metav1.PartialObjectMetadata:
		from, err := decode.Metadata(r)
		if err != nil {
			return err
		}
		*to = *from
		to.SetGroupVersionKind(f.gvk)
		return nil
	}
	v := reflect.ValueOf(to)
	if v.Type() != reflect.PointerTo(f.of) {
		return &typeError{reflect.PointerTo(f.of), v.Type()}
	}
	v.Elem().SetZero()
	if err := decode.Into(r, to); err != nil {
		return err
	}
	to.(runtime.Object).GetObjectKind().SetGroupVersionKind(f.gvk)
	return nil
}

// copyInto gives the caller a copy of a shared object, which says what kind it is.
func (f form) copyInto(obj, to any) error {
	own := obj.(runtime.Object).DeepCopyObject()
	own.GetObjectKind().SetGroupVersionKind(f.gvk)
	return f.assign(own, to)
}

// assign puts what an object has into the caller's.
func (f form) assign(obj, to any) error {
	from, v := reflect.ValueOf(obj), reflect.ValueOf(to)
	if from.Type() != v.Type() {
		return &typeError{from.Type(), v.Type()}
	}
	v.Elem().Set(from.Elem())
	return nil
}

// typeError says that objects are of another type than what they are read into, as a
// transform may make them.
type typeError struct{ had, asked reflect.Type }

func (e *typeError) Error() string {
	return fmt.Sprintf("cache had type %s, but %s was asked for", e.had, e.asked)
}

func isTypeError(err error) bool {
	other := (*typeError)(nil)
	return errors.As(err, &other)
}
