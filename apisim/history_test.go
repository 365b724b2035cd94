package apisim

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/btree"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestHistoryModel makes random changes and compares every state that the
// store still knows with a model that keeps them all.
func TestHistoryModel(t *testing.T) {
	const limit, steps = 50, 400
	random := rand.New(rand.NewPCG(1, 2))
	s := &store{version: 1}
	gr := schema.GroupResource{Resource: "configmaps"}
	c := newCollection(gr, typedCodec{corev1.SchemeGroupVersion.WithKind("ConfigMap")}, limit)
	model := map[string]uint64{}
	states := map[uint64]map[string]uint64{1: maps.Clone(model)}
	for range steps {
		key := fmt.Sprintf("ns/%d", random.IntN(30))
		old := s.get(c, key)
		if old != nil && random.IntN(3) == 0 {
			if _, err := s.remove(c, old); err != nil {
				t.Fatal(err)
			}
			delete(model, key)
		} else {
			_, name, _ := strings.Cut(key, "/")
			o, err := s.put(c, key, old, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}, false, nil)
			if err != nil {
				t.Fatal(err)
			}
			model[key] = o.version
		}
		states[s.version] = maps.Clone(model)
		checkPast(t, s, c, states, limit)
	}
}

func checkPast(t *testing.T, s *store, c *collection, states map[uint64]map[string]uint64, limit uint64) {
	t.Helper()
	for back := range limit + 5 {
		if back >= s.version {
			return
		}
		version := s.version - back
		tree, ok := s.past(c, version)
		if want := back <= limit; ok != want && (ok || version >= c.log.listFloor) {
			t.Fatalf("at %d, version %d is kept: %v, want %v", s.version, version, ok, want)
		}
		if !ok {
			continue
		}
		if got := contents(tree); !maps.Equal(got, states[version]) {
			t.Fatalf("at %d, version %d was %v, want %v", s.version, version, got, states[version])
		}
	}
}

func contents(tree *btree.BTreeG[*object]) map[string]uint64 {
	out := map[string]uint64{}
	tree.Ascend(func(o *object) bool {
		out[o.key] = o.version
		return true
	})
	return out
}

func TestPutAndRemoveOnlyWhatWasSeen(t *testing.T) {
	s := &store{version: 1}
	c := newCollection(schema.GroupResource{}, typedCodec{corev1.SchemeGroupVersion.WithKind("ConfigMap")}, 10)
	a, err := s.put(c, "a", nil, &corev1.ConfigMap{}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.put(c, "a", nil, &corev1.ConfigMap{}, false, nil); err != errChanged {
		t.Errorf("creating twice: %v", err)
	}
	b, err := s.put(c, "a", a, &corev1.ConfigMap{}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.put(c, "a", a, &corev1.ConfigMap{}, false, nil); err != errChanged {
		t.Errorf("updating an old state: %v", err)
	}
	if _, err := s.remove(c, a); err != errChanged {
		t.Errorf("removing an old state: %v", err)
	}
	if last, err := s.remove(c, b); err != nil || last.version != 4 || s.version != 4 {
		t.Errorf("removed at %v of %d: %v", last, s.version, err)
	}
}

func TestFramesAreMadeOnce(t *testing.T) {
	var f frames
	made := 0
	encode := func() ([]byte, error) { made++; return []byte("x"), nil }
	for range 3 {
		for _, media := range []mediaType{mediaJSON, mediaProtobuf} {
			if _, err := f.get(format{media: media}, eventAdded, encode); err != nil {
				t.Fatal(err)
			}
		}
	}
	if made != 2 {
		t.Errorf("%d encodings for two formats", made)
	}
}
