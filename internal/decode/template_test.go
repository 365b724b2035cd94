package decode

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/wire"
)

// alike is an informer of pods that are alike, and what it said of changed parts.
type alike struct {
	*engine.Informer
	view    *engine.View
	pods    map[string]*corev1.Pod // as the server has them
	changed []string
	decoded int
}

func pods(t *testing.T, n int, o engine.Options) *alike {
	t.Helper()
	a := &alike{pods: map[string]*corev1.Pod{}}
	server := listOf{format: wire.Protobuf}
	for pod := range objects.New(objects.Options{Seed: 1, Workloads: 3}).Pods(n) {
		raw, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		a.pods[pod.Namespace+"/"+pod.Name] = pod
		server.items = append(server.items, raw)
	}
	a.Informer = engine.NewInformer(o, engine.ReflectorOptions{}, map[string]engine.Source{"": &server})
	a.view = a.newView()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	if err := a.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *alike) newView() *engine.View {
	return &engine.View{
		Name: "pods", Type: reflect.TypeFor[*corev1.Pod](),
		Decode: func(r *engine.Record, near engine.Neighbour) (any, error) {
			return Typed(r, near, reflect.TypeFor[corev1.Pod]())
		},
		Changed: func(key string, fields []string) { a.changed = append(a.changed, key+": "+strings.Join(fields, " ")) },
	}
}

func (a *alike) list() []*corev1.Pod {
	var all []*corev1.Pod
	for _, obj := range a.Objects(a.view) {
		all = append(all, obj.(*corev1.Pod))
	}
	return all
}

// check compares what readers get with what the server has.
func (a *alike) check(t *testing.T) {
	t.Helper()
	all := a.list()
	if len(all) != len(a.pods) {
		t.Fatalf("%d pods, want %d", len(all), len(a.pods))
	}
	for _, pod := range all {
		raw, _ := pod.Marshal()
		if want, _ := a.pods[pod.Namespace+"/"+pod.Name].Marshal(); !slices.Equal(raw, want) {
			t.Fatalf("%s is not what the server has", pod.Name)
		}
	}
}

// families are pods by their owner, of which each has at least three.
func families(all []*corev1.Pod) (of [][]*corev1.Pod) {
	by := map[string][]*corev1.Pod{}
	for _, pod := range all {
		if len(pod.OwnerReferences) > 0 {
			owner := string(pod.OwnerReferences[0].UID)
			by[owner] = append(by[owner], pod)
		}
	}
	for _, f := range by {
		if len(f) > 3 {
			of = append(of, f)
		}
	}
	return of
}

// commonEnv returns two pods of one family that have the environment of a container in
// common.
func commonEnv(all []*corev1.Pod) (a, b *corev1.Pod, container int) {
	for _, family := range families(all) {
		at := map[*corev1.EnvVar]*corev1.Pod{}
		for _, pod := range family {
			for i, c := range pod.Spec.Containers {
				if len(c.Env) == 0 {
					continue
				}
				if other := at[&c.Env[0]]; other != nil {
					return other, pod, i
				}
				at[&c.Env[0]] = pod
			}
		}
	}
	return nil, nil, 0
}

// TestAlikeObjectsShare: pods of one workload have what is equal in common, but not
// their labels and annotations, and are what the server has.
func TestAlikeObjectsShare(t *testing.T) {
	a := pods(t, 300, engine.Options{})
	a.check(t)
	all := a.list()
	if one, _, _ := commonEnv(all); one == nil {
		t.Fatal("no two pods have anything in common")
	}
	maps := map[uintptr]string{}
	for _, pod := range all {
		for _, m := range []map[string]string{pod.Labels, pod.Annotations} {
			if at := reflect.ValueOf(m).Pointer(); len(m) > 0 && maps[at] != "" {
				t.Fatalf("%s and %s have labels or annotations in common", pod.Name, maps[at])
			} else {
				maps[at] = pod.Name
			}
		}
	}
	if m := a.Memory(); m.Shared == 0 || m.Kept > 300*15<<10 {
		t.Errorf("%+v: what is kept does not weigh less", m)
	}
}

// TestApart: a view that asks for it gets objects that have nothing in common.
func TestApart(t *testing.T) {
	a := pods(t, 300, engine.Options{})
	a.view.Apart = true
	a.check(t)
	if one, other, _ := commonEnv(a.list()); one != nil {
		t.Fatalf("%s and %s have parts in common", one.Name, other.Name)
	}
}

// TestChangedPart: a reader that changes a part which several objects have in common is
// found, and all of them are decoded again.
func TestChangedPart(t *testing.T) {
	for _, mode := range []engine.Residency{engine.Automatic, engine.AlwaysDecoded} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := pods(t, 300, engine.Options{Residency: mode})
				one, other, i := commonEnv(a.list())
				if one == nil {
					t.Fatal("no two pods have anything in common")
				}
				one.Spec.Containers[i].Env[0].Name = "CHANGED"
				a.Memory() // takes a lock, so that the change is ordered before what looks for it
				if other.Spec.Containers[i].Env[0].Name != "CHANGED" {
					t.Fatal("they have it in common, and have it not")
				}
				for range 10 { // it is kept decoded meanwhile, as somebody reads it
					time.Sleep(20 * time.Second)
					a.list()
				}
				if len(a.changed) != 1 || !strings.HasSuffix(a.changed[0], fmt.Sprintf("spec.containers[%d].env[0].name", i)) {
					t.Errorf("said %q, want one change of the environment", a.changed)
				}
				a.check(t)
			})
		})
	}
}

// TestShallowChangeStays: what a reader changes in an object itself changes no other,
// even one that is decoded later.
func TestShallowChangeStays(t *testing.T) {
	a := pods(t, 300, engine.Options{})
	for r := range a.All() {
		obj, err := a.Decode(r, a.view, engine.Read)
		if err != nil {
			t.Fatal(err)
		}
		pod := obj.(*corev1.Pod)
		raw, _ := pod.Marshal()
		if want, _ := a.pods[r.Key()].Marshal(); !slices.Equal(raw, want) {
			t.Fatalf("%s is not what the server has", r.Key())
		}
		pod.Spec.NodeName, pod.Spec.ServiceAccountName, pod.Status.Phase = "changed", "changed", "changed"
		pod.Spec.Containers[0].Image = "changed"
		for k := range pod.Labels {
			pod.Labels[k] = "changed"
		}
	}
}

// TestTemplatesGo: when nothing is decoded any more, no part is held.
func TestTemplatesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := pods(t, 300, engine.Options{})
		a.list()
		if a.Memory().Shared == 0 {
			t.Fatal("nothing was shared")
		}
		time.Sleep(5 * time.Minute)
		for range 10 {
			runtime.GC()
			synctest.Wait()
		}
		if m := a.Memory(); m.Shared != 0 || m.Kept != 0 {
			t.Errorf("%+v: still held after nobody has read for minutes", m)
		}
	})
}
