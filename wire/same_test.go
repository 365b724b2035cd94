package wire

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/objects"
)

// partPaths lead to parts of pods, of all sorts.
var partPaths = []string{
	"metadata", "spec", "status", "metadata.name", "metadata.labels", "metadata.annotations", "metadata.generation",
	"metadata.labels['app.kubernetes.io/name']", "metadata.labels['none']", "metadata.ownerReferences", "metadata.ownerReferences.uid",
	"metadata.deletionTimestamp", "spec.nodeName", "spec.containers", "spec.containers.image", "spec.containers.ports.containerPort",
	"spec.containers.resources.limits['cpu']", "spec.volumes.configMap.name", "spec.volumes.configMap", "spec.tolerations.key",
	"status.phase", "status.conditions.status", "status.containerStatuses.ready", "status.podIPs",
	`status.conditions[?(@.type=="Ready")].status`, `status.conditions[?(@.type=="Ready")]`, `status.conditions[?(@.type=="None")].status`,
}

// changes are what may happen to a pod.
var changes = []func(*rand.Rand, *corev1.Pod){
	func(_ *rand.Rand, p *corev1.Pod) { p.ResourceVersion += "1" },
	func(_ *rand.Rand, p *corev1.Pod) { p.Generation++ },
	func(_ *rand.Rand, p *corev1.Pod) { p.Labels["app.kubernetes.io/name"] += "x" },
	func(_ *rand.Rand, p *corev1.Pod) { p.Labels["a"] = "" },
	func(_ *rand.Rand, p *corev1.Pod) { delete(p.Labels, "app.kubernetes.io/name") },
	func(_ *rand.Rand, p *corev1.Pod) { p.Annotations = nil },
	func(_ *rand.Rand, p *corev1.Pod) { p.OwnerReferences = append(p.OwnerReferences, p.OwnerReferences...) },
	func(_ *rand.Rand, p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: p.CreationTimestamp.Time} },
	func(_ *rand.Rand, p *corev1.Pod) { p.Spec.NodeName = "" },
	func(_ *rand.Rand, p *corev1.Pod) { p.Spec.Containers[0].Image = "" },
	func(_ *rand.Rand, p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers[1:], p.Spec.Containers[0])
	},
	func(_ *rand.Rand, p *corev1.Pod) { // from one list to the other
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Ports: p.Spec.Containers[0].Ports})
		p.Spec.Containers[0].Ports = nil
	},
	func(_ *rand.Rand, p *corev1.Pod) { p.Spec.Containers[0].Resources.Limits = nil },
	func(_ *rand.Rand, p *corev1.Pod) { p.Spec.Volumes = p.Spec.Volumes[:len(p.Spec.Volumes)/2] },
	func(_ *rand.Rand, p *corev1.Pod) {
		p.Spec.Tolerations = append([]corev1.Toleration{{Key: "k"}}, p.Spec.Tolerations...)
	},
	func(_ *rand.Rand, p *corev1.Pod) { p.Status.Phase = "Other" },
	func(r *rand.Rand, p *corev1.Pod) {
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].Status = corev1.ConditionStatus([]string{"True", "False"}[r.IntN(2)])
		}
	},
	func(_ *rand.Rand, p *corev1.Pod) { p.Status.ContainerStatuses = nil },
	func(_ *rand.Rand, p *corev1.Pod) { p.Status = corev1.PodStatus{} },
}

// at returns what a document has at a path: of lists, what each element has.
func at(doc any, names []segment) any {
	switch v := doc.(type) {
	case []any:
		if len(names) == 0 {
			return v
		}
		all := []any{}
		for _, e := range v {
			all = append(all, at(e, names))
		}
		return all
	case map[string]any:
		if len(names) == 0 {
			return v
		}
		return at(chosen(v[names[0].name], names[0].where), names[1:])
	}
	if len(names) > 0 {
		return nil
	}
	return doc
}

