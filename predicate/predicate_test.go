package predicate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/predicate"
	"github.com/kinform/kinform/wire"
)

func Example() {
	p := predicate.Any(predicate.SpecChanged(), predicate.ConditionBecame("Ready", "True"))
	old := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "a"}}
	now := old.DeepCopy()
	now.Status.Phase = corev1.PodRunning
	fmt.Println(p, p.Objects(old, now))
	now.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True"}}
	fmt.Println(p.Objects(old, now))
	// Output:
	// spec changed or status.conditions[?(@.type=="Ready")].status became True false
	// true
}

// object is a generated type.
type object interface {
	metav1.Object
	runtime.Object
	Marshal() ([]byte, error)
}

var all = []predicate.Predicate{
	predicate.GenerationChanged(), predicate.LabelsChanged(), predicate.AnnotationsChanged(), predicate.SpecChanged(), predicate.StatusChanged(),
	predicate.ConditionChanged("Ready"), predicate.ConditionBecame("Ready", "True"), predicate.ConditionBecame("Available", "False"), predicate.ConditionBecame("Ready", ""),
	predicate.Changed("metadata.ownerReferences"), predicate.Changed("metadata.labels['app']"), predicate.Changed("metadata.deletionTimestamp"),
	predicate.Changed("metadata.ownerReferences.uid"),
	predicate.Any(predicate.SpecChanged(), predicate.LabelsChanged()), predicate.All(predicate.SpecChanged(), predicate.LabelsChanged()),
	{}, predicate.Any(predicate.Predicate{}, predicate.SpecChanged()), predicate.All(predicate.Predicate{}, predicate.SpecChanged()),
}

// change changes something of an object.
func change(r *rand.Rand, o object) {
	switch r.IntN(8) {
	case 0:
		o.SetGeneration(o.GetGeneration() + 1)
	case 1:
		o.SetLabels(map[string]string{"app": fmt.Sprint(r.IntN(3))})
	case 2:
		o.SetAnnotations(map[string]string{"a": fmt.Sprint(r.IntN(3))})
	case 3:
		o.SetOwnerReferences([]metav1.OwnerReference{{UID: "u", Name: fmt.Sprint(r.IntN(3))}})
	case 4:
		now := metav1.Unix(int64(r.IntN(3)), 0)
		o.SetDeletionTimestamp(&now)
	case 5:
		switch o := o.(type) {
		case *corev1.Pod:
			o.Spec.Containers[0].Image = fmt.Sprint(r.IntN(3))
		case *appsv1.Deployment:
			o.Spec.Replicas = new(int32)
		}
	case 6:
		status := []string{"True", "False", "Unknown"}[r.IntN(3)]
		switch o := o.(type) {
		case *corev1.Pod:
			o.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: corev1.ConditionStatus(status), Message: fmt.Sprint(r.IntN(9))}}
		case *appsv1.Deployment:
			o.Status.Conditions = []appsv1.DeploymentCondition{{Type: "Available", Status: corev1.ConditionStatus(status)}}
		}
	case 7:
		if pod, ok := o.(*corev1.Pod); ok {
			pod.Status.Conditions = nil
		}
	}
}

// TestAnswersAreTheSame for objects of every form, and for bytes in every encoding.
func TestAnswersAreTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	answers := map[string][2]int{}
	try := func(old, now object) {
		typ := reflect.TypeOf(old).Elem()
		var raws, texts [2][]byte
		var loose [2]*unstructured.Unstructured
		for i, o := range []object{old, now} {
			var err error
			if raws[i], err = o.Marshal(); err != nil {
				t.Fatal(err)
			}
			if texts[i], err = json.Marshal(o); err != nil {
				t.Fatal(err)
			}
			loose[i] = &unstructured.Unstructured{}
			if err := json.Unmarshal(texts[i], &loose[i].Object); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range all {
			bound, err := p.Bind(typ)
			if err != nil {
				t.Fatal(err)
			}
			untyped, err := p.Bind(nil)
			if err != nil {
				t.Fatal(err)
			}
			want := p.Objects(old, now)
			got := []bool{
				bound.Objects(old, now), p.Objects(loose[0], loose[1]), bound.Bytes(wire.Protobuf, raws[0], raws[1]),
				bound.Bytes(wire.JSON, texts[0], texts[1]), untyped.Bytes(wire.JSON, texts[0], texts[1]),
			}
			for _, is := range got {
				if is != want {
					t.Fatalf("%s: %v, want %t\n%s\n%s", p, got, want, texts[0], texts[1])
				}
			}
			if !bound.Reads(wire.Protobuf) || untyped.Reads(wire.Protobuf) != untyped.Everything() {
				t.Errorf("%s: reads protobuf with a type %t, without %t", p, bound.Reads(wire.Protobuf), untyped.Reads(wire.Protobuf))
			}
			n := answers[p.String()]
			n[map[bool]int{true: 1}[want]]++
			answers[p.String()] = n
		}
	}
	for pod := range objects.New(objects.Options{Seed: 4}).Pods(150) {
		pod.Status.Conditions = nil
		d := &appsv1.Deployment{ObjectMeta: pod.ObjectMeta}
		for _, old := range []object{pod, d} {
			change(r, old)
			now := old.DeepCopyObject().(object)
			for range r.IntN(4) {
				change(r, now)
			}
			try(old, now)
		}
	}
	for p, n := range answers {
		if n[0] == 0 && p != "every update" || n[1] == 0 {
			t.Errorf("%s: refused %d times, accepted %d times", p, n[0], n[1])
		}
	}
}

