package encode

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/objects"
	"github.com/kinform/kinform/wire"
)

// Types of custom resources, as programs write them.
type (
	// plain has nothing special.
	plain struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Spec              plainSpec `json:"spec"`
	}
	plainSpec struct {
		Size  *int32             `json:"size,omitempty"`
		Parts []string           `json:"parts,omitempty"`
		All   []string           `json:"all"`
		By    map[string]float64 `json:"by,omitempty"`
		Any   *bool              `json:"any,omitempty"`
	}
	// secretive has a field that nobody else sees.
	secretive struct {
		plain
		seen int
	}
	// lossy writes less than it has.
	lossy struct {
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Text              shortened `json:"text"`
	}
	shortened string
	// broken does something else with JSON.
	broken struct {
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Do                doing `json:"do"`
	}
	doing func()
	// reading fails when it is read.
	reading struct {
		metav1.ObjectMeta `json:"metadata,omitempty"`
		Do                read `json:"do"`
	}
	read string
)

func (s shortened) MarshalJSON() ([]byte, error) { return json.Marshal(string(s[:1])) }
func (d doing) MarshalJSON() ([]byte, error)     { d(); return nil, errors.New("no") }

func (r *read) UnmarshalJSON(b []byte) error {
	if string(b) == `"panic"` {
		panic("it is read")
	}
	return errors.New("it cannot be read")
}

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := served(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "ns", UID: "u", ResourceVersion: "7", Labels: map[string]string{"app": "web"},
			CreationTimestamp: metav1.Unix(1e9, 0),
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Env: []corev1.EnvVar{{Name: "A", Value: "<&>"}}}}},
	})
	for _, f := range change {
		f(p)
	}
	return p
}

// served returns a pod as a client makes it of what a server sends.
func served(p *corev1.Pod) *corev1.Pod {
	raw, err := p.Marshal()
	if err != nil {
		panic(err)
	}
	var back corev1.Pod
	if err := back.Unmarshal(raw); err != nil {
		panic(err)
	}
	return &back
}

// sized returns a pod with a quantity that does not know its text.
func sized() *corev1.Pod {
	limit := resource.MustParse("128Mi")
	return pod(func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}}
	})
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, UID: "u", ResourceVersion: "7"}
}

func fields(extra map[string]any) *unstructured.Unstructured {
	all := map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "uid": "u"}}
	for k, v := range extra {
		all[k] = v
	}
	return &unstructured.Unstructured{Object: all}
}

var (
	kind = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	five = int32(5)
)

// TestSurvivors: objects that come back as they were, and in which format.
func TestSurvivors(t *testing.T) {
	for name, c := range map[string]struct {
		obj  any
		want wire.Format
	}{
		"of client-go's types":         {pod(), wire.Protobuf},
		"with its kind":                {pod(func(p *corev1.Pod) { p.TypeMeta = kind }), wire.Protobuf},
		"with an odd kind":             {pod(func(p *corev1.Pod) { p.APIVersion = "a/b/c" }), wire.Protobuf},
		"with a long kind":             {pod(func(p *corev1.Pod) { p.Kind = string(make([]byte, 200)) }), wire.JSON},
		"empty, where JSON shows it":   {pod(func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{} }), wire.JSON},
		"a quantity without its text":  {sized(), wire.Protobuf},
		"metadata":                     {&metav1.PartialObjectMetadata{ObjectMeta: pod().ObjectMeta}, wire.Protobuf},
		"metadata with its kind":       {&metav1.PartialObjectMetadata{TypeMeta: kind, ObjectMeta: pod().ObjectMeta}, wire.Protobuf},
		"a custom type":                {&plain{ObjectMeta: meta("a"), Spec: plainSpec{Size: &five, By: map[string]float64{"x": 0.5}}}, wire.JSON},
		"a custom type with its kind":  {&plain{TypeMeta: kind, ObjectMeta: meta("a"), Spec: plainSpec{All: []string{}}}, wire.JSON},
		"unstructured":                 {fields(nil), wire.JSON},
		"unstructured, whole numbers":  {fields(map[string]any{"n": int64(1), "big": int64(math.MaxInt64), "low": int64(math.MinInt64)}), wire.JSON},
		"unstructured, other numbers":  {fields(map[string]any{"n": 1.0, "m": math.Copysign(0, -1), "e": 1e300, "s": 5e-324, "x": 0.1}), wire.JSON},
		"unstructured, texts":          {fields(map[string]any{"t": "\"\\\n\x00\u2028é🙂<&>", "ключ": true}), wire.JSON},
		"unstructured, nil and empty":  {fields(map[string]any{"n": nil, "m": map[string]any{}, "l": []any{}, "d": []any{nil, []any{map[string]any{}}}}), wire.JSON},
		"unstructured, without fields": {&unstructured.Unstructured{Object: map[string]any{}}, wire.JSON},
	} {
		t.Run(name, func(t *testing.T) {
			var c2 Codec
			before := deepCopy(c.obj)
			raw, f, ok := c2.Encode([]byte("before"), c.obj)
			if !ok || f != c.want {
				t.Fatalf("encoded %t, in %v, want %v", ok, f, c.want)
			}
			if string(raw[:6]) != "before" {
				t.Errorf("what was there before was changed: %q", raw[:6])
			}
			back, err := c2.shape.Load().decode(raw[6:], f)
			if err != nil || !reflect.DeepEqual(back, c.obj) {
				t.Errorf("%v came back as %v, %v", c.obj, back, err)
			}
			again, ok := c2.EncodeAs(nil, back, f)
			if !ok || string(again) != string(raw[6:]) {
				t.Errorf("an equal object has other bytes")
			}
			clear(raw)
			if !reflect.DeepEqual(before, c.obj) {
				t.Errorf("the object was changed, or its bytes are part of it")
			}
		})
	}
}

