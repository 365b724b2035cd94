package cache

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/inside"
)

// Inside lets package debug show the informer.
func (s *sharedIndexInformer) Inside() inside.Informer {
	return inside.Informer{
		Engine:      s.engine,
		Describe:    s.describe,
		Fields:      s.shown,
		IndexValues: s.indexer.ListIndexFuncValues,
		ByIndex:     s.indexer.RecordsBy,
		Secret:      bool(s.secrecy),
	}
}

// errUnshown replaces the error of an object that cannot be shown: it may quote it.
var errUnshown = errors.New("the object cannot be read as the informer's type")

// shown returns the fields of an object as handlers see it, after a transform.
func (s *sharedIndexInformer) shown(r *engine.Record) (fields map[string]any, err error) {
	obj, err := s.indexer.object(r, engine.Pass)
	if err != nil {
		return nil, errUnshown
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy().Object, nil
	}
	if fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil {
		return nil, errUnshown
	}
	if k := s.engine().Kinds(); fields["kind"] == nil && k.Kind != "" {
		fields["apiVersion"], fields["kind"] = k.APIVersion, k.Kind
	}
	return fields, nil
}
