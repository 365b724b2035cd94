package decode

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/engine"
)

// altered returns a view with a transform, as package cache makes it.
func (a *alike) altered(name string, f func(*corev1.Pod) *corev1.Pod) *engine.View {
	return &engine.View{
		Name: name, Type: reflect.TypeFor[*corev1.Pod](), Alters: true,
		Decode: func(r *engine.Record, near engine.Neighbour) (any, error) {
			given, err := Typed(r, engine.Neighbour{}, reflect.TypeFor[corev1.Pod]())
			if err != nil {
				return nil, err
			}
			obj := f(given.(*corev1.Pod))
			if obj == given {
				Unify(obj, near)
			}
			return obj, nil
		},
		Changed: func(key string, fields []string) { a.changed = append(a.changed, key+": "+strings.Join(fields, " ")) },
	}
}

// An informer that asked for objects of its own gets them, whoever else reads the store.
func TestApartBesideShared(t *testing.T) {
	a := pods(t, 300, engine.Options{})
	a.list()
	apart := a.newView()
	apart.Apart = true
	// Each object changes once, as seen by the apart view. The states before were
	// decoded by the view that shares.
	var states []*corev1.Pod
	for r := range a.All() {
		next := r // another record of the same state stands for the next one
		_ = next
		obj, err := a.Decode(r, apart, engine.Read)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, obj.(*corev1.Pod))
	}
	if one, other, _ := commonEnv(states); one != nil {
		t.Errorf("%s and %s have parts in common in a view that is apart", one.Name, other.Name)
	}
}

// A transform that looks something up elsewhere, which changes: no reader changed anything.
func TestTransformLooksUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := pods(t, 300, engine.Options{})
		var mu sync.Mutex
		zone := "a"
		a.view = a.altered("zones", func(p *corev1.Pod) *corev1.Pod {
			mu.Lock()
			defer mu.Unlock()
			if p.Annotations == nil {
				p.Annotations = map[string]string{}
			}
			p.Annotations["zone"] = zone // of its node, say
			return p
		})
		a.list()
		mu.Lock()
		zone = "b"
		mu.Unlock()
		for range 10 {
			<-time.After(20 * time.Second)
			a.list()
		}
		if len(a.changed) > 0 {
			t.Errorf("%d readers are accused, and nobody changed anything: %q", len(a.changed), a.changed[0])
		}
	})
}

// The same with the time in seconds, and with something else each time. What is always
// decoded stays the same objects.
func TestTransformVaries(t *testing.T) {
	calls := 0
	for name, note := range map[string]func() string{
		"seconds": func() string { return time.Now().Format(time.RFC3339) },
		"numbers": func() string { calls++; return fmt.Sprint(calls) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := pods(t, 300, engine.Options{Residency: engine.AlwaysDecoded})
				a.view = a.altered(name, func(p *corev1.Pod) *corev1.Pod {
					metav1.SetMetaDataAnnotation(&p.ObjectMeta, "note", note())
					return p
				})
				first := a.list()
				for range 15 {
					<-time.After(20 * time.Second)
					a.list()
				}
				if len(a.changed) > 0 {
					t.Errorf("%d readers are accused, and nobody changed anything: %q", len(a.changed), a.changed[0])
				}
				for i, p := range a.list() {
					if p != first[i] {
						t.Fatalf("%s was decoded again, though nothing changed", p.Name)
					}
				}
			})
		})
	}
}

// A transform that gives a copy: nothing can be shared, so nothing is held for it, once that
// was found out.
func TestTransformCopies(t *testing.T) {
	a := pods(t, 300, engine.Options{})
	a.view = a.altered("copies", func(p *corev1.Pod) *corev1.Pod { a.decoded++; return p.DeepCopy() })
	all := a.list()
	if one, _, _ := commonEnv(all); one != nil {
		t.Fatal("shared")
	}
	if m := a.Memory(); m.Shared > 0 || a.decoded > 310 {
		t.Errorf("%d bytes of templates are held that nothing has parts in common with (kept %d); %d calls of the transform for 300 pods", m.Shared, m.Kept, a.decoded)
	}
}

// Views that come and go leave nothing.
func TestViewsWithTransformsGo(t *testing.T) {
	a := pods(t, 300, engine.Options{})
	var views []weak.Pointer[engine.View]
	for range 20 {
		func() {
			v := a.altered("passing", func(p *corev1.Pod) *corev1.Pod { return p })
			a.view = v
			a.list()
			a.ForgetView(v)
			a.view = nil
			views = append(views, weak.Make(v))
		}()
	}
	for range 5 {
		runtime.GC()
	}
	held := 0
	for _, v := range views {
		if v.Value() != nil {
			held++
		}
	}
	if held > 1 {
		t.Errorf("%d of 20 views are held after they were forgotten; %+v", held, a.Memory())
	}
}

// The same for views that only read.
func TestPlainViewsGo(t *testing.T) {
	a := pods(t, 300, engine.Options{})
	var views []weak.Pointer[engine.View]
	for range 20 {
		func() {
			v := a.newView()
			a.view = v
			a.list()
			a.ForgetView(v)
			a.view = nil
			views = append(views, weak.Make(v))
		}()
	}
	for range 5 {
		runtime.GC()
	}
	held := 0
	for _, v := range views {
		if v.Value() != nil {
			held++
		}
	}
	if held > 1 {
		t.Errorf("%d of 20 views are held after they were forgotten; %+v", held, a.Memory())
	}
}
