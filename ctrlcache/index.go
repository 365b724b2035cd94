package ctrlcache

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/internal/engine"
)

// IndexField adds an index, over present and future objects. It does not wait for the
// kind to sync.
func (c *informerCache) IndexField(ctx context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	i, err := c.GetInformer(ctx, obj, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	return i.AddIndexers(toolscache.Indexers{indexOf(field): func(obj any) ([]string, error) {
		o, ok := obj.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%T is no object of the API", obj)
		}
		return inNamespace(o.GetNamespace(), values(o)), nil
	}})
}

// indexOf is the name of a field's index.
func indexOf(field string) string { return "field:" + field }

// inNamespace returns under which values an object is found: each in its own
// namespace, and in all.
func inNamespace(namespace string, values []string) []string {
	all := make([]string, 0, 2*len(values))
	for _, v := range values {
		all = append(all, indexed("", v))
		if namespace != "" {
			all = append(all, indexed(namespace, v))
		}
	}
	return all
}

// indexed is how a value is found in a namespace, or in all if that is "". The name of
// a namespace has no slash.
func indexed(namespace, value string) string { return namespace + "/" + value }

// byFields yields the records that have all values of a field selector. Each field
// needs an index.
func (m *member) byFields(selector fields.Selector, namespace string) (iter.Seq[*engine.Record], error) {
	wanted := selector.Requirements()
	exact := func(r fields.Requirement) bool {
		return r.Operator == selection.Equals || r.Operator == selection.DoubleEquals
	}
	if len(wanted) == 0 || slices.ContainsFunc(wanted, func(r fields.Requirement) bool { return !exact(r) }) {
		return nil, errors.New("non-exact field matches are not supported by the cache")
	}
	indexes := m.informer.GetIndexer().GetIndexers()
	for _, w := range wanted {
		if indexes[indexOf(w.Field)] == nil {
			return nil, fmt.Errorf("Index with name %s does not exist", indexOf(w.Field)) // as client-go says it
		}
	}
	found := m.records.RecordsBy(indexOf(wanted[0].Field), indexed(namespace, wanted[0].Value))
	for _, w := range wanted[1:] {
		found = m.also(found, indexOf(w.Field), indexed(namespace, w.Value))
	}
	return found, nil
}

// also yields those of some records that have a value of an index, too.
func (m *member) also(some iter.Seq[*engine.Record], index, value string) iter.Seq[*engine.Record] {
	return func(yield func(*engine.Record) bool) {
		for r := range some {
			if m.records.Has(r, index, value) && !yield(r) {
				return
			}
		}
	}
}
