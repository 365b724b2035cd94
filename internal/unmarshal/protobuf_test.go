package unmarshal

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform/internal/objects"
)

type encoder interface {
	Message
	Marshal() ([]byte, error)
}

// kinds yields the types that a server sends.
func kinds(t testing.TB) []reflect.Type {
	var types []reflect.Type
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		_, ok := reflect.New(typ).Interface().(encoder)
		if ok && gvk.Version != runtime.APIVersionInternal && !strings.HasSuffix(gvk.Kind, "Options") {
			types = append(types, typ)
		}
	}
	if len(types) < 200 {
		t.Fatalf("the scheme has only %d types", len(types))
	}
	// In one order, so that what a fuzzer finds can be found again.
	slices.SortFunc(types, func(a, b reflect.Type) int {
		return strings.Compare(a.PkgPath()+a.Name(), b.PkgPath()+b.Name())
	})
	return slices.Compact(types)
}

// Every type of client-go's scheme, filled at random, decodes as by its own method.
func TestEveryKindDecodesAsByItsOwnMethod(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	planned := 0
	for _, typ := range kinds(t) {
		if planOf(typ) != nil {
			planned++
		}
		for range 8 {
			obj := reflect.New(typ)
			fill(r, obj.Elem(), 0)
			raw, err := obj.Interface().(encoder).Marshal()
			if err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			same(t, typ, raw)
			for range 3 { // not what a server would send
				same(t, typ, damage(r, raw))
			}
			for range 4 {
				later := reflect.New(typ)
				if err := later.Interface().(Message).Unmarshal(raw); err != nil {
					t.Fatal(err)
				}
				change(r, later.Elem(), 0)
				after, err := later.Interface().(encoder).Marshal()
				if err != nil {
					t.Fatalf("%s: %v", typ, err)
				}
				sameNear(t, typ, raw, after)
				sameUnified(t, typ, raw, after)
				sameUnified(t, typ, raw, raw)
				sameNear(t, typ, damage(r, raw), after)
				sameNear(t, typ, raw, damage(r, after))
				sameNear(t, typ, damage(r, raw), raw)
			}
		}
	}
	t.Logf("%d kinds, %d of them by plan", len(kinds(t)), planned)
	if planned < 200 {
		t.Errorf("only %d kinds are decoded by plan", planned)
	}
}

// same compares what Protobuf makes of raw with what the type's own method does.
func same(t testing.TB, typ reflect.Type, raw []byte) {
	t.Helper()
	got, want := reflect.New(typ), reflect.New(typ)
	errWant := want.Interface().(Message).Unmarshal(raw)
	errGot := Protobuf(raw, got.Interface().(Message))
	if (errGot == nil) != (errWant == nil) || errWant != nil && errGot.Error() != errWant.Error() {
		t.Fatalf("%s from %x: %v, want %v", typ, raw, errGot, errWant)
	}
	if errWant == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Fatalf("%s from %x:\n got %+v\nwant %+v", typ, raw, got.Interface(), want.Interface())
	}
}

// sameNear compares what ProtobufNear makes of raw, with what came before at hand,
// with what the type's own method makes of it.
func sameNear(t testing.TB, typ reflect.Type, before, raw []byte) {
	t.Helper()
	sameNearTo(t, typ, before, raw, false)
	sameNearTo(t, typ, before, raw, true)
}

func sameNearTo(t testing.TB, typ reflect.Type, before, raw []byte, sibling bool) {
	t.Helper()
	old := reflect.New(typ).Interface().(Message)
	if old.Unmarshal(before) != nil {
		return
	}
	got, want := reflect.New(typ), reflect.New(typ)
	errWant := want.Interface().(Message).Unmarshal(raw)
	_, errGot := ProtobufNear(raw, got.Interface().(Message), Near{Object: old, Raw: before, Sibling: sibling})
	if (errGot == nil) != (errWant == nil) || errWant != nil && errGot.Error() != errWant.Error() {
		t.Fatalf("%s from %x, near %x: %v, want %v", typ, raw, before, errGot, errWant)
	}
	if errWant == nil && !reflect.DeepEqual(got.Interface(), want.Interface()) {
		t.Fatalf("%s from %x, near %x:\n got %+v\nwant %+v", typ, raw, before, got.Interface(), want.Interface())
	}
	again := reflect.New(typ)
	if err := again.Interface().(Message).Unmarshal(before); err != nil || !reflect.DeepEqual(again.Interface(), old) {
		t.Fatalf("%s from %x has changed", typ, before)
	}
}

// change fills some parts of a value again.
func change(r *rand.Rand, v reflect.Value, depth int) {
	switch {
	case r.IntN(20) == 0:
		v.SetZero()
		fill(r, v, depth)
	case v.Kind() == reflect.Pointer && !v.IsNil():
		change(r, v.Elem(), depth+1)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			change(r, v.Index(i), depth+1)
		}
		if v.Len() > 0 && r.IntN(4) == 0 {
			v.Set(v.Slice(r.IntN(2), v.Len()))
		}
	case v.Kind() == reflect.Struct && !ownCode(v):
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Field(i).Kind() != reflect.Interface {
				change(r, v.Field(i), depth+1)
			}
		}
	}
}

