package objects

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// kinds are all sequences of a generator under one type.
func kinds(g *Generator) map[string]func(n int) iter.Seq[metav1.Object] {
	return map[string]func(n int) iter.Seq[metav1.Object]{
		"Pod":           func(n int) iter.Seq[metav1.Object] { return as(g.Pods(n)) },
		"ConfigMap":     func(n int) iter.Seq[metav1.Object] { return as(g.ConfigMaps(n)) },
		"Secret":        func(n int) iter.Seq[metav1.Object] { return as(g.Secrets(n)) },
		"Node":          func(n int) iter.Seq[metav1.Object] { return as(g.Nodes(n)) },
		"Namespace":     func(int) iter.Seq[metav1.Object] { return as(g.Namespaces()) },
		"EndpointSlice": func(n int) iter.Seq[metav1.Object] { return as(g.EndpointSlices(n)) },
		"Deployment":    func(n int) iter.Seq[metav1.Object] { return as(g.Deployments(n)) },
		"StatefulSet":   func(n int) iter.Seq[metav1.Object] { return as(g.StatefulSets(n)) },
		"ReplicaSet":    func(n int) iter.Seq[metav1.Object] { return as(g.ReplicaSets(n)) },
		"DaemonSet":     func(n int) iter.Seq[metav1.Object] { return as(g.DaemonSets(n)) },
		"Job":           func(n int) iter.Seq[metav1.Object] { return as(g.Jobs(n)) },
		"Event":         func(n int) iter.Seq[metav1.Object] { return as(g.Events(n)) },
		"Database":      func(n int) iter.Seq[metav1.Object] { return as(g.CustomResources(n)) },
	}
}

func as[T metav1.Object](in iter.Seq[T]) iter.Seq[metav1.Object] {
	return func(yield func(metav1.Object) bool) {
		for obj := range in {
			if !yield(obj) {
				return
			}
		}
	}
}

// protobuf is implemented by the generated types.
type protobuf interface {
	Marshal() ([]byte, error)
	Size() int
}

