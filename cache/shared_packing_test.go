package cache_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/cache"
)

// TestWhichObjectsArePacked: an object is held as bytes if a server has given it a
// version and it survives; handlers get the very object, readers later one that is equal.
func TestWhichObjectsArePacked(t *testing.T) {
	loose, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(sentPod("a", 5))
	kind := metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	for name, c := range map[string]struct {
		version string // of the list
		obj     runtime.Object
		packed  bool
	}{
		"client-go's type":            {"10", sentPod("a", 5), true},
		"with its kind":               {"10", sentPod("a", 5, func(p *corev1.Pod) { p.TypeMeta = kind }), true},
		"metadata":                    {"10", &metav1.PartialObjectMetadata{TypeMeta: kind, ObjectMeta: sentPod("a", 5).ObjectMeta}, true},
		"unstructured":                {"10", &unstructured.Unstructured{Object: loose}, true},
		"a type of the program":       {"10", newWidget(func(w *widget) { w.Parts = []string{"p"} }), true},
		"empty and not nil":           {"10", sentPod("a", 5, func(p *corev1.Pod) { p.Annotations = map[string]string{} }), false},
		"a field that is not written": {"10", newWidget(func(w *widget) { w.hidden = 1 }), false},
		"a method that panics":        {"10", newWidget(func(w *widget) { w.Panics = true }), false},
		"without a uid":               {"10", sentPod("a", 5, func(p *corev1.Pod) { p.UID = "" }), false},
		"without a version":           {"10", sentPod("a", 5, func(p *corev1.Pod) { p.ResourceVersion = "" }), false},
		"a version that is a word":    {"10", sentPod("a", 5, func(p *corev1.Pod) { p.ResourceVersion = "new" }), false},
		"newer than its list":         {"4", sentPod("a", 5), false},
		"a list without a version":    {"", sentPod("a", 5), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				key, _ := cache.MetaNamespaceKeyFunc(c.obj)
				var h calls
				s := start(t, newSource(c.version, c.obj), c.obj.DeepCopyObject(), h.join)
				if got := s.isPacked(key); got != c.packed {
					t.Errorf("packed: %t, want %t", got, c.packed)
				}
				if len(h.added) != 1 || h.added[0] != any(c.obj) {
					t.Errorf("the handler got %v, not the object that came", h.added)
				}
				got := s.get(key)
				if !reflect.DeepEqual(got, c.obj) {
					t.Errorf("a reader gets %v, which is not equal to %v", got, c.obj)
				}
				if same := got == any(c.obj); same == c.packed {
					t.Errorf("it is the same object: %t", same)
				}
				if s.get(key) != got {
					t.Error("two reads in a row do not give the same object")
				}
			})
		})
	}
}

// TestEventsArePacked: so are the objects of events, and their states are delivered as
// they came, while their last ones are held as such.
func TestEventsArePacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h calls
		src := newSource("10", sentPod("a", 5))
		s := start(t, src, &corev1.Pod{}, h.join)
		w := <-src.watches
		second, third, fake, last := sentPod("a", 11), sentPod("b", 12), sentPod("c", 13), sentPod("a", 14)
		fake.UID = ""
		w.Modify(second)
		w.Add(third)
		w.Add(fake)
		synctest.Wait()
		if s.get("ns/a") != any(second) || s.get("ns/b") != any(third) {
			t.Error("just after they came, readers get other objects")
		}
		if !s.isPacked("ns/a") || !s.isPacked("ns/b") || s.isPacked("ns/c") {
			t.Error("not all that a server gave a version is packed, or more is")
		}
		next := sentPod("b", 15)
		w.Delete(last)
		w.Modify(next)
		synctest.Wait()
		if !slices.Equal(h.added[1:], []any{third, fake}) || !slices.Equal(h.updated, []any{second, next}) || !slices.Equal(h.deleted, []any{last}) {
			t.Errorf("the handler got %v, %v, %v", h.added, h.updated, h.deleted)
		}
		if !reflect.DeepEqual(h.old[0], h.added[0]) || h.old[1] != any(third) {
			t.Error("the old object is not what was delivered a moment ago")
		}
		time.Sleep(evicts) // b settles
		if found, err := s.GetIndexer().ByIndex("name", "b"); err != nil || len(found) != 1 || !reflect.DeepEqual(found[0], next) {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

// TestSlowHandlersGetWhatCame: however long objects wait for a handler, and however many
// come meanwhile, it gets the very ones.
func TestSlowHandlersGetWhatCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 600 // more than stay decoded in passing
		var all []runtime.Object
		for i := range n {
			all = append(all, sentPod(fmt.Sprintf("p%03d", i), 1+i))
		}
		h := calls{}
		gate := make(chan struct{})
		h.during = func() { <-gate }
		src := newSource("1000", all...)
		s := start(t, src, &corev1.Pod{}, h.join)
		changed := sentPod("p000", 1001)
		(<-src.watches).Modify(changed)
		time.Sleep(evicts)
		close(gate)
		synctest.Wait()
		if len(h.added) != n || len(h.updated) != 1 || h.updated[0] != any(changed) {
			t.Fatalf("%d added, %d updated", len(h.added), len(h.updated))
		}
		for i, obj := range all {
			if h.added[i] != any(obj) {
				t.Fatalf("object %d is not the one that came", i)
			}
			if !s.isPacked(fmt.Sprintf("ns/p%03d", i)) {
				t.Fatalf("object %d is not packed", i)
			}
		}
	})
}