// ownCode reports whether fill makes a value whole.
func ownCode(v reflect.Value) bool {
	switch v.Addr().Interface().(type) {
	case *metav1.Time, *metav1.MicroTime, *resource.Quantity, *runtime.RawExtension, *metav1.TypeMeta:
		return true
	}
	return false
}

func damage(r *rand.Rand, raw []byte) []byte {
	b := append([]byte(nil), raw...)
	if len(b) == 0 {
		return b
	}
	i := r.IntN(len(b))
	switch r.IntN(4) {
	case 0:
		return b[:i]
	case 1:
		b[i] = byte(r.Uint32())
	case 2:
		b = append(b[:i], b[r.IntN(len(b)):]...)
	case 3:
		b = append(b, raw...) // each field again
	}
	return b
}

// fill gives a value random content.
func fill(r *rand.Rand, v reflect.Value, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		*x = metav1.NewTime(time.Unix(r.Int64N(1<<33), 0))
		return
	case *metav1.MicroTime:
		*x = metav1.NewMicroTime(time.Unix(r.Int64N(1<<33), r.Int64N(1000)*1000))
		return
	case *resource.Quantity:
		*x = resource.MustParse([]string{"1", "100m", "128Mi", "0", "1e3", "1.5Gi", "123456789012345678901234567890", "0.0000001"}[r.IntN(8)])
		return
	case *runtime.RawExtension:
		x.Raw = []byte(`{"a":1}`)
		return
	case *metav1.FieldsV1:
		x.Raw = []byte(`{"f:a":{"f:b": {}}}`)
		return
	case *intstr.IntOrString:
		*x = []intstr.IntOrString{intstr.FromInt32(r.Int32()), intstr.FromString(randomText(r))}[r.IntN(2)]
		return
	case *metav1.TypeMeta:
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString([]string{"", "a", "Ready", "long" + strings.Repeat("x", 200), "not \xff utf-8", randomText(r)}[r.IntN(6)])
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(int32(r.Uint32())))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(r.Uint32()))
	case reflect.Float64:
		v.SetFloat(r.Float64())
	case reflect.Pointer:
		if r.IntN(2) == 0 && depth < 12 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem(), depth+1)
		}
	case reflect.Slice:
		n := r.IntN(4)
		if depth > 8 {
			n = r.IntN(2)
		}
		if n == 0 || depth > 12 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), depth+1)
		}
	case reflect.Uint8:
		v.SetUint(uint64(r.IntN(256)))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range r.IntN(4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(r, key, depth+1)
			fill(r, elem, depth+1)
			v.SetMapIndex(key, elem)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Field(i).Kind() != reflect.Interface {
				fill(r, v.Field(i), depth+1)
			}
		}
	}
}

