package cache_test

import (
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/internal/packed"
)

// TestUnpacked: one option has objects held as they came.
func TestUnpacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		obj := sentPod("a", 5)
		s := start(t, newSource("10", obj), &corev1.Pod{}, func(i cache.SharedIndexInformer) {
			wrapped := struct{ cache.SharedIndexInformer }{i}
			if err := cache.SetObjectOptions(wrapped, cache.ObjectOptions{Unpacked: true}); err != nil {
				t.Fatal(err)
			}
		})
		time.Sleep(evicts)
		if s.isPacked("ns/a") || s.get("ns/a") != any(obj) {
			t.Error("it is packed")
		}
		if err := cache.SetObjectOptions(s.SharedIndexInformer, cache.ObjectOptions{}); err == nil {
			t.Error("an informer that runs took options")
		}
		theirs := clientgo.NewSharedIndexInformer(newSource("1"), &corev1.Pod{}, 0, cache.Indexers{})
		if err := cache.SetObjectOptions(theirs, cache.ObjectOptions{}); err == nil {
			t.Error("an informer of client-go's took options")
		}
	})
}

// TestFakeClientset: what a fake gives is held as it came.
func TestFakeClientset(t *testing.T) {
	client := fake.NewClientset(pod("a", 5))
	synctest.Test(t, func(t *testing.T) {
		lw := dropin.Objects(func() dropin.Client[*corev1.PodList] { return client.CoreV1().Pods("") }, nil)
		s := start(t, lw, &corev1.Pod{}, nil)
		if _, err := client.CoreV1().Pods("ns").Create(t.Context(), pod("b", 6), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s.isPacked("ns/a") || s.isPacked("ns/b") {
			t.Error("a fake's objects are packed")
		}
	})
}

// TestProgramsObjectsAreNotPacked: what a program puts into the store is held as it is.
func TestProgramsObjectsAreNotPacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, newSource("10", sentPod("a", 5)), &corev1.Pod{}, nil)
		mine := sentPod("b", 7)
		if err := s.GetIndexer().Add(mine); err != nil {
			t.Fatal(err)
		}
		time.Sleep(evicts)
		if s.isPacked("ns/b") || s.get("ns/b") != any(mine) {
			t.Error("what the program put into the store is not what is there")
		}
	})
}

// TestPackedObjectsAreDescribed: the description of an informer says how it holds them.
func TestPackedObjectsAreDescribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, newSource("10", sentPod("a", 5)), &corev1.Pod{}, nil)
		d := cache.Describe(s.SharedIndexInformer)
		if d.Store.Held != "protobuf" || !strings.Contains(d.Source.Via, "objects of") || d.Store.Packed == 0 {
			t.Errorf("held as %s, via %s, %d bytes", d.Store.Held, d.Source.Via, d.Store.Packed)
		}
	})
}

// TestPackedMemory: packed objects take a fraction of what they take otherwise, of the
// heap and outside, although few objects bear what is shared by all (dictionaries, the
// words that decoders remember).
func TestPackedMemory(t *testing.T) {
	const n = 2000
	held := func(o cache.ObjectOptions) (bytes int64) {
		synctest.Test(t, func(t *testing.T) {
			empty := inUse()
			src := newSource("1000000000")
			for p := range objects.New(objects.Options{Seed: 5}).Pods(n) {
				src.objects = append(src.objects, served(t, p))
			}
			s := start(t, src, &corev1.Pod{}, func(i cache.SharedIndexInformer) {
				if err := cache.SetObjectOptions(i, o); err != nil {
					t.Fatal(err)
				}
			})
			src.objects = nil
			time.Sleep(evicts)
			for r := range s.records.Records() {
				if o.Unpacked != (r.Object() != nil) {
					t.Fatalf("%s is held otherwise", r.Key())
				}
			}
			bytes = inUse() - empty
			if len(s.GetStore().ListKeys()) != n { // which keeps it alive
				t.Error("not all objects are there")
			}
		})
		return bytes
	}
	small, large := held(cache.ObjectOptions{}), held(cache.ObjectOptions{Unpacked: true})
	t.Logf("a pod takes %d bytes packed, %d as it came", small/n, large/n)
	if small*5 > large {
		t.Errorf("%d bytes packed, %d as they came", small, large)
	}
}

// served returns a pod as clients make it of what a server sends.
func served(t *testing.T, p *corev1.Pod) *corev1.Pod {
	raw, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	sent := &corev1.Pod{}
	if err := sent.Unmarshal(raw); err != nil {
		t.Fatal(err)
	}
	return sent
}

// inUse is what the process holds, in the heap and outside.
func inUse() int64 {
	goruntime.GC()
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + packed.InUse().Live
}