func deepCopy(obj any) any {
	switch o := obj.(type) {
	case *corev1.Pod:
		return o.DeepCopy()
	case *metav1.PartialObjectMetadata:
		return o.DeepCopy()
	case *unstructured.Unstructured:
		return o.DeepCopy()
	}
	c := *obj.(*plain)
	return &c
}

// TestOthers: objects that would not come back as they were are not encoded.
func TestOthers(t *testing.T) {
	never := &struct {
		metav1.ObjectMeta `json:"metadata"`
		C                 chan int
	}{C: make(chan int)}
	for name, obj := range map[string]any{
		"nil against empty":          pod(func(p *corev1.Pod) { p.Labels = map[string]string{} }),
		"another time zone":          pod(func(p *corev1.Pod) { p.CreationTimestamp.Time = time.Unix(1e9, 0).UTC() }),
		"a time of its own clock":    pod(func(p *corev1.Pod) { p.CreationTimestamp = metav1.Now() }),
		"a custom type, empty":       &plain{Spec: plainSpec{Parts: []string{}}},
		"not a number":               &plain{Spec: plainSpec{By: map[string]float64{"x": math.NaN()}}},
		"a field not exported":       &secretive{seen: 1},
		"its own method loses":       &lossy{Text: "text"},
		"its own method fails":       &broken{Do: func() {}},
		"its own method panics":      &broken{Do: func() { panic("no") }},
		"it cannot be read":          &reading{Do: "error"},
		"it panics when it is read":  &reading{Do: "panic"},
		"it has no end":              endless(),
		"a channel":                  never,
		"unstructured, int":          fields(map[string]any{"n": 1}),
		"unstructured, a nil map":    fields(map[string]any{"m": map[string]any(nil)}),
		"unstructured, a nil list":   fields(map[string]any{"l": []any(nil)}),
		"unstructured, texts":        fields(map[string]any{"l": []string{"a"}}),
		"unstructured, json.Number":  fields(map[string]any{"n": json.Number("1")}),
		"unstructured, not a number": fields(map[string]any{"n": math.NaN()}),
		"unstructured, infinite":     fields(map[string]any{"n": math.Inf(1)}),
		"unstructured, not UTF-8":    fields(map[string]any{"t": "\xff"}),
		"unstructured, no UTF-8 key": fields(map[string]any{"\xff": "t"}),
		"unstructured, nothing":      &unstructured.Unstructured{},
		"no object":                  (*corev1.Pod)(nil),
		"no pointer":                 *pod(),
		"no struct":                  new(int),
		"nothing":                    nil,
	} {
		t.Run(name, func(t *testing.T) {
			var c Codec
			if raw, f, ok := c.Encode(nil, obj); ok || len(raw) > 0 {
				t.Errorf("it was encoded in %v: %q", f, raw)
			}
		})
	}
}

