package cache

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// vanished finds what a new list no longer has: objects that wait, in the order of
// the queue, unless the last that waits is their deletion; then objects that are
// known and do not wait.
func vanished(log klog.Logger, waiting []Delta, known KeyListerGetter, list []any, key KeyFunc) ([]DeletedFinalStateUnknown, error) {
	listed := make(sets.Set[string], len(list))
	for _, obj := range list {
		k, err := key(obj)
		if err != nil {
			return nil, KeyError{Obj: obj, Err: err}
		}
		listed.Insert(k)
	}

	var order []string
	last := map[string]Delta{}
	for _, delta := range waiting {
		k, err := key(delta.Object)
		if err != nil {
			return nil, KeyError{Obj: delta.Object, Err: err}
		}
		if _, seen := last[k]; !seen {
			order = append(order, k)
		}
		last[k] = delta
	}

	var gone []DeletedFinalStateUnknown
	for _, k := range order {
		if delta := last[k]; !listed.Has(k) && delta.Type != Deleted {
			gone = append(gone, DeletedFinalStateUnknown{Key: k, Obj: delta.Object})
		}
	}
	for _, k := range known.ListKeys() {
		if _, waits := last[k]; !waits && !listed.Has(k) {
			gone = append(gone, DeletedFinalStateUnknown{Key: k, Obj: lookUp(log, known, k)})
		}
	}
	return gone, nil
}
