package chaos

import (
	"context"
	"iter"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/check"
)

// reader reads a store while it changes, and holds on to what it got: no object may
// change in a reader's hands.
type reader struct {
	name   string
	verify func(metav1.Object) error
	get    func(key string) (metav1.Object, bool)
	all    func(yield func(metav1.Object) bool)
	// news are keys that were just written, for readers that chase them.
	news chan string
}

const (
	// readRate is how many objects a reader asks for in a second, at pace 1.
	readRate = 50
	// held is how many objects a reader holds on to.
	held = 32
)

// read reads until the round ends.
func (r *run) read(ctx context.Context, d reader, rng *rand.Rand) {
	pause := time.NewTicker(every(readRate * r.Pace))
	defer pause.Stop()
	var hands [held]metav1.Object
	var n uint64
	look := func(obj metav1.Object) {
		at := n % held
		if before := hands[at]; before != nil {
			r.inspect(d, before, "an object that was read before")
		}
		hands[at] = obj
		n++
		r.inspect(d, obj, "an object that was just read")
	}
	for r.wild.Load() && ctx.Err() == nil {
		if r.chase(ctx, d, look) {
			// It was there in the moment of the change.
		} else if rng.IntN(200) == 0 {
			for obj := range d.all {
				look(obj)
			}
		} else if obj, ok := d.get(someKey(rng)); ok {
			look(obj)
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	r.reads.Add(n)
}

// chase asks for an object that was just written until the change is there, so that
// readers of all views are the first to want its new state, at the same time.
func (r *run) chase(ctx context.Context, d reader, look func(metav1.Object)) bool {
	const attempts, apart = 100, 200 * time.Microsecond
	var key string
	select {
	case key = <-d.news:
	default:
		return false
	}
	before := ""
	for i := 0; i < attempts && ctx.Err() == nil; i++ {
		obj, ok := d.get(key)
		switch {
		case !ok: // of another kind, or deleted
			return false
		case i == 0:
			before = obj.GetResourceVersion()
		case obj.GetResourceVersion() != before:
			look(obj)
			return true
		}
		r.sleep(ctx, apart)
	}
	return true
}

// tell has readers chase an object. Those that are busy do not.
func (r *run) tell(key string) {
	r.newsMu.Lock()
	defer r.newsMu.Unlock()
	for _, to := range r.news {
		select {
		case to <- key:
		default:
		}
	}
}

// inspect verifies an object that a reader holds.
func (r *run) inspect(d reader, obj metav1.Object, what string) {
	err := d.verify(obj)
	if err == nil {
		return
	}
	v := check.Violation{Rule: check.Content, Informer: d.name, Subscriber: "reader", Key: obj.GetNamespace() + "/" + obj.GetName(),
		Want: what + " that is whole", Got: "@" + obj.GetResourceVersion() + ": " + err.Error()}
	r.found(v)
}

// found notes a violation that no checker sees.
func (r *run) found(v check.Violation) {
	r.wrongMu.Lock()
	r.wrong.violated++
	keep := len(r.wrong.violations) < 10
	if keep {
		r.wrong.violations = append(r.wrong.violations, v)
	}
	r.wrongMu.Unlock()
	if keep {
		r.violated(v)
	}
}

func (r *run) violated(v check.Violation) { r.Log("VIOLATION %s", v) }

// someKey is one that writers use, often of a large object.
func someKey(rng *rand.Rand) string {
	if rng.IntN(3) == 0 {
		return namespaces[0] + "/" + hotName(rng.IntN(hotEach))
	}
	gvr := gizmos
	switch rng.IntN(3) {
	case 0:
		gvr = pods
	case 1:
		gvr = configMaps
	}
	return namespaces[rng.IntN(len(namespaces))] + "/" + nameOf(gvr, rng.IntN(1+rng.IntN(namesEach)))
}

// objects are the values of a list.
func objects[T metav1.Object](list iter.Seq2[string, T]) func(yield func(metav1.Object) bool) {
	return func(yield func(metav1.Object) bool) {
		for _, obj := range list {
			if !yield(obj) {
				return
			}
		}
	}
}