// TestNobodyKnows: a question that cannot be answered is accepted, or is an error when
// the predicate is made.
func TestNobodyKnows(t *testing.T) {
	m := &corev1.ConfigMap{Data: map[string]string{"a": "b"}}
	for _, p := range []predicate.Predicate{predicate.SpecChanged(), predicate.ConditionBecame("Ready", "True"), predicate.Changed("data[")} {
		if !p.Objects(m, m) {
			t.Errorf("%s is refused", p)
		}
		if _, err := p.Bind(reflect.TypeFor[corev1.ConfigMap]()); err == nil || !strings.Contains(err.Error(), `predicate "`) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if predicate.SpecChanged().Objects(nil, nil) || predicate.SpecChanged().Objects((*corev1.Pod)(nil), (*corev1.Pod)(nil)) {
		t.Error("of nothing, something has changed")
	}
	if !predicate.Changed("data").Objects(m, &corev1.ConfigMap{}) || !predicate.SpecChanged().Objects(&corev1.Pod{}, nil) {
		t.Error("what is gone has not changed")
	}
	p, err := predicate.Changed("kind").Bind(reflect.TypeFor[corev1.Pod]())
	if err != nil || p.Reads(wire.Protobuf) {
		t.Errorf("the kind is read from protobuf; %v", err)
	}
}

// TestUnreadableStates are accepted, so that somebody hears of them.
func TestUnreadableStates(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}}}
	inProtobuf, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	inJSON, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []predicate.Predicate{predicate.ConditionBecame("Ready", "True"), predicate.ConditionBecame("Ready", "False"), predicate.StatusChanged()} {
		b, err := p.Bind(reflect.TypeFor[corev1.Pod]())
		if err != nil {
			t.Fatal(err)
		}
		for f, raw := range map[wire.Format][]byte{wire.Protobuf: inProtobuf, wire.JSON: inJSON} {
			cut := raw[:len(raw)-1]
			if b.Bytes(f, raw, raw) || !b.Bytes(f, raw, cut) || !b.Bytes(f, cut, raw) {
				t.Errorf("%s, %s: unchanged %t, cut %t, mended %t", p, f, b.Bytes(f, raw, raw), b.Bytes(f, raw, cut), b.Bytes(f, cut, raw))
			}
		}
	}
}

// TestAskingAllocatesNothing of bytes.
func TestAskingAllocatesNothing(t *testing.T) {
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}}}
	now := old.DeepCopy()
	now.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True"}}
	b, err := predicate.All(predicate.StatusChanged(), predicate.ConditionBecame("Ready", "True"),
		predicate.Any(predicate.SpecChanged(), predicate.ConditionChanged("Ready"))).Bind(reflect.TypeFor[corev1.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	x, _ := old.Marshal()
	y, _ := now.Marshal()
	u, _ := json.Marshal(old)
	v, _ := json.Marshal(now)
	n := testing.AllocsPerRun(100, func() {
		if !b.Bytes(wire.Protobuf, x, y) || !b.Bytes(wire.JSON, u, v) {
			t.Error("refused")
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkSpecChanged asks whether the spec changed of a pod whose status did.
func BenchmarkSpecChanged(b *testing.B) {
	for pod := range objects.New(objects.Options{Seed: 4}).Pods(1) {
		now := pod.DeepCopy()
		now.ResourceVersion, now.Status.Message = "7", "changed"
		bound, err := predicate.SpecChanged().Bind(reflect.TypeFor[corev1.Pod]())
		if err != nil {
			b.Fatal(err)
		}
		x, _ := pod.Marshal()
		y, _ := now.Marshal()
		u, _ := json.Marshal(pod)
		v, _ := json.Marshal(now)
		for name, ask := range map[string]func() bool{
			"protobuf": func() bool { return bound.Bytes(wire.Protobuf, x, y) },
			"JSON":     func() bool { return bound.Bytes(wire.JSON, u, v) },
			"objects":  func() bool { return bound.Objects(pod, now) },
			"decoded": func() bool { // what a handler that compares objects costs
				var p, q corev1.Pod
				return p.Unmarshal(x) != nil || q.Unmarshal(y) != nil || bound.Objects(&p, &q)
			},
		} {
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if ask() {
						b.Fatal("it has changed")
					}
				}
			})
		}
	}
}
