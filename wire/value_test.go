package wire

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinform/kinform/internal/objects"
)

// message is a generated type.
type message interface{ Marshal() ([]byte, error) }

// read reads a value in one of the ways that there are, and whether there is one.
func (p Path) read(kind Kind, f Format, raw []byte) (v any, found bool) {
	switch kind {
	case Text:
		v, found = p.Text(f, raw)
	case Number:
		v, found = p.Number(f, raw)
	case Bool:
		v, found = p.Bool(f, raw)
	case Time:
		v, found = p.Time(f, raw)
	case Map:
		m := p.Map(f, raw)
		v, found = m, m != nil
	case Texts:
		all, err := p.Values(nil, f, raw)
		v, found = all, len(all) > 0 && err == nil
	}
	return v, found
}

// kindOfGo returns the kind of a Go value.
func kindOfGo(v any) Kind {
	switch v.(type) {
	case string:
		return Text
	case int64:
		return Number
	case bool:
		return Bool
	case time.Time:
		return Time
	case map[string]string:
		return Map
	}
	return Texts
}

// agree has a value read in all ways: typed from both encodings, and untyped from JSON.
func agree(t *testing.T, obj message, path string, want any, there bool) {
	t.Helper()
	raw, err := obj.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	kind := kindOfGo(want)
	p, err := ParseValue(path, reflect.TypeOf(obj).Elem(), kind)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := ParseValue(path, nil, kind)
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]struct {
		Path
		Format
		raw []byte
	}{"protobuf": {p, Protobuf, raw}, "JSON": {p, JSON, text}, "JSON of no type": {untyped, JSON, text}} {
		got, found := from.read(kind, from.Format, from.raw)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s in %s: %#v, want %#v", path, name, got, want)
		}
		if found != there && !from.Path.isUntypedZero(want) {
			t.Errorf("%s in %s is found: %t, want %t", path, name, found, there)
		}
	}
}

// isUntypedZero: without a type, a zero that is written counts as there.
func (p Path) isUntypedZero(v any) bool {
	return p.leaf() == 0 && reflect.ValueOf(v).IsZero()
}

// TestValuesAreTheObjects: what is read from the bytes is what the decoded object has.
func TestValuesAreTheObjects(t *testing.T) {
	for pod := range objects.New(objects.Options{Seed: 7}).Pods(100) {
		agree(t, pod, "spec.nodeName", pod.Spec.NodeName, pod.Spec.NodeName != "")
		agree(t, pod, "status.phase", string(pod.Status.Phase), true)
		agree(t, pod, "metadata.generation", pod.Generation, pod.Generation != 0)
		agree(t, pod, "metadata.creationTimestamp", pod.CreationTimestamp.Time.Local(), true)
		agree(t, pod, "metadata.labels", maps.Clone(pod.Labels), len(pod.Labels) > 0)
		agree(t, pod, "spec.hostNetwork", pod.Spec.HostNetwork, pod.Spec.HostNetwork)
		name, there := pod.Labels["app.kubernetes.io/name"]
		agree(t, pod, "metadata.labels['app.kubernetes.io/name']", name, there)
		var ready string
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady {
				ready = string(c.Status)
			}
		}
		agree(t, pod, `status.conditions[?(@.type=="Ready")].status`, ready, ready != "")
		first := pod.Spec.Containers[0]
		if cpu, there := first.Resources.Requests["cpu"]; there {
			agree(t, pod, "spec.containers[?(@.name=='"+first.Name+"')].resources.requests.cpu", cpu.String(), true)
		}
		var images []string
		for _, c := range pod.Spec.Containers {
			images = append(images, c.Image)
		}
		agree(t, pod, "spec.containers.image", images, true)
	}
}

func ptr[T any](v T) *T { return &v }

