package check

import (
	"cmp"
	"context"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
)

// New returns a checker of an informer. It subscribes to nothing yet.
func New[T metav1.Object](inf *kinform.Informer[T], o Options) *Checker {
	o.Name = cmp.Or(o.Name, inf.Status().Resource)
	return newChecker(typed[T]{inf}, o)
}

// Index has Compare hold an index against what its function says of the server's
// objects.
func Index[T metav1.Object](c *Checker, name string, ix kinform.Index[T], values func(T) []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.indexes = append(c.indexes, index{
		name: name,
		values: func(obj metav1.Object) []string {
			if t, ok := obj.(T); ok {
				return values(t)
			}
			return nil
		},
		keys: func(value string) []string { return slices.Collect(ix.Keys(value)) },
		all:  ix.Values,
	})
}

// typed is an informer of package kinform.
type typed[T metav1.Object] struct{ inf *kinform.Informer[T] }

func (t typed[T]) subscribe(handle func(context.Context, Event), o Subscriber) subscription {
	return t.inf.Subscribe(func(ctx context.Context, ev kinform.Event[T]) {
		handle(ctx, typedEvent[T]{ev})
	}, kinform.SubscribeOptions{Name: o.Name, Latest: o.Latest, Limit: o.Limit, Resync: o.Resync, OnPanic: o.OnPanic})
}

func (t typed[T]) get(key string) (metav1.Object, bool) {
	obj, err := t.inf.Lister().Get(key)
	return obj, err == nil
}

func (t typed[T]) all() iter.Seq2[string, metav1.Object] {
	return func(yield func(string, metav1.Object) bool) {
		for key, obj := range t.inf.Lister().All() {
			if !yield(key, obj) {
				return
			}
		}
	}
}

func (t typed[T]) epochs() uint64 { return t.inf.Status().Epochs }

func (typed[T]) strict() bool { return true }

// typedEvent is an event of package kinform.
type typedEvent[T metav1.Object] struct{ kinform.Event[T] }

func (e typedEvent[T]) Kind() string { return string(e.Event.Type) }
func (e typedEvent[T]) Key() string  { return e.Event.Key }

func (e typedEvent[T]) Object() metav1.Object {
	obj, err := e.New()
	if err != nil {
		return nil
	}
	return obj
}

func (e typedEvent[T]) Old() metav1.Object {
	if e.Event.Type == kinform.EventAdded {
		return nil
	}
	before, err := e.Event.Old()
	if err != nil {
		return nil
	}
	return before
}
