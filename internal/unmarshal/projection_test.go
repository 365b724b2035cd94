package unmarshal

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/internal/objects"
)

// named yields the fields of a struct with their names in JSON, those that are inlined
// included.
func named(t reflect.Type, index []int, visit func(name string, index []int, typ reflect.Type)) {
	for i := range t.NumField() {
		sf := t.Field(i)
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		at := append(append([]int{}, index...), i)
		switch {
		case sf.Type == typeMetaType || name == "-":
		case name == "" && sf.Anonymous:
			named(sf.Type, at, visit)
		default:
			visit(name, at, sf.Type)
		}
	}
}

// somePart returns a struct of some fields of another one.
func somePart(r *rand.Rand, whole reflect.Type, depth int) reflect.Type {
	var fields []reflect.StructField
	named(whole, nil, func(name string, _ []int, typ reflect.Type) {
		if r.IntN(2) == 0 || typ.Kind() == reflect.Map && mapOf(typ).op == skip {
			return
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("F", len(fields)), Type: somewhatLike(r, typ, depth), Tag: reflect.StructTag(fmt.Sprintf(`json:"%s"`, name)),
		})
	})
	return reflect.StructOf(fields)
}

// somewhatLike returns a type that a field can be read into.
func somewhatLike(r *rand.Rand, t reflect.Type, depth int) reflect.Type {
	switch {
	case depth > 4 || r.IntN(5) == 0:
		return t
	case t.Kind() == reflect.Pointer && r.IntN(2) == 0:
		return somewhatLike(r, t.Elem(), depth)
	case t.Kind() == reflect.Pointer:
		return reflect.PointerTo(somewhatLike(r, t.Elem(), depth))
	case isOwn(t):
		return t
	case t.Kind() == reflect.Struct:
		return somePart(r, t, depth+1)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return reflect.SliceOf(somewhatLike(r, t.Elem(), depth))
	case t.Kind() == reflect.String:
		return reflect.TypeFor[string]()
	}
	return t
}

// pick copies to part what a whole object has of it.
func pick(part, whole reflect.Value) {
	if part.Type() == whole.Type() {
		part.Set(whole)
		return
	}
	if whole.Kind() == reflect.Pointer {
		if whole.IsNil() {
			return
		}
		if part.Kind() == reflect.Pointer {
			part.Set(reflect.New(part.Type().Elem()))
			part = part.Elem()
		}
		pick(part, whole.Elem())
		return
	}
	switch part.Kind() {
	case reflect.Struct:
		places := map[string][]int{}
		named(whole.Type(), nil, func(name string, index []int, _ reflect.Type) { places[name] = index })
		for i := range part.NumField() {
			pick(part.Field(i), whole.FieldByIndex(places[part.Type().Field(i).Tag.Get("json")]))
		}
	case reflect.Slice:
		if whole.IsNil() {
			return
		}
		part.Set(reflect.MakeSlice(part.Type(), whole.Len(), whole.Len()))
		for i := range whole.Len() {
			pick(part.Index(i), whole.Index(i))
		}
	default:
		part.Set(whole.Convert(part.Type()))
	}
}

// TestEveryKindIsProjected: of every type of client-go's scheme, filled at random, random
// parts are what the whole has, from protobuf and from JSON.
func TestEveryKindIsProjected(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	for _, typ := range kinds(t) {
		if planOf(typ) == nil {
			continue
		}
		for range 4 {
			part := somePart(r, typ, 0)
			p, err := NewProjection(part, typ)
			if err != nil {
				t.Fatal(err)
			}
			for range 4 {
				obj := reflect.New(typ)
				fill(r, obj.Elem(), 0)
				raw, err := obj.Interface().(encoder).Marshal()
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(obj.Interface())
				if err != nil {
					t.Fatal(err)
				}
				projected(t, p, part, typ, raw)
				projected(t, p, part, typ, damage(r, raw))
				whole, want, got := reflect.New(typ), reflect.New(part), reflect.New(part)
				if err := JSONInto(text, whole.Interface()); err != nil {
					t.Fatal(err)
				}
				pick(want.Elem(), whole.Elem())
				if err := JSONInto(text, got.Interface()); err != nil || !reflect.DeepEqual(want.Interface(), got.Interface()) {
					t.Fatalf("%s of %s from JSON: %v\n got %+v\nwant %+v", part, typ, err, got.Elem(), want.Elem())
				}
			}
		}
	}
}