// TestPackedTransform: what the transform makes of an object is held, and it runs once.
func TestPackedTransform(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		var h calls
		src := newSource("10", sentPod("a", 5))
		s := start(t, src, &corev1.Pod{}, func(i cache.SharedIndexInformer) {
			h.join(i)
			if err := i.SetTransform(func(obj any) (any, error) { ran++; return transform(obj) }); err != nil {
				t.Fatal(err)
			}
		})
		(<-src.watches).Add(sentPod("b", 11))
		synctest.Wait()
		time.Sleep(evicts)
		for _, name := range []string{"a", "b"} {
			p := s.get("ns/" + name).(*corev1.Pod)
			if !s.isPacked("ns/"+name) || p.Annotations["transformed"] != "1" {
				t.Errorf("%s: packed %t, %v", name, s.isPacked("ns/"+name), p.Annotations)
			}
		}
		if ran != 2 {
			t.Errorf("the transform ran %d times for two objects", ran)
		}
		if got := h.added[0].(*corev1.Pod).Annotations["transformed"]; got != "1" {
			t.Errorf("the handler got an object that was transformed %q times", got)
		}
	})
}

// TestRelistOfPackedObjects: objects that are unchanged keep their records, and nothing
// is delivered; one whose content has changed under its version is taken.
func TestRelistOfPackedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h calls
		src := newSource("10", sentPod("a", 5), sentPod("b", 6))
		s := start(t, src, &corev1.Pod{}, h.join)
		a := s.records.Record("ns/a")
		other := sentPod("b", 6, func(p *corev1.Pod) { p.Spec.NodeName = "defaulted" })
		src.relist("20", sentPod("a", 5), other)
		if s.LastSyncResourceVersion() != "20" {
			t.Fatalf("not listed again: at %s", s.LastSyncResourceVersion())
		}
		if s.records.Record("ns/a") != a {
			t.Error("an unchanged object has a new record")
		}
		if !slices.Equal(h.updated, []any{other}) {
			t.Errorf("the handler got %v, want the one that changed", h.updated)
		}
		if !s.isPacked("ns/b") || s.get("ns/b").(*corev1.Pod).Spec.NodeName != "defaulted" {
			t.Error("what changed is not packed, or not what is read")
		}
	})
}

// TestRelistOfHiddenFields: objects with fields that are not exported are compared, too.
func TestRelistOfHiddenFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h calls
		hides := func(w *widget) { w.hidden = 1 }
		src := newSource("10", newWidget(hides))
		s := start(t, src, &widget{}, h.join)
		src.relist("20", newWidget(hides))
		if len(h.updated) != 0 || s.LastSyncResourceVersion() != "20" {
			t.Errorf("the handler got %v, at version %s", h.updated, s.LastSyncResourceVersion())
		}
		src.relist("30", newWidget(func(w *widget) { w.hidden = 2 }))
		if len(h.updated) != 1 || s.LastSyncResourceVersion() != "30" {
			t.Errorf("the handler got %v, at version %s", h.updated, s.LastSyncResourceVersion())
		}
	})
}