// TestValuesThatAreZero: a pointer to zero is there, and nil and a plain zero are not.
func TestValuesThatAreZero(t *testing.T) {
	agree(t, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr[int32](0)}}, "spec.replicas", int64(0), true)
	agree(t, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: ptr[int32](-7)}}, "spec.replicas", int64(-7), true)
	agree(t, &appsv1.Deployment{}, "spec.replicas", int64(0), false)
	agree(t, &appsv1.Deployment{}, "status.replicas", int64(0), false)
	agree(t, &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: ptr("")}}, "spec.storageClassName", "", true)
	agree(t, &corev1.PersistentVolumeClaim{}, "spec.storageClassName", "", false)
	agree(t, &corev1.ConfigMap{Immutable: ptr(false)}, "immutable", false, true)
	agree(t, &corev1.ConfigMap{}, "immutable", false, false)
	agree(t, &corev1.ConfigMap{}, "metadata.creationTimestamp", time.Time{}, false)
	agree(t, &corev1.ConfigMap{}, "metadata.deletionTimestamp", time.Time{}, false)
	agree(t, &corev1.ConfigMap{Data: map[string]string{"a": ""}}, "data.a", "", true)
	agree(t, &corev1.ConfigMap{Data: map[string]string{"a": ""}}, "data.b", "", false)
	agree(t, &corev1.ConfigMap{}, "data", map[string]string(nil), false)
	surge := intstr.FromString("25%")
	agree(t, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
		MaxSurge: &surge, MaxUnavailable: ptr(intstr.FromInt32(3)),
	}}}}, "spec.strategy.rollingUpdate.maxSurge", "25%", true)
	agree(t, &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
		MaxUnavailable: ptr(intstr.FromInt32(3)),
	}}}}, "spec.strategy.rollingUpdate.maxUnavailable", "3", true)
	agree(t, &corev1.Node{Status: corev1.NodeStatus{Capacity: corev1.ResourceList{"cpu": resource.MustParse("8")}}}, "status.capacity",
		map[string]string{"cpu": "8"}, true)
	micro := time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.Local)
	agree(t, &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: micro}}}, "spec.renewTime", micro, true)
	agree(t, &corev1.ConfigMap{Data: map[string]string{"ä\n": "\"quoted\"\u2028"}}, "data['ä\n']", "\"quoted\"\u2028", true)
}