// projected compares what is read of protobuf with what the whole has.
func projected(t *testing.T, p *Projection, part, typ reflect.Type, raw []byte) {
	t.Helper()
	whole, want, got := reflect.New(typ), reflect.New(part), reflect.New(part)
	if whole.Interface().(Message).Unmarshal(raw) != nil {
		return // a part may be whole
	}
	pick(want.Elem(), whole.Elem())
	if err := p.Read(raw, got.Interface()); err != nil || !reflect.DeepEqual(want.Interface(), got.Interface()) {
		t.Fatalf("%s of %s from %x: %v\n got %+v\nwant %+v", part, typ, raw, err, got.Elem(), want.Elem())
	}
}

// TestWhatDoesNotFit: errors say what does not, and what would.
func TestWhatDoesNotFit(t *testing.T) {
	type noField struct {
		Spec struct {
			Node string `json:"nodename"`
		} `json:"spec"`
	}
	type wrongType struct {
		Spec struct {
			Containers []struct {
				Ports []struct {
					Number string `json:"containerPort"`
				} `json:"ports"`
			} `json:"containers"`
		} `json:"spec"`
	}
	type pointerToValue struct {
		Spec struct {
			Node *string `json:"nodeName"`
		} `json:"spec"`
	}
	type ownTime struct {
		Meta struct {
			At struct{ Seconds int64 } `json:"creationTimestamp"`
		} `json:"metadata"`
	}
	type quoted struct {
		Meta struct {
			N int64 `json:"generation,string"`
		} `json:"metadata"`
	}
	type named struct {
		Name string `json:"name"`
	}
	type twice struct {
		Meta struct {
			named
			Name string `json:"name"`
		} `json:"metadata"`
	}
	type embeddedPointer struct {
		Meta struct{ *named } `json:"metadata"`
	}
	type ownValues struct {
		Meta struct {
			Labels map[string]shouted `json:"labels"`
		} `json:"metadata"`
	}
	type ownKeys struct {
		Meta struct {
			Labels map[shouted]string `json:"labels"`
		} `json:"metadata"`
	}
	type promoted struct {
		metav1.Time
	}
	for part, want := range map[reflect.Type]string{
		reflect.TypeFor[twice]():           `metadata.name: the name is used twice`,
		reflect.TypeFor[embeddedPointer](): `metadata.named: an embedded pointer is not served`,
		reflect.TypeFor[ownValues]():       `metadata.labels: a map[string]unmarshal.shouted cannot be read from a map[string]string`,
		reflect.TypeFor[ownKeys]():         `metadata.labels: a map[unmarshal.shouted]string cannot be read from a map[string]string`,
		reflect.TypeFor[promoted]():        `has a method that reads it from JSON`,
		reflect.TypeFor[noField]():         `spec.nodename: v1.PodSpec has no such field; did you mean nodeName?`,
		reflect.TypeFor[wrongType]():       `spec.containers.ports.containerPort: a string cannot be read from a int32`,
		reflect.TypeFor[pointerToValue]():  `spec.nodeName: a *string cannot be read from a string`,
		reflect.TypeFor[ownTime]():         `metadata.creationTimestamp: a struct { Seconds int64 } cannot be read from a v1.Time`,
		reflect.TypeFor[quoted]():          `metadata.generation: the option "string" is not served`,
	} {
		if _, err := NewProjection(part, reflect.TypeFor[corev1.Pod]()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}

// shouted reads itself.
type shouted string

func (s *shouted) UnmarshalText(text []byte) error {
	*s = shouted(strings.ToUpper(string(text)))
	return nil
}

// metadataOf is embedded under a name.
type metadataOf struct {
	Name string `json:"name"`
}

// TestEmbeddedFields: they are read as JSON reads them.
func TestEmbeddedFields(t *testing.T) {
	type specOf struct {
		Spec struct {
			NodeName string `json:"nodeName"`
		} `json:"spec"`
	}
	type part struct {
		metadataOf `json:"metadata"`
		specOf
		unread int
	}
	p, err := NewProjection(reflect.TypeFor[part](), reflect.TypeFor[corev1.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{NodeName: "n"}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var got part
	if err := p.Read(raw, &got); err != nil || got.Name != "a" || got.Spec.NodeName != "n" || got.unread != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Two types that contain each other, of which one has a field that no plan has.
type (
	knot struct {
		Loop *loop `protobuf:"bytes,1,opt,name=loop" json:"loop"`
	}
	loop struct {
		Knot *knot         `protobuf:"bytes,1,opt,name=knot" json:"knot"`
		Odd  map[int]int64 `protobuf:"bytes,2,opt,name=odd" json:"odd"`
	}
	holder struct {
		Loop *loop `protobuf:"bytes,1,opt,name=loop" json:"loop"`
		Knot *knot `protobuf:"bytes,2,opt,name=knot" json:"knot"`
	}
)

func (*knot) Unmarshal([]byte) error     { return nil }
func (*loop) Unmarshal([]byte) error     { return nil }
func (*holder) Unmarshal([]byte) error   { return nil }
func (*holder) Marshal() ([]byte, error) { return nil, nil }

// TestPartsOfWhatIsLeftToOthers: they are refused, and not read in vain.
func TestPartsOfWhatIsLeftToOthers(t *testing.T) {
	type part struct {
		Knot *knot `json:"knot"`
	}
	if _, err := NewProjection(reflect.TypeFor[part](), reflect.TypeFor[holder]()); err == nil || !strings.Contains(err.Error(), "only be read with the whole") {
		t.Errorf("%v", err)
	}
}

// podLite has four fields of a pod.
type podLite struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Image string `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase corev1.PodPhase `json:"phase"`
	} `json:"status"`
}

// TestInlinedFields: what is inlined in JSON is a message of its own in protobuf.
func TestInlinedFields(t *testing.T) {
	type lite struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Volumes []struct {
				Name     string `json:"name"`
				HostPath *struct {
					Path string `json:"path"`
				} `json:"hostPath"`
				Secret struct {
					Name string `json:"secretName"`
				} `json:"secret"`
			} `json:"volumes"`
			Containers []struct {
				Probe struct {
					HTTP struct {
						Port intstr.IntOrString `json:"port"`
					} `json:"httpGet"`
					Every int32 `json:"periodSeconds"`
				} `json:"livenessProbe"`
				Resources struct {
					Limits map[string]resource.Quantity `json:"limits"`
				} `json:"resources"`
			} `json:"containers"`
		} `json:"spec"`
	}
	p, err := NewProjection(reflect.TypeFor[lite](), reflect.TypeFor[corev1.Pod]())
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"b": "c"}}, Spec: corev1.PodSpec{
		Volumes: []corev1.Volume{
			{Name: "v", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/p"}}},
			{Name: "w", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
		},
		Containers: []corev1.Container{{
			LivenessProbe: &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}},
				PeriodSeconds: 5,
			},
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("2")}},
		}},
	}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var got, want lite
	if err := p.Read(raw, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) || got.Spec.Volumes[0].HostPath.Path != "/p" || got.Spec.Containers[0].Probe.HTTP.Port.IntVal != 80 {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// BenchmarkProjection compares a whole pod with four fields of it.
func BenchmarkProjection(b *testing.B) {
	var raws [][]byte
	for pod := range objects.New(objects.Options{Seed: 1}).Pods(2000) {
		raw, err := pod.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		raws = append(raws, raw)
	}
	p, err := NewProjection(reflect.TypeFor[podLite](), reflect.TypeFor[corev1.Pod]())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if err := Protobuf(raws[i%len(raws)], &corev1.Pod{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("four fields", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if err := p.Read(raws[i%len(raws)], &podLite{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
