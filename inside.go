package kinform

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/inside"
)

// Inside lets package debug show the informer. It is of no use to others.
func (inf *Informer[T]) Inside() inside.Informer { return inf.core.inside() }

// Inside lets package debug show the informers of the factory. It is of no use to others.
func (f *Factory) Inside() []inside.Informer {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []inside.Informer
	for _, s := range f.cores {
		all = append(all, s.inside())
	}
	return all
}

func (c *core) inside() inside.Informer {
	return inside.Informer{
		Engine:      func() *engine.Informer { return c.Informer },
		Describe:    c.describe,
		Fields:      c.views.shown,
		IndexValues: c.IndexValues,
		ByIndex:     c.ByIndex,
		Secret:      bool(c.views.secret),
	}
}

// shown returns the fields of an object, to be shown. Where its bytes cannot be read
// without a type that nobody has brought, it is the metadata.
func (v *views) shown(r *engine.Record) (fields map[string]any, err error) {
	read := func(r *engine.Record, _ engine.Neighbour) (any, error) {
		fields, err := v.fields(r)
		if errors.Is(err, errNoNative) {
			obj, err := decode.Metadata(r)
			if err != nil {
				return nil, err
			}
			return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		}
		return fields, err
	}
	obj, err := v.secret.Decoder(read)(r, engine.Neighbour{})
	if err != nil {
		return nil, err
	}
	fields = obj.(map[string]any)
	if gvk := v.kind(); gvk.Kind != "" {
		fields["apiVersion"], fields["kind"] = gvk.ToAPIVersionAndKind()
	}
	return fields, nil
}