// TestNanoseconds: those of a metav1.Time do not count, whoever wrote them.
func TestNanoseconds(t *testing.T) {
	stamp, err := (&metav1.Timestamp{Seconds: 1700000000, Nanos: 123456789}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{}
	for path, raw := range map[string][]byte{
		"metadata.creationTimestamp": append([]byte{1<<3 | wireBytes, byte(len(stamp) + 2), 8<<3 | wireBytes, byte(len(stamp))}, stamp...),
		"spec.renewTime":             append([]byte{2<<3 | wireBytes, byte(len(stamp) + 2), 4<<3 | wireBytes, byte(len(stamp))}, stamp...),
	} {
		if err := lease.Unmarshal(raw); err != nil {
			t.Fatal(err)
		}
		p, err := ParseValue(path, reflect.TypeOf(*lease), Time)
		if err != nil {
			t.Fatal(err)
		}
		want := lease.CreationTimestamp.Time
		if path == "spec.renewTime" {
			want = lease.Spec.RenewTime.Time
		}
		if got, ok := p.Time(Protobuf, raw); !ok || !got.Equal(want) || want.IsZero() {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// TestHas: the same is there in both encodings.
func TestHas(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": ""}},
		Spec:       corev1.PodSpec{Affinity: &corev1.Affinity{}, Containers: []corev1.Container{{Name: "c"}, {Name: "d", Image: "i"}}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "False"}}},
	}
	raw, _ := pod.Marshal()
	text, _ := json.Marshal(pod)
	for path, want := range map[string]bool{
		"metadata.name": true, "metadata.namespace": false, "metadata.labels": true, "metadata.labels.a": true, "metadata.labels.b": false,
		"metadata.annotations": false, "metadata.deletionTimestamp": false, "metadata.creationTimestamp": false, "spec": true,
		"spec.affinity": true, "spec.affinity.podAffinity": false, "spec.containers": true, "spec.containers.image": true,
		"spec.containers.env": false, "spec.initContainers": false, "spec.hostNetwork": false,
		`spec.containers[?(@.name=="c")].image`: false, `spec.containers[?(@.name=="d")].image`: true,
		`status.conditions[?(@.type=="Ready")]`: true, `status.conditions[?(@.type=="Other")]`: false,
	} {
		p, err := ParsePart(path, reflect.TypeFor[corev1.Pod]())
		if err != nil {
			t.Fatal(err)
		}
		if p.Has(Protobuf, raw) != want || p.Has(JSON, text) != want {
			t.Errorf("%s: %t in protobuf and %t in JSON, want %t", path, p.Has(Protobuf, raw), p.Has(JSON, text), want)
		}
	}
}

// TestReadingAllocatesNothing but strings and maps.
func TestReadingAllocatesNothing(t *testing.T) {
	pod := slices.Collect(objects.New(objects.Options{Seed: 7}).Pods(1))[0]
	raw, _ := pod.Marshal()
	text, _ := json.Marshal(pod)
	for path, kind := range map[string]Kind{
		"spec.nodeName": Text, "metadata.generation": Number, "spec.enableServiceLinks": Bool, "metadata.creationTimestamp": Time,
		`status.conditions[?(@.type=="Ready")].status`: Text, "metadata.labels.app": Text,
	} {
		p, err := ParseValue(path, reflect.TypeOf(*pod), kind)
		if err != nil {
			t.Fatal(err)
		}
		most := 0.0
		if kind == Text {
			most = 1
		}
		for format, raw := range map[Format][]byte{Protobuf: raw, JSON: text} {
			n := testing.AllocsPerRun(100, func() {
				switch kind {
				case Text:
					p.Text(format, raw)
				case Number:
					p.Number(format, raw)
				case Bool:
					p.Bool(format, raw)
				case Time:
					p.Time(format, raw)
				}
				p.Has(format, raw)
			})
			if n > most {
				t.Errorf("%s in %v: %v allocations", path, format, n)
			}
		}
	}
}

// TestValuesThatDoNotFit: the error says what would.
func TestValuesThatDoNotFit(t *testing.T) {
	for _, test := range []struct {
		path string
		kind Kind
		want string
	}{
		{"spec.nodename", Text, `v1.PodSpec has no field "nodename"; did you mean nodeName?`},
		{"spec.nodeName", Number, "is read as a string and not as an int64"},
		{"metadata.generation", Text, "is read as an int64"},
		{"metadata.labels", Text, "is read as a map[string]string"},
		{"metadata.creationTimestamp", Text, "is read as a time.Time"},
		{"spec.containers.image", Text, "leads through the list containers, so it is read as a []string"},
		{"spec.containers", Texts, "cannot be read on its own"},
		{"spec", Map, "cannot be read on its own"},
		{`spec.nodeName[?(@.a=="b")]`, Text, "not a list"},
		{`status.conditions[?(@.typ=="Ready")].status`, Text, `no field "typ"; did you mean type?`},
		{`status.conditions[?(@.lastProbeTime=="x")].status`, Text, "not a text"},
		{`spec.ephemeralContainers[?(@.name=="x")].image`, Text, "cannot be chosen by name, which is inlined in JSON"},
		{`status.conditions[?(@.type=Ready)].status`, Text, "is not a condition such as"},
		{`status.conditions[?(@.type=="Ready"`, Text, "is not a condition such as"},
	} {
		if _, err := ParseValue(test.path, reflect.TypeFor[corev1.Pod](), test.kind); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want something about %q", test.path, err, test.want)
		}
	}
}

// TestValuesOfAnotherType, in objects whose type is not known, are none.
func TestValuesOfAnotherType(t *testing.T) {
	for text, want := range map[string][5]bool{ // text, number, bool, time, map
		`{"a":{"b":"x"}}`: {true}, `{"a":{"b":7}}`: {true, true}, `{"a":{"b":true}}`: {2: true}, `{"a":{"b":1.5}}`: {true},
		`{"a":{"b":{"k":"v"}}}`: {4: true}, `{"a":{"b":["x"]}}`: {}, `{"a":[{"b":"x"}]}`: {}, `{"a":{"b":null}}`: {}, `{"a":3}`: {}, `{}`: {},
		`{"a":{"b":"2026-01-02T03:04:05Z"}}`: {true, false, false, true}, `{"a":{"b":"x"}`: {}, `{"a":{"b":"x"},"c"}`: {},
	} {
		p, err := ParseValue("a.b", nil, Text)
		if err != nil {
			t.Fatal(err)
		}
		for i, kind := range []Kind{Text, Number, Bool, Time, Map} {
			if v, found := p.read(kind, JSON, []byte(text)); found != want[i] {
				t.Errorf("%s as %s: %v, %t", text, kind, v, found)
			}
		}
	}
}

