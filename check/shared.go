package check

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// NewShared returns a checker of a shared informer: kinform's drop-in or
// client-go's own. All its indexes are compared, those that are added later
// excepted.
//
// A shared informer promises less: it delivers another object under the same name as
// an update, and it does not report that a server's history went back, unless
// Options.Epochs does.
func NewShared(inf cache.SharedIndexInformer, o Options) *Checker {
	o.Name = cmp.Or(o.Name, "shared informer")
	c := newChecker(shared{inf}, o)
	indexer := inf.GetIndexer()
	for name, values := range indexer.GetIndexers() {
		c.indexes = append(c.indexes, index{
			name: name,
			values: func(obj metav1.Object) []string {
				v, err := values(obj)
				if err != nil {
					return nil
				}
				return v
			},
			keys: func(value string) []string {
				keys, err := indexer.IndexKeys(name, value)
				if err != nil {
					return []string{fmt.Sprintf("an error: %v", err)}
				}
				return keys
			},
		})
	}
	return c
}

// shared is an informer of client-go's kind.
type shared struct{ inf cache.SharedIndexInformer }

func (t shared) subscribe(handle func(context.Context, Event), o Subscriber) subscription {
	deliver := func(kind string, obj, old any, initial bool) {
		ev := sharedEvent{kind: kind, initial: initial}
		if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj, ev.final = unknown.Obj, true
		}
		ev.obj, _ = meta.Accessor(obj) // what is not an object is delivered as nil
		if old != nil {
			ev.old, _ = meta.Accessor(old)
		}
		if ev.obj == nil {
			return
		}
		if kind == updated && ev.old != nil && ev.old.GetResourceVersion() == ev.obj.GetResourceVersion() {
			ev.kind = resynced
		}
		handle(context.Background(), ev)
	}
	handler := cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { deliver(added, obj, nil, initial) },
		UpdateFunc: func(old, obj any) { deliver(updated, obj, old, false) },
		DeleteFunc: func(obj any) { deliver(deleted, obj, nil, false) },
	}
	registration, err := t.inf.AddEventHandlerWithResyncPeriod(handler, o.Resync)
	return registered{t.inf, registration, err}
}

func (t shared) get(key string) (metav1.Object, bool) {
	obj, ok, err := t.inf.GetIndexer().GetByKey(key)
	if err != nil || !ok {
		return nil, false
	}
	m, err := meta.Accessor(obj)
	return m, err == nil
}

func (t shared) all() iter.Seq2[string, metav1.Object] {
	return func(yield func(string, metav1.Object) bool) {
		for _, obj := range t.inf.GetIndexer().List() {
			if m, err := meta.Accessor(obj); err == nil && !yield(keyOf(m), m) {
				return
			}
		}
	}
}

func (shared) epochs() uint64 { return 0 }
func (shared) strict() bool   { return false }

// registered is a handler of a shared informer.
type registered struct {
	inf          cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
	err          error // it could not be added: the informer has stopped
}

func (r registered) HasSynced() bool { return r.err == nil && r.registration.HasSynced() }

func (r registered) Stop() {
	if r.err == nil {
		_ = r.inf.RemoveEventHandler(r.registration) // an informer that has stopped has no handlers
	}
}

// sharedEvent is an event of a shared informer.
type sharedEvent struct {
	kind           string
	obj, old       metav1.Object
	initial, final bool
}

func (e sharedEvent) Kind() string            { return e.kind }
func (e sharedEvent) Key() string             { return keyOf(e.obj) }
func (e sharedEvent) UID() string             { return string(e.obj.GetUID()) }
func (e sharedEvent) ResourceVersion() string { return e.obj.GetResourceVersion() }
func (e sharedEvent) Initial() bool           { return e.initial }
func (e sharedEvent) FinalStateUnknown() bool { return e.final }
func (e sharedEvent) Object() metav1.Object   { return e.obj }
func (e sharedEvent) Old() metav1.Object      { return e.old }
func (e sharedEvent) Bytes() []byte           { return nil }