// TestSameFields: unstructured data is compared as reflect.DeepEqual does.
func TestSameFields(t *testing.T) {
	values := []any{
		nil, true, false, int64(1), int64(2), 1.0, 1, "", "1", math.NaN(), []any(nil), []any{}, []any{nil}, []any{int64(1)}, []any{"1"},
		map[string]any(nil), map[string]any{}, map[string]any{"a": nil}, map[string]any{"b": nil}, map[string]any{"a": []any{}},
		map[string]any{"a": []any(nil)}, map[string]any{"a": map[string]any{"b": "c"}}, map[string]any{"a": map[string]any{"b": "d"}},
		map[string]string{}, []string{},
	}
	for _, a := range values {
		for _, b := range values {
			x, y := map[string]any{"v": a}, map[string]any{"v": b}
			if got, want := sameFields(x, y), reflect.DeepEqual(x, y); got != want {
				t.Errorf("%#v and %#v: %t, want %t", a, b, got, want)
			}
		}
	}
}

func endless() any {
	type node struct {
		metav1.ObjectMeta `json:"metadata"`
		Next              any
	}
	n := &node{}
	n.Next = n
	return n
}

// TestRealisticObjects: what programs have most survives whole.
func TestRealisticObjects(t *testing.T) {
	g := objects.New(objects.Options{Seed: 1})
	var pods, custom Codec
	for p := range g.Pods(50) {
		if _, f, ok := pods.Encode(nil, served(p)); !ok || f != wire.Protobuf {
			t.Errorf("%s: %t in %v", p.Name, ok, f)
		}
	}
	for o := range g.CustomResources(50) {
		if _, _, ok := custom.Encode(nil, o); !ok {
			t.Errorf("%s does not survive", o.GetName())
		}
	}
}

// TestOneType: a codec has one type, that of the first object.
func TestOneType(t *testing.T) {
	var c Codec
	if _, _, ok := c.Encode(nil, fields(nil)); !ok {
		t.Fatal("the first does not survive")
	}
	if _, _, ok := c.Encode(nil, pod()); ok {
		t.Error("an object of another type was encoded")
	}
	var d Codec
	if _, _, ok := d.Encode(nil, pod()); !ok {
		t.Fatal("the first does not survive")
	}
	if _, ok := d.EncodeAs(nil, &corev1.ConfigMap{}, wire.Protobuf); ok {
		t.Error("a config map was encoded by the codec of pods")
	}
	if _, ok := c.EncodeAs(nil, pod(), wire.Protobuf); ok {
		t.Error("an object of another type was encoded to be compared")
	}
	if _, ok := c.EncodeAs(nil, fields(nil), wire.Protobuf); ok {
		t.Error("unstructured data was encoded in protobuf")
	}
}

// counted is of a type whose own method says whether it survives.
type counted struct {
	metav1.ObjectMeta `json:"metadata"`
	Do                *count `json:"do"`
}

type count struct{ N int }

// writing is what count's method does.
var writing = func(*count) ([]byte, error) { return nil, errors.New("no") }

func (c *count) MarshalJSON() ([]byte, error) { return writing(c) }

func while(t *testing.T, f func(*count) ([]byte, error)) {
	before := writing
	writing = f
	t.Cleanup(func() { writing = before })
}

// TestTypesThatFailAreSpared: after eight objects in a row that fail, one in 64 is
// tried, until one survives.
func TestTypesThatFailAreSpared(t *testing.T) {
	var c Codec
	tried, survive := 0, false
	while(t, func(o *count) ([]byte, error) {
		tried++
		if !survive {
			return nil, errors.New("no")
		}
		type bare count
		return json.Marshal((*bare)(o))
	})
	try := func(n, want, encoded int) {
		t.Helper()
		before, good := tried, 0
		for range n {
			if _, _, ok := c.Encode(nil, &counted{Do: &count{1}}); ok {
				good++
			}
		}
		if tried-before != want || good != encoded {
			t.Errorf("%d of %d were tried and %d encoded, want %d and %d", tried-before, n, good, want, encoded)
		}
	}
	try(8, 8, 0)
	try(640, 10, 0)
	survive = true
	try(64, 1, 1)
	try(10, 10, 10)
	survive = false
	try(8, 8, 0)
	try(63, 0, 0)
}

// TestSlowTypesAreSpared: objects that take long are encoded, and soon no more are.
func TestSlowTypesAreSpared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c Codec
		while(t, func(o *count) ([]byte, error) {
			<-time.After(2 * atLeast)
			type bare count
			return json.Marshal((*bare)(o))
		})
		encoded := 0
		for range 8 + 63 {
			if _, _, ok := c.Encode(nil, &counted{Do: &count{1}}); ok {
				encoded++
			}
		}
		if encoded != 8 {
			t.Errorf("%d slow objects were encoded, want the first 8", encoded)
		}
	})
}