// TestTextsThatAreZero: JSON leaves out what protobuf has, so that both have none.
func TestTextsThatAreZero(t *testing.T) {
	replicas := new(int32)
	d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: replicas}}
	raw, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]string{"status.replicas": nil, "spec.paused": nil, "spec.replicas": {"0"}} {
		p, err := ParseValue(path, reflect.TypeFor[appsv1.Deployment](), Texts)
		if err != nil {
			t.Fatal(err)
		}
		for text, f := range map[string]Format{string(raw): Protobuf, `{"spec":{"replicas":0}}`: JSON, `{"spec":{"paused":false,"replicas":0},"status":{"replicas":0}}`: JSON} {
			if got, err := p.Values(nil, f, []byte(text)); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q, %v, want %q", path, f, got, err, want)
			}
		}
	}
}

// TestZeroPath leads nowhere.
func TestZeroPath(t *testing.T) {
	var p Path
	for f, raw := range map[Format]string{JSON: `"x"`, Protobuf: "\x0a\x01x"} {
		for kind := Text; kind <= Texts; kind++ {
			if v, found := p.read(kind, f, []byte(raw)); found {
				t.Errorf("%s, as %s: %v", f, kind, v)
			}
		}
		if is, ok := p.Is(f, []byte(raw), "x"); is || !ok {
			t.Errorf("%s: is x %t, %t", f, is, ok)
		}
	}
}

// FuzzValues: what can be decoded gives the values that it has when it is decoded.
func FuzzValues(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for pod := range objects.New(objects.Options{Seed: 3}).Pods(2) {
		pod.Spec.Containers = pod.Spec.Containers[:1]
		pod.Generation = r.Int64()
		pod.ManagedFields = nil
		raw, err := pod.Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	parse := func(path string, kind Kind) Path {
		p, err := ParseValue(path, reflect.TypeFor[corev1.Pod](), kind)
		if err != nil {
			f.Fatal(err)
		}
		return p
	}
	node, generation := parse("spec.nodeName", Text), parse("metadata.generation", Number)
	grace, created := parse("spec.terminationGracePeriodSeconds", Number), parse("metadata.creationTimestamp", Time)
	ready := parse(`status.conditions[?(@.type=="Ready")].status`, Text)
	f.Fuzz(func(t *testing.T, raw []byte) {
		pod := &corev1.Pod{}
		readable := pod.Unmarshal(raw) == nil
		name, _ := node.Text(Protobuf, raw)
		number, _ := generation.Number(Protobuf, raw)
		seconds, has := grace.Number(Protobuf, raw)
		began, _ := created.Time(Protobuf, raw)
		ready.Text(Protobuf, raw)
		for _, p := range []Path{node, generation, grace, created, ready} {
			for _, kind := range []Kind{Text, Number, Bool, Time, Map, Texts} {
				p.read(kind, JSON, raw)
			}
			p.Has(JSON, raw)
			p.Has(Protobuf, raw)
		}
		if !readable {
			return
		}
		if name != pod.Spec.NodeName || number != pod.Generation || !began.Equal(pod.CreationTimestamp.Time) {
			t.Errorf("node %q, generation %d, created %v; want %q, %d, %v", name, number, began, pod.Spec.NodeName, pod.Generation, pod.CreationTimestamp)
		}
		if p := pod.Spec.TerminationGracePeriodSeconds; has != (p != nil) || has && seconds != *p {
			t.Errorf("grace %d, %t; want %v", seconds, has, p)
		}
	})
}