// digest is the same for two sequences exactly if their objects have equal encodings.
func digest(t *testing.T, objects iter.Seq[metav1.Object]) string {
	t.Helper()
	sum := sha256.New()
	for obj := range objects {
		text, err := json.Marshal(obj)
		if err != nil {
			t.Fatalf("encoding %s/%s: %v", obj.GetNamespace(), obj.GetName(), err)
		}
		sum.Write(text)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func TestSameSeedGivesSameBytes(t *testing.T) {
	first, again, other := kinds(New(Options{Seed: 7})), kinds(New(Options{Seed: 7})), kinds(New(Options{Seed: 8}))
	for kind, objects := range first {
		t.Run(kind, func(t *testing.T) {
			want := digest(t, objects(50))
			if got := digest(t, again[kind](50)); got != want {
				t.Error("two generators with the same seed differ")
			}
			if got := digest(t, objects(50)); got != want {
				t.Error("ranging a second time gives other objects")
			}
			if got := digest(t, other[kind](50)); got == want {
				t.Error("another seed gives the same objects")
			}
		})
	}
}

func TestShorterSequenceIsPrefix(t *testing.T) {
	for kind, objects := range kinds(New(Options{Seed: 3})) {
		if kind == "Namespace" { // always all of them
			continue
		}
		long, stop := iter.Pull(objects(60))
		for short := range objects(30) {
			obj, _ := long()
			if diff := cmp.Diff(short, obj); diff != "" {
				t.Errorf("%s %s: differs in the longer sequence:\n%s", kind, short.GetName(), diff)
				break
			}
		}
		stop()
	}
}

func TestKeysAndUIDsAreUnique(t *testing.T) {
	uids := map[types.UID]string{}
	for kind, objects := range kinds(New(Options{Seed: 1})) {
		n := 200
		if kind == "Pod" {
			n = 20_000
		}
		keys, count := map[string]bool{}, 0
		for obj := range objects(n) {
			key := obj.GetNamespace() + "/" + obj.GetName()
			if keys[key] {
				t.Fatalf("%s %s comes twice", kind, key)
			}
			keys[key] = true
			if other, ok := uids[obj.GetUID()]; ok {
				t.Fatalf("%s %s has the uid of %s", kind, key, other)
			}
			uids[obj.GetUID()] = kind + " " + key
			count++
		}
		if count != n && kind != "Namespace" {
			t.Errorf("%s: %d objects, want %d", kind, count, n)
		}
	}
}

func TestSiblingNamesDoNotRepeat(t *testing.T) {
	seen := map[string]bool{}
	for i := range 100_000 {
		seen[siblingSuffix(12_345, i)] = true
	}
	if len(seen) != 100_000 {
		t.Errorf("%d names for 100,000 siblings", len(seen))
	}
}

func TestPodsAreVaried(t *testing.T) {
	owners, owned, namespaces, nodes, phases, containers := map[types.UID]bool{}, map[string]int{}, map[string]bool{}, map[string]bool{}, map[corev1.PodPhase]int{}, map[int]int{}
	for pod := range Pods(1, 20_000) {
		owner := metav1.GetControllerOf(pod)
		owners[owner.UID] = true
		owned[owner.Kind]++
		namespaces[pod.Namespace] = true
		nodes[pod.Spec.NodeName] = true
		phases[pod.Status.Phase]++
		containers[len(pod.Spec.Containers)]++
		if got := len(pod.ManagedFields); got < 2 || got > 3 {
			t.Fatalf("pod %s has %d managers, want 2 or 3", pod.Name, got)
		}
	}
	t.Logf("owners %v, phases %v, containers %v", owned, phases, containers)
	if len(owners) < 300 || len(owned) != 4 || len(namespaces) != 12 || len(nodes) < 100 || len(phases) != 4 || len(containers) != 4 {
		t.Errorf("%d owners of %d kinds, %d namespaces, %d nodes, %d phases, %d container counts",
			len(owners), len(owned), len(namespaces), len(nodes), len(phases), len(containers))
	}
}

func TestOptionsAreObeyed(t *testing.T) {
	g := New(Options{Seed: 1, Workloads: 20, Namespaces: 3, Nodes: 5, NoManagedFields: true})
	owners, namespaces := map[types.UID]bool{}, map[string]bool{}
	for pod := range g.Pods(2_000) {
		owners[metav1.GetControllerOf(pod).UID] = true
		namespaces[pod.Namespace] = true
		if pod.ManagedFields != nil {
			t.Fatalf("pod %s has managedFields", pod.Name)
		}
	}
	if len(owners) != 20 || len(namespaces) > 3 {
		t.Errorf("%d owners, %d namespaces; want 20, at most 3", len(owners), len(namespaces))
	}
	for kind, objects := range kinds(g) {
		for obj := range objects(50) {
			if obj.GetManagedFields() != nil {
				t.Errorf("%s %s has managedFields", kind, obj.GetName())
			}
		}
	}
}

func TestReferencesHold(t *testing.T) {
	g := New(Options{Seed: 4, Workloads: 40})
	uids := map[types.UID]bool{}
	for _, kind := range []string{"ReplicaSet", "StatefulSet", "DaemonSet", "Job"} {
		for owner := range kinds(g)[kind](120) {
			uids[owner.GetUID()] = true
		}
	}
	nodes := map[string]bool{"": true}
	for node := range g.Nodes(100) {
		nodes[node.Name] = true
	}
	pods := map[types.UID]string{}
	for pod := range g.Pods(10_000) {
		if owner := metav1.GetControllerOf(pod); !uids[owner.UID] {
			t.Fatalf("pod %s: no %s %s", pod.Name, owner.Kind, owner.Name)
		}
		if !nodes[pod.Spec.NodeName] {
			t.Fatalf("pod %s: no node %s", pod.Name, pod.Spec.NodeName)
		}
		pods[pod.UID] = pod.Name
	}
	for event := range g.Events(1_000) {
		if ref := event.InvolvedObject; pods[ref.UID] != ref.Name {
			t.Fatalf("event %s is about pod %s, whose uid is that of %q", event.Name, ref.Name, pods[ref.UID])
		}
	}
	for slice := range g.EndpointSlices(20) {
		for _, e := range slice.Endpoints {
			if pods[e.TargetRef.UID] != e.TargetRef.Name {
				t.Fatalf("slice %s names pod %s, whose uid is that of %q", slice.Name, e.TargetRef.Name, pods[e.TargetRef.UID])
			}
		}
	}
}

// TestSizes holds the objects near the size that they have on real clusters.
func TestSizes(t *testing.T) {
	want := map[string]struct{ low, high int }{"Pod": {8_300, 9_700}, "Database": {3_600, 4_400}}
	for kind, objects := range kinds(New(Options{Seed: 1})) {
		var n, binary, text, managed int
		for obj := range objects(200) {
			n++
			if p, ok := obj.(protobuf); ok {
				binary += p.Size()
			}
			encoded, err := json.Marshal(obj)
			if err != nil {
				t.Fatal(err)
			}
			text += len(encoded)
			for _, entry := range obj.GetManagedFields() {
				managed += len(entry.FieldsV1.Raw)
				if !json.Valid(entry.FieldsV1.Raw) {
					t.Fatalf("%s %s: fields of %s are not JSON: %s", kind, obj.GetName(), entry.Manager, entry.FieldsV1.Raw)
				}
			}
		}
		t.Logf("%-14s protobuf %6d B, JSON %6d B, of which managed fields %5d B", kind, binary/n, text/n, managed/n)
		size := binary / n
		if binary == 0 {
			size = text / n
		}
		if limits, ok := want[kind]; ok && (size < limits.low || size > limits.high) {
			t.Errorf("%s: mean size %d B, want %d to %d", kind, size, limits.low, limits.high)
		}
	}
}

// TestSiblingsAreNearlyEqual packs each pod against the first of its owner.
func TestSiblingsAreNearlyEqual(t *testing.T) {
	first := map[types.UID]*s2.Dict{}
	var packed, n int
	for pod := range Pods(1, 5_000) {
		encoded, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		owner := metav1.GetControllerOf(pod).UID
		if first[owner] == nil {
			first[owner] = s2.MakeDict(encoded, nil)
			continue
		}
		packed += len(first[owner].Encode(nil, encoded))
		n++
	}
	t.Logf("packed against a sibling: %d B a pod", packed/n)
	if mean := packed / n; mean < 200 || mean > 900 {
		t.Errorf("a pod packs to %d B against its sibling, want 200 to 900", mean)
	}
}

func TestConcurrentUse(t *testing.T) {
	g := New(Options{Seed: 5, Workloads: 10})
	var wg sync.WaitGroup
	digests := make([]string, 4)
	for i := range digests {
		wg.Go(func() {
			sum := sha256.New()
			for pod := range g.Pods(300) {
				encoded, err := pod.Marshal()
				if err != nil {
					t.Error(err)
				}
				sum.Write(encoded)
			}
			digests[i] = fmt.Sprintf("%x", sum.Sum(nil))
		})
	}
	wg.Wait()
	if len(slices.Compact(digests)) != 1 {
		t.Error("goroutines that share a generator see different pods")
	}
}

func TestManagedFieldsNameWhatIsSet(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "E", Value: "1"}}, Args: []string{"x"}}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		},
	}
	want := strings.Join([]string{
		`{"f:metadata":{"f:labels":{".":{},"f:app":{}}},`,
		`"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:args":{},`,
		`"f:env":{".":{},"k:{\"name\":\"E\"}":{".":{},"f:name":{},"f:value":{}}},"f:name":{},"f:resources":{".":{}}}},`,
		`"f:volumes":{".":{},"k:{\"name\":\"v\"}":{".":{},"f:emptyDir":{".":{}},"f:name":{}}}}}`,
	}, "")
	want = strings.ReplaceAll(want, `{".":{}}`, `{}`)
	if diff := cmp.Diff(want, string(fieldsOf(pod))); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestCustomResourcesFitTheirDefinition(t *testing.T) {
	crd := CustomResourceDefinition()
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	for obj := range New(Options{}).CustomResources(10) {
		if gvk := obj.GroupVersionKind(); gvk.Kind != kind || gvk.Group != group {
			t.Errorf("%s is a %s, the definition is of %s in %s", obj.GetName(), gvk, kind, group)
		}
	}
}

// BenchmarkGenerate tells how many objects a second each kind gives, once the
// workloads that they share are made.
func BenchmarkGenerate(b *testing.B) {
	g := New(Options{Seed: 1})
	for kind, objects := range kinds(g) {
		b.Run(kind, func(b *testing.B) {
			for range objects(100) {
			}
			n := 0
			for b.Loop() {
				for range objects(100) {
					n++
				}
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "objects/s")
		})
	}
}