// chosen returns the elements of a list that have what they should.
func chosen(doc any, w *where) any {
	if w == nil {
		return doc
	}
	all := []any{}
	list, _ := doc.([]any)
	for _, e := range list {
		if m, _ := e.(map[string]any); m[w.name] == w.value {
			all = append(all, e)
		}
	}
	return all
}

// TestSame: two states are the same at a path if their documents are.
func TestSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	told := map[bool]int{}
	for pod := range objects.New(objects.Options{Seed: 3}).Pods(300) {
		next := pod.DeepCopy()
		for range r.IntN(3) {
			changes[r.IntN(len(changes))](r, next)
		}
		var docs [2]any
		var texts, raws [2][]byte
		for i, p := range []*corev1.Pod{pod, next} {
			var err error
			if texts[i], err = json.Marshal(p); err != nil {
				t.Fatal(err)
			}
			if raws[i], err = p.Marshal(); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(texts[i], &docs[i]); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range partPaths {
			names, err := splitPath(path)
			if err != nil {
				t.Fatal(err)
			}
			want := reflect.DeepEqual(at(docs[0], names), at(docs[1], names))
			for _, typ := range []reflect.Type{reflect.TypeFor[corev1.Pod](), nil} {
				p, err := ParsePart(path, typ)
				if err != nil {
					t.Fatal(err)
				}
				if got := p.Same(JSON, texts[0], texts[1]); got != want {
					t.Errorf("%s in JSON: %t, want %t\n%v\n%v", path, got, want, at(docs[0], names), at(docs[1], names))
				}
				if typ == nil {
					continue
				}
				if got := p.Same(Protobuf, raws[0], raws[1]); got != want {
					t.Errorf("%s in protobuf: %t, want %t\n%v\n%v", path, got, want, at(docs[0], names), at(docs[1], names))
				}
			}
			told[want]++
		}
	}
	if told[true] < 1000 || told[false] < 500 {
		t.Errorf("the same %d times, not the same %d times", told[true], told[false])
	}
}

// TestSameAllocatesNothing, and does not call what is damaged the same.
func TestSameAllocatesNothing(t *testing.T) {
	p, err := ParsePart("spec.containers.image", reflect.TypeFor[corev1.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "a"}, {Image: "b"}}}}
	text, _ := json.Marshal(pod)
	raw, _ := pod.Marshal()
	pod.Spec.Containers[1].Name = "other"
	text2, _ := json.Marshal(pod)
	raw2, _ := pod.Marshal()
	for name, same := range map[string]func() bool{
		"JSON":     func() bool { return p.Same(JSON, text, text2) },
		"protobuf": func() bool { return p.Same(Protobuf, raw, raw2) },
	} {
		if !same() {
			t.Errorf("%s: not the same", name)
		}
		if n := testing.AllocsPerRun(100, func() { same() }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if p.Same(Protobuf, raw, raw[:len(raw)-1]) || p.Same(JSON, text, text[:len(text)-3]) {
		t.Error("what is cut is said to be the same")
	}
	if !(Path{}).Same(Protobuf, raw, raw) || (Path{}).Same(Protobuf, raw, raw2) {
		t.Error("without a path, the whole is not compared")
	}
	twice := []byte(`{"spec":{"containers":[]},"spec":{}}`)
	if p.Same(JSON, twice, []byte(`{"spec":{}}`)) {
		t.Error("what is there twice is said to be the same")
	}
	for _, path := range []string{"kind", "apiVersion"} {
		p, err := ParsePart(path, reflect.TypeFor[corev1.Pod]())
		if err != nil || p.Same(Protobuf, raw, raw2) {
			t.Errorf("%s is said to be the same, which protobuf does not have; %v", path, err)
		}
	}
	untyped, err := ParsePart("spec", nil)
	if err != nil || untyped.Same(Protobuf, raw, raw2) {
		t.Errorf("a path of no type says what is the same in protobuf; %v", err)
	}
	if _, err := ParsePart("spec.container", reflect.TypeFor[corev1.Pod]()); err == nil || !strings.Contains(err.Error(), `no field "container"`) {
		t.Errorf("a path that leads nowhere: %v", err)
	}
}
