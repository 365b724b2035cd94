package unmarshal

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform/internal/objects"
)

// sameUnified compares an object that was given parts of another one with what it was
// before, and sees that the other one is as it was.
func sameUnified(t testing.TB, typ reflect.Type, other, raw []byte) {
	t.Helper()
	made := func(raw []byte) any {
		obj := reflect.New(typ).Interface().(Message)
		if err := obj.Unmarshal(raw); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	got, with := made(raw), made(other)
	if _, ok := Unify(got, with); !ok {
		return
	}
	want := made(raw)
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s from %x, unified with %x:\n got %+v\nwant %+v", typ, raw, other, got, want)
	}
	was := made(other)
	if !reflect.DeepEqual(with, was) {
		t.Fatalf("%s from %x has changed", typ, other)
	}
}

// TestUnify: what is equal is one part afterwards, labels and annotations excepted, and
// what differs is the object's own.
func TestUnify(t *testing.T) {
	for pod := range objects.New(objects.Options{Seed: 1}).Pods(50) {
		other := pod.DeepCopy()
		other.Name, other.Status.PodIP = "another", "10.0.0.1"
		other.Spec.Containers[0].Image += "-next"
		other.ManagedFields = nil // as a transform does
		want := other.DeepCopy()
		if Same(other.DeepCopy(), pod) || !Same(pod.DeepCopy(), pod) {
			t.Errorf("%s: the same and what differs are mistaken for each other", pod.Name)
		}
		own, ok := Unify(other, pod)
		if !ok || !reflect.DeepEqual(other, want) {
			t.Fatalf("%s is not what it was (%t)", pod.Name, ok)
		}
		if whole, _ := Unify(pod.DeepCopy(), &corev1.Pod{}); own > whole {
			t.Errorf("%s: %d bytes of its own, of %d", pod.Name, own, whole)
		}
		if c, o := pod.Spec.Containers[0], other.Spec.Containers[0]; len(c.Env) > 0 && &c.Env[0] != &o.Env[0] {
			t.Errorf("%s: the environment is there twice", pod.Name)
		}
		if &pod.Spec.Containers[0] == &other.Spec.Containers[0] {
			t.Errorf("%s: the image is that of the other", pod.Name)
		}
		if reflect.ValueOf(pod.Labels).Pointer() == reflect.ValueOf(other.Labels).Pointer() && pod.Labels != nil {
			t.Errorf("%s: labels are shared", pod.Name)
		}
	}
}

type twice struct {
	X string `protobuf:"bytes,1,opt,name=x"`
	Y string `protobuf:"bytes,1,opt,name=y"` // the number was copied with the line above
}

type numberedTwice struct {
	Items []twice `protobuf:"bytes,1,rep,name=items"`
}

// Two fields with one number: an object of JSON, which no protobuf reads.
func TestUnifyNumberTwice(t *testing.T) {
	a := &numberedTwice{Items: []twice{{X: "mine", Y: "same"}}}
	b := &numberedTwice{Items: []twice{{X: "theirs", Y: "same"}}}
	Unify(a, b)
	if a.Items[0].X != "mine" {
		t.Errorf("the object has %q, which is another one's", a.Items[0].X)
	}
}
