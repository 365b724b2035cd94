package decode

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// A changed part is found also where objects are only read one at a time.
func TestAlwaysDecodedIsChecked(t *testing.T) {
	for _, mode := range []engine.Residency{engine.Automatic, engine.AlwaysDecoded} {
		synctest.Test(t, func(t *testing.T) {
			a := pods(t, 300, engine.Options{Residency: mode})
			get := func() (all []*corev1.Pod) {
				for r := range a.All() {
					obj, err := a.Object(r.Key(), a.view)
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, obj.(*corev1.Pod))
				}
				return all
			}
			one, _, i := commonEnv(get())
			one.Spec.Containers[i].Env[0].Name = "CHANGED"
			a.Memory() // takes a lock, so that the change is ordered before what looks for it
			for range 60 {
				<-time.After(20 * time.Second)
				get()
			}
			wrong := 0
			for _, p := range get() {
				for _, c := range p.Spec.Containers {
					if len(c.Env) > 0 && c.Env[0].Name == "CHANGED" {
						wrong++
					}
				}
			}
			if len(a.changed) != 1 || wrong > 0 {
				t.Errorf("residency %d: after 20 minutes, %d reports, want 1; %d pods have what a reader put into one of them", mode, len(a.changed), wrong)
			}
		})
	}
}

// A transform is not called for objects that were deleted long ago.
func TestTransformSeesNothingDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 300, 3, engine.Options{})
		gone := c.pods[:150]
		for _, p := range gone {
			c.server.feed <- engine.Event{Type: wire.Deleted, Item: engine.Item{Format: wire.Protobuf, Bytes: c.raws[id(p)]}}
		}
		<-time.After(10 * time.Minute)
		left := map[string]bool{}
		for _, p := range c.pods[150:] {
			left[p.Namespace+"/"+p.Name] = true
		}
		var mu sync.Mutex
		seen := map[string]int{}
		v := c.view(false, func(p *corev1.Pod) *corev1.Pod {
			mu.Lock()
			defer mu.Unlock()
			if key := p.Namespace + "/" + p.Name; !left[key] {
				seen[key]++
			}
			return p
		})
		for range 10 {
			if n := len(c.Objects(v)); n != 150 {
				t.Fatal(n)
			}
			<-time.After(20 * time.Second)
		}
		if len(seen) > 0 {
			t.Errorf("the transform was called for pods that were deleted before it existed: %v", seen)
		}
	})
}

// Templates are compared with what a transform gives, which readers may have, too (with
// -race).
func TestCompareOnlyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 300, 3, engine.Options{})
		v := c.view(false, remembering())
		n := 0
		for range 10 {
			mine := c.Objects(v)
			for range 20 {
				<-time.After(time.Second)
				for _, obj := range mine {
					n += len(obj.(*corev1.Pod).Spec.NodeName)
					for _, c := range obj.(*corev1.Pod).Spec.Containers {
						n += len(c.Name)
					}
				}
			}
		}
	})
}
