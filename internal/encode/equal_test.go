package encode_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform/internal/encode"
	"github.com/kinform/kinform/internal/encode/survey"
)

// odd has what objects of Kubernetes do not have.
type odd struct {
	A    bool
	B    int16
	C    uint32
	None struct{}
	F    float32
	G    float64
	H    complex128
	Five [5]string
	I    any
	M    map[int]*odd
	N    map[string]map[string]string
	Next *odd
	All  []odd
	Fn   func()
	Ch   chan int
	Ptr  **string
	e    string
	raw  []byte
}

// TestEqualIsDeepEqual: whatever objects are compared, the result is that of
// reflect.DeepEqual.
func TestEqualIsDeepEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	compare := func(a, b any) {
		t.Helper()
		if got, want := encode.Same(a, b), reflect.DeepEqual(a, b); got != want {
			t.Fatalf("%t, want %t:\n%#v\n%#v", got, want, a, b)
		}
	}
	named := reflect.TypeFor[metav1.Object]()
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version == runtime.APIVersionInternal || !reflect.PointerTo(typ).Implements(named) {
			continue
		}
		for range 4 {
			v := reflect.New(typ)
			survey.Fill(r, v.Elem())
			obj := v.Interface().(runtime.Object)
			compare(obj, obj)
			compare(obj, obj.DeepCopyObject())
			for range 20 { // one part is another
				changed := obj.DeepCopyObject()
				change(r, reflect.ValueOf(changed).Elem())
				compare(obj, changed)
				compare(changed, obj)
			}
		}
	}
}

// change fills one part of a value again.
func change(r *rand.Rand, v reflect.Value) {
	switch {
	case !v.CanSet():
	case r.IntN(8) == 0:
		v.SetZero()
		survey.Fill(r, v)
	case v.Kind() == reflect.Struct && v.NumField() > 0:
		change(r, v.Field(r.IntN(v.NumField())))
	case v.Kind() == reflect.Pointer && !v.IsNil():
		change(r, v.Elem())
	case v.Kind() == reflect.Slice && v.Len() > 0:
		change(r, v.Index(r.IntN(v.Len())))
	default:
		v.SetZero()
		survey.Fill(r, v)
	}
}

// TestEqualOfOddValues: so it is for what no object of Kubernetes has.
func TestEqualOfOddValues(t *testing.T) {
	text, other := "text", "other"
	p, q := &text, &other
	values := []*odd{
		{}, {A: true}, {B: 1}, {C: 1 << 31}, {F: 1}, {G: 1}, {G: math.NaN()}, {G: math.Copysign(0, -1)}, {H: 1i},
		{Five: [5]string{4: "x"}}, {Five: [5]string{3: "x"}},
		{I: 1}, {I: int64(1)}, {I: []string{}}, {I: []string(nil)}, {I: &odd{}}, {I: &odd{e: "x"}},
		{M: map[int]*odd{}}, {M: map[int]*odd{1: nil}}, {M: map[int]*odd{1: {}}}, {M: map[int]*odd{1: {e: "x"}}},
		{N: map[string]map[string]string{}}, {N: map[string]map[string]string{"a": nil}}, {N: map[string]map[string]string{"a": {}}},
		{Next: &odd{}}, {Next: &odd{Next: &odd{}}}, {All: []odd{}}, {All: []odd{{}}}, {All: []odd{{e: "x"}}},
		{Fn: func() {}}, {Ch: make(chan int)}, {Ptr: &p}, {Ptr: &q}, {e: "x"}, {raw: []byte{}}, {raw: []byte{1}}, {raw: []byte{2}},
	}
	for _, a := range values {
		for _, b := range values {
			c := *b // another address
			if got, want := encode.Same(a, &c), reflect.DeepEqual(a, &c); got != want {
				t.Errorf("%t, want %t: %+v and %+v", got, want, *a, c)
			}
		}
	}
	pods := []*corev1.Pod{{}, {Spec: corev1.PodSpec{Overhead: corev1.ResourceList{}}}, {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}}
	for _, a := range pods {
		for _, b := range pods {
			if got, want := encode.Same(a, b), reflect.DeepEqual(a, b); got != want {
				t.Errorf("%t, want %t: %v and %v", got, want, a, b)
			}
		}
	}
}
