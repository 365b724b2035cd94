package ctrlcache_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestThreeViewsOfOneWatch: a kind that is read in all forms is listed and watched once,
// and each form is what the server gives.
func TestThreeViewsOfOneWatch(t *testing.T) {
	e := newEnv(t)
	e.create(configMap("default", "a", "red"))
	c := e.cache(cache.Options{})
	for _, obj := range []client.Object{&corev1.ConfigMap{}, asMetadata(), asUnstructured()} {
		e.informer(c, obj)
	}
	e.start(c)
	e.watched("configmaps", 1)
	if lists, _, _ := e.requests.of("configmaps"); lists != 1 {
		t.Errorf("%d lists, want 1", lists)
	}
	e.compareForms(c, "a")
}

// compareForms compares an object, read through a cache and past it, in all forms. It
// does so several times: what is read again soon is kept decoded, and copied.
func (e *env) compareForms(c client.Reader, name string) {
	e.t.Helper()
	for range 3 {
		for _, forms := range [][2]client.Object{
			{&corev1.ConfigMap{}, &corev1.ConfigMap{}},
			{asMetadata(), asMetadata()},
			{asUnstructured(), asUnstructured()},
		} {
			e.get(e.direct, name, forms[0])
			e.get(c, name, forms[1])
			forms[0].GetObjectKind().SetGroupVersionKind(configMaps)
			if diff := cmp.Diff(forms[0], forms[1]); diff != "" {
				e.t.Errorf("%T differs (-direct +cached):\n%s", forms[0], diff)
			}
		}
	}
}

// TestWatchGrows: readers who need more join one after the other while objects change.
// There is one watch at a time; handlers and readers of what was there before notice
// nothing of it.
func TestWatchGrows(t *testing.T) {
	e := newEnv(t)
	const objects = 20
	e.create(configMap("default", "quiet", "green"))
	for i := range objects {
		e.create(configMap("default", fmt.Sprint("o", i), "red"))
	}
	c := e.cache(cache.Options{})
	e.start(c)

	var followers []<-chan heard
	changes := 0
	for _, obj := range []client.Object{asMetadata(), &corev1.ConfigMap{}, asUnstructured()} {
		stopWriting := e.write(objects)
		stopReading := e.readForward(c, objects)
		followers = append(followers, e.follow(e.informer(c, obj)))
		stopReading()
		changes += stopWriting()
		e.watched("configmaps", 1)
		followed := obj.DeepCopyObject().(client.Object)
		e.get(c, "quiet", followed)
	}
	last := configMap("default", "last", "blue")
	e.create(last)
	for _, calls := range followers {
		e.inOrder(calls, objects+2, changes)
	}
	e.compareForms(c, "quiet")
	e.compareForms(c, "o0")
	accepts := e.requests.accepted("configmaps")
	first, latest := accepts[0], accepts[len(accepts)-1]
	if !strings.Contains(first, "as=PartialObjectMetadata") || latest != "application/json" {
		t.Errorf("the first list asked for %q, the last for %q", first, latest)
	}
}

// write changes objects, one after the other, until it is stopped; that returns how
// often it did.
func (e *env) write(objects int) (stop func() int) {
	stopped, written := make(chan struct{}), make(chan int)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stopped:
				written <- n
				return
			default:
			}
			changed := configMap("default", fmt.Sprint("o", n%objects), fmt.Sprint("color", n))
			if err := e.direct.Update(e.ctx, changed); err != nil {
				e.t.Errorf("update: %v", err)
			}
		}
	}()
	return func() int { close(stopped); return <-written }
}

// readForward reads objects as metadata until it is stopped: each is always there, and
// never older than before.
func (e *env) readForward(c client.Reader, objects int) (stop func()) {
	stopped, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		seen := map[string]int{}
		for n := 0; ; n++ {
			select {
			case <-stopped:
				return
			default:
			}
			m := asMetadata()
			e.get(c, fmt.Sprint("o", n%objects), m)
			v := version(m)
			if v < seen[m.Name] {
				e.t.Errorf("%s went back from %d to %d", m.Name, seen[m.Name], v)
			}
			seen[m.Name] = v
		}
	}()
	return func() { close(stopped); <-ended }
}

func version(obj client.Object) int {
	v, _ := strconv.Atoi(obj.GetResourceVersion())
	return v
}

// inOrder checks what a handler heard up to the object "last": each object added once,
// then only newer states of it.
func (e *env) inOrder(calls <-chan heard, objects, changes int) {
	e.t.Helper()
	seen, updates := map[string]int{}, 0
	for {
		h := await(e, "a call of the handler", calls)
		before, known := seen[h.obj.GetName()]
		switch {
		case h.what == "add" && known:
			e.t.Errorf("%s was added twice", h.obj.GetName())
		case h.what == "update" && (!known || version(h.obj) <= before), h.what == "delete":
			e.t.Errorf("%s of %s at version %d, after %d", h.what, h.obj.GetName(), version(h.obj), before)
		case h.what == "update":
			updates++
		}
		seen[h.obj.GetName()] = version(h.obj)
		if h.obj.GetName() == "last" {
			break
		}
	}
	if len(seen) != objects {
		e.t.Errorf("heard of %d objects, want %d", len(seen), objects)
	}
	if updates > changes {
		e.t.Errorf("heard of %d updates, of %d that were made", updates, changes)
	}
}
