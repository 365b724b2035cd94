package cache

import (
	"errors"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
)

// DecodeOptions say how an informer that gets bytes makes objects of them. The zero
// value is what informers have.
type DecodeOptions struct {
	// Unshared decodes each object on its own. Default: objects that the server sent with
	// much the same bytes, such as the pods of one workload, have those parts in common,
	// except for labels and annotations. That takes a third of the memory and half of the
	// time. A program that changes an object that it has not copied may then change
	// others, until that is found, which it is at intervals, logged as an error, and all
	// of them are decoded again. Set it for a program that is known to do so.
	Unshared bool
}

// SetDecodeOptions sets how an informer decodes, before it runs. It returns an error if
// the informer has started, or is not one of this package.
func SetDecodeOptions(informer SharedInformer, o DecodeOptions) error {
	return setUp(informer, func(s *sharedIndexInformer) { s.view.Apart = o.Unshared })
}

// The types that are read from bytes of which nothing is taken over.
var (
	unstructuredType = reflect.TypeFor[*unstructured.Unstructured]()
	metadataType     = reflect.TypeFor[*metav1.PartialObjectMetadata]()
)

// transformed decodes an object and transforms it. What it has in common with others it
// gets after that, as a transform may change whatever it is given. Of an object that the
// transform has put in its place, nobody knows who else has it.
func transformed(f TransformFunc, near engine.Neighbour, decoded func() (any, error)) (any, error) {
	given, err := decoded()
	if err != nil {
		return nil, err
	}
	obj, err := f(given)
	switch {
	case err != nil:
		return nil, err
	case obj == nil:
		return nil, errors.New("the transform gave nothing")
	case obj == given:
		decode.Unify(obj, near)
	}
	return obj, nil
}

// partChanged is called when a reader has changed a part that several objects have in
// common.
func (s *sharedIndexInformer) partChanged(key string, fields []string) {
	klog.ErrorS(nil, "kinform: an object was changed by a reader; copy it first (DeepCopy)",
		"informer", s.description, "key", key, "fields", fields)
}