func randomText(r *rand.Rand) string {
	b := make([]byte, r.IntN(40))
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

// Strings that are the same are one; quantities with a pointer are not shared.
func TestNothingThatCanChangeIsShared(t *testing.T) {
	big := resource.MustParse("123456789012345678901234567890")
	pod := &corev1.Pod{Spec: corev1.PodSpec{Overhead: corev1.ResourceList{"a": big}}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var one, two corev1.Pod
	for _, p := range []*corev1.Pod{&one, &two} {
		if err := Protobuf(raw, p); err != nil {
			t.Fatal(err)
		}
	}
	q := one.Spec.Overhead["a"]
	q.AsDec().SetUnscaled(1)
	if other := two.Spec.Overhead["a"]; other.Cmp(big) != 0 {
		t.Errorf("a change of one object's quantity shows in another's: %s", other.String())
	}
}

// A program that changes an object of the cache spoils what comes after it. It must
// not do worse than that.
func TestNearAnObjectThatWasChanged(t *testing.T) {
	for pod := range objects.New(objects.Options{Seed: 1}).Pods(20) {
		raw, err := pod.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		next := pod.DeepCopy()
		next.Spec.Containers[0].Image = "another"
		after, err := next.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		old := pod.DeepCopy()
		old.Spec.Containers, old.Labels, old.Spec.SecurityContext = nil, nil, nil
		var got corev1.Pod
		if _, err := ProtobufNear(after, &got, Near{Object: old, Raw: raw}); err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(got.Spec.Containers, next.Spec.Containers) {
			t.Fatalf("%s: the containers differ", pod.Name)
		}
	}
}

func FuzzProtobuf(f *testing.F) {
	types := kinds(f)
	var seed []byte
	for pod := range objects.New(objects.Options{Seed: 1}).Pods(3) {
		raw, err := pod.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
		seed = raw
	}
	pod := reflect.TypeFor[corev1.Pod]()
	f.Fuzz(func(t *testing.T, raw []byte) {
		same(t, pod, raw)
		sameNear(t, pod, raw, seed)
		sameNear(t, pod, seed, raw)
		if new(corev1.Pod).Unmarshal(raw) == nil {
			sameUnified(t, pod, seed, raw)
			sameUnified(t, pod, raw, seed)
		}
		if len(raw) > 0 {
			same(t, types[int(raw[0])%len(types)], raw[1:])
		}
	})
}

func BenchmarkPod(b *testing.B) {
	pods := slices.Collect(objects.New(objects.Options{Seed: 1}).Pods(4000))
	slices.SortFunc(pods, func(x, y *corev1.Pod) int { // as a server lists them
		return strings.Compare(x.Namespace+"/"+x.Name, y.Namespace+"/"+y.Name)
	})
	var raws [][]byte
	for _, pod := range pods {
		raw, err := pod.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		raws = append(raws, raw)
	}
	for _, way := range []struct {
		name   string
		decode func([]byte, *corev1.Pod) error
	}{
		{"generated", func(raw []byte, p *corev1.Pod) error { return p.Unmarshal(raw) }},
		{"plan", func(raw []byte, p *corev1.Pod) error { return Protobuf(raw, p) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := way.decode(raws[i%len(raws)], &corev1.Pod{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("copied", func(b *testing.B) { // no decoder can do better: the memory is needed
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			pods[i%len(pods)].DeepCopy()
		}
	})
	b.Run("its next state", func(b *testing.B) {
		b.ReportAllocs()
		var old []*corev1.Pod
		var next [][]byte
		for i, raw := range raws {
			pod := &corev1.Pod{}
			if err := Protobuf(raw, pod); err != nil {
				b.Fatal(err)
			}
			old = append(old, pod)
			pod = pod.DeepCopy()
			pod.ResourceVersion = "12345678"
			pod.Status.Conditions[0].Status = "Unknown"
			raws[i], _ = pods[i].Marshal()
			raw, _ = pod.Marshal()
			next = append(next, raw)
		}
		for i := 0; b.Loop(); i++ {
			i %= len(raws)
			if _, err := ProtobufNear(next[i], &corev1.Pod{}, Near{Object: old[i], Raw: raws[i]}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("the next pod", func(b *testing.B) {
		b.ReportAllocs()
		last := Near{Object: &corev1.Pod{}}
		for i := 0; b.Loop(); i++ {
			pod := &corev1.Pod{}
			if _, err := ProtobufNear(raws[i%len(raws)], pod, last); err != nil {
				b.Fatal(err)
			}
			last = Near{Object: pod, Raw: raws[i%len(raws)]}
		}
	})
}

// TestOwnMemory: an object that shares the elements of a long slice with its neighbour
// has an array of its own for them.
func TestOwnMemory(t *testing.T) {
	const n = 1000
	e := &corev1.Endpoints{Subsets: []corev1.EndpointSubset{{Addresses: make([]corev1.EndpointAddress, n)}}}
	for i := range n {
		e.Subsets[0].Addresses[i].IP = "10.0.0.1"
	}
	before, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	e.Subsets[0].Addresses[n/2].IP = "10.0.0.2"
	after, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var old, now corev1.Endpoints
	if err := Protobuf(before, &old); err != nil {
		t.Fatal(err)
	}
	own, err := ProtobufNear(after, &now, Near{Object: &old, Raw: before})
	if err != nil {
		t.Fatal(err)
	}
	if array := n * int(reflect.TypeFor[corev1.EndpointAddress]().Size()); own < array || own > array+array/10 {
		t.Errorf("it has %d bytes of its own, want a little more than the %d of its array", own, array)
	}
}

// TestOddOrders: what no generated code writes costs no more than what it is decoded
// into.
func TestOddOrders(t *testing.T) {
	const n = 10_000
	for name, c := range map[string]struct {
		raw []byte
		obj func() Message
	}{
		"fields in turns": {bytes.Repeat([]byte{0x72, 1, 'a', 0x38, 1}, n), func() Message { return &metav1.ObjectMeta{} }}, // a finalizer, a generation
		"one key for all": {bytes.Repeat([]byte{0x12, 0}, n), func() Message { return &corev1.ConfigMap{} }},
		"one resource":    {bytes.Repeat([]byte{0x0a, 0}, n), func() Message { return &corev1.NodeStatus{} }},
	} {
		t.Run(name, func(t *testing.T) {
			want, got := c.obj(), c.obj()
			if err := want.Unmarshal(c.raw); err != nil {
				t.Fatal(err)
			}
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			if err := Protobuf(c.raw, got); err != nil {
				t.Fatal(err)
			}
			goruntime.ReadMemStats(&after)
			if !equality.Semantic.DeepEqual(want, got) {
				t.Error("other values")
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
				t.Errorf("%d bytes were allocated for %d", n, len(c.raw))
			}
			if held := heldBy(func() any { o := c.obj(); _ = Protobuf(c.raw, o); return o }); held > 512<<10 {
				t.Errorf("%d bytes are held for %d", held, len(c.raw))
			}
		})
	}
}

// heldBy is what something holds that a function makes.
func heldBy(f func() any) int64 {
	size := func() int64 {
		var m goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := size()
	o := f()
	after := size()
	goruntime.KeepAlive(o)
	return after - before
}
