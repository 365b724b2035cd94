package wire

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// checkMeta compares m with the object itself.
func checkMeta(t testing.TB, m *Meta, want metav1.Object) {
	t.Helper()
	check := func(field string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s = %q, want %q", field, got, want)
		}
	}
	check("Name", string(m.Name), want.GetName())
	check("Namespace", string(m.Namespace), want.GetNamespace())
	check("UID", string(m.UID), string(want.GetUID()))
	check("ResourceVersion", string(m.ResourceVersion), want.GetResourceVersion())
	check("Generation", fmt.Sprint(m.Generation), fmt.Sprint(want.GetGeneration()))
	check("Deleting", fmt.Sprint(m.Deleting), fmt.Sprint(!want.GetDeletionTimestamp().IsZero()))
	check("number of labels", fmt.Sprint(len(m.Labels)), fmt.Sprint(len(want.GetLabels())))
	for _, l := range m.Labels {
		value, ok := want.GetLabels()[string(l.Key)]
		if !ok {
			t.Errorf("label %q is not in the object", l.Key)
		}
		check("label "+string(l.Key), string(l.Value), value)
	}
	checkOwner(t, m, want.GetOwnerReferences())
}

func checkOwner(t testing.TB, m *Meta, owners []metav1.OwnerReference) {
	t.Helper()
	controls := func(o metav1.OwnerReference) bool { return o.Controller != nil && *o.Controller }
	want := metav1.OwnerReference{}
	if i := slices.IndexFunc(owners, controls); i >= 0 {
		want = owners[i]
	} else if len(owners) > 0 {
		want = owners[0]
	}
	o := m.Owner
	got := fmt.Sprintf("%q %q %q %q %v", o.APIVersion, o.Kind, o.Name, o.UID, o.Controller)
	if wanted := fmt.Sprintf("%q %q %q %q %v", want.APIVersion, want.Kind, want.Name, want.UID, controls(want)); got != wanted {
		t.Errorf("Owner = %s, want %s", got, wanted)
	}
}

func accessor(t testing.TB, obj runtime.Object) metav1.Object {
	t.Helper()
	a, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestScanRoundTrip(t *testing.T) {
	var m Meta // one for all, so that leftovers of the last object would show
	scan := func(f Format, obj runtime.Object) {
		t.Helper()
		if err := m.Scan(f, bare(t, f, obj)); err != nil {
			t.Fatalf("Scan %s %T: %v", f, obj, err)
		}
		checkMeta(t, &m, accessor(t, obj))
		if f == JSON {
			apiVersion, kind := obj.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
			if string(m.APIVersion) != apiVersion || string(m.Kind) != kind {
				t.Errorf("type = %q %q, want %q %q", m.APIVersion, m.Kind, apiVersion, kind)
			}
		}
	}
	for i := range 8 {
		scan(JSON, samplePod(i))
		scan(Protobuf, samplePod(i))
	}
	scan(JSON, sampleConfigMap())
	scan(Protobuf, sampleConfigMap())
	scan(JSON, sampleCustom())
	empty := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	scan(JSON, empty)
	scan(Protobuf, empty)
}

func TestScanAliases(t *testing.T) {
	for _, f := range []Format{JSON, Protobuf} {
		raw := bare(t, f, samplePod(1))
		var m Meta
		if err := m.Scan(f, raw); err != nil {
			t.Fatal(err)
		}
		m.Name[0] = 'X'
		if !bytes.Contains(raw, m.Name) {
			t.Errorf("%s: Name is a copy", f)
		}
		if cap(m.Name) != len(m.Name) {
			t.Errorf("%s: appending to Name would overwrite the object", f)
		}
	}
}

func TestScanJSON(t *testing.T) {
	show := func(m *Meta) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%s/%s %s", m.Namespace, m.Name, m.ResourceVersion)
		for _, l := range m.Labels {
			fmt.Fprintf(&b, " %s=%s", l.Key, l.Value)
		}
		if m.Deleting {
			b.WriteString(" deleting")
		}
		if m.owners > 0 {
			fmt.Fprintf(&b, " owner:%s", m.Owner.Name)
		}
		return b.String()
	}
	for _, tt := range []struct{ name, json, want string }{
		{"white space", " {\n\t\"metadata\" : { \"name\" : \"a\" ,\r\n\"namespace\":\"n\" } } \n", "n/a "},
		{"metadata last", `{"spec":{"metadata":{"name":"no"}},"metadata":{"name":"a"}}`, "/a "},
		{"escaped key", `{"meta\u0064ata":{"n\u0061me":"a"}}`, "/a "},
		{"keys differ in case", `{"Metadata":{"name":"no"},"metadata":{"Name":"no","name":"a"}}`, "/a "},
		{"escapes", `{"metadata":{"name":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude42"}}`, "/\"\\/\b\f\n\r\té🙂 "},
		{"lone surrogates", `{"metadata":{"name":"\ud83d-\ude42\ud83d\ud83d\ude42"}}`, "/\uFFFD-\uFFFD\uFFFD🙂 "},
		{"bad UTF-8", "{\"metadata\":{\"name\":\"a\xff\xc3z\"}}", "/a\uFFFD\uFFFDz "},
		{"last value wins", `{"metadata":{"name":"a","name":"b"}}`, "/b "},
		{"null keeps", `{"metadata":{"name":"a","name":null}}`, "/a "},
		{"two metadata are merged", `{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"namespace":"n","labels":{"y":"2"}},"metadata":null}`, "n/a  x=1 y=2"},
		{"last label wins", `{"metadata":{"labels":{"b":"1","a":"2","b":"3"}}}`, "/  a=2 b=3"},
		{"null label", `{"metadata":{"labels":{"a":null}}}`, "/  a="},
		{"null labels", `{"metadata":{"labels":{"a":"1"},"labels":null}}`, "/ "},
		{"deleted", `{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}}`, "/  deleting"},
		{"not deleted", `{"metadata":{"deletionTimestamp":null}}`, "/ "},
		{"deleted at zero", `{"metadata":{"deletionTimestamp":"0001-01-01T00:00:00Z"}}`, "/ "},
		{"first owner", `{"metadata":{"ownerReferences":[{"name":"a"},{"name":"b","controller":false}]}}`, "/  owner:a"},
		{"controller", `{"metadata":{"ownerReferences":[{"name":"a"},{"controller":true,"name":"b"},{"controller":true,"name":"c"}]}}`, "/  owner:b"},
		{"last owners", `{"metadata":{"ownerReferences":[{"name":"a","controller":true}],"ownerReferences":[{"name":"b"}]}}`, "/  owner:b"},
		{"empty object", `{}`, "/ "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m Meta
			if err := m.Scan(JSON, []byte(tt.json)); err != nil {
				t.Fatal(err)
			}
			if got := show(&m); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestScanJSONErrors(t *testing.T) {
	for _, tt := range []struct {
		json string
		at   int64
	}{
		{``, 0},
		{`null`, 0},
		{`[]`, 0},
		{`{"a":1}x`, 7},
		{`{"a":1,}`, 7},
		{`{"a" 1}`, 5},
		{`{"a":}`, 5},
		{`{"a":01}`, 6},
		{`{"a":[1,]}`, 8},
		{`{"a":{"b":]}}`, 10},
		{`{"a":[}]}`, 6},
		{`{"a":[1}}`, 7},
		{`{"a":{"b":1]}`, 11},
		{`{"a":[[]}]}`, 8},
		{`{"a":"\x"}`, 5},
		{`{"a":"\u12g4"}`, 5},
		{"{\"a\":\"\n\"}", 5},
		{`{"a":tru}`, 5},
		{`{"a":-}`, 5},
		{`{"a":1.}`, 5},
		{`{"a":1e}`, 5},
		{`{"a":"b`, 5},
		{`{"a"`, 4},
		{`{"kind":1}`, 8},
		{`{"metadata":[]}`, 12},
		{`{"metadata":{"name":1}}`, 20},
		{`{"metadata":{"generation":1.0}}`, 26},
		{`{"metadata":{"generation":9223372036854775808}}`, 26},
		{`{"metadata":{"labels":[]}}`, 22},
		{`{"metadata":{"labels":{"a":1}}}`, 27},
		{`{"metadata":{"ownerReferences":{}}}`, 31},
		{`{"metadata":{"ownerReferences":[1]}}`, 32},
		{`{"metadata":{"ownerReferences":[{"controller":"true"}]}}`, 46},
	} {
		var m Meta
		var syntax *SyntaxError
		if err := m.Scan(JSON, []byte(tt.json)); !errors.As(err, &syntax) {
			t.Errorf("%s: error %v, want a SyntaxError", tt.json, err)
		} else if syntax.Offset != tt.at || syntax.Format != JSON {
			t.Errorf("%s: %v, want it at byte %d", tt.json, err, tt.at)
		}
	}
}

func TestScanProtobufErrors(t *testing.T) {
	var m Meta
	for name, raw := range map[string]string{
		"field number 0":                  "\x02\x00",
		"field number 0, long":            "\x82\x00\x00",
		"end of no group":                 "\x14\x13",
		"group without end":               "\x13\x08\x01",
		"wire type 6":                     "\x16\x00",
		"wire type 7 in a group":          "\x13\x17\x14",
		"metadata cut":                    "\x0a\x05\x0a",
		"metadata is a number":            "\x08\x01",
		"fixed value cut":                 "\x11\x00\x00",
		"length of 2^64-1":                "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"length of more than ten bytes":   "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00",
		"name is a number":                "\x0a\x02\x08\x01",
		"generation is text":              "\x0a\x03\x3a\x01x",
		"label is a number":               "\x0a\x02\x58\x01",
		"label key cut":                   "\x0a\x04\x5a\x02\x0a\x05",
		"label with a field over its end": "\x0a\x0c\x5a\x01\x99\x0a\x07abcdefg",
		"owner is a number":               "\x0a\x02\x68\x01",
		"owner's name is a number":        "\x0a\x04\x6a\x02\x18\x01",
		"owner's controller is text":      "\x0a\x05\x6a\x03\x32\x01x",
		"deletion time is a number":       "\x0a\x02\x48\x01",
		"deletion time has text":          "\x0a\x05\x4a\x03\x0a\x01x",
	} {
		if new(metav1.PartialObjectMetadata).Unmarshal([]byte(raw)) == nil {
			t.Errorf("%s: apimachinery accepts this", name)
		}
		var syntax *SyntaxError
		if err := m.Scan(Protobuf, []byte(raw)); !errors.As(err, &syntax) || syntax.Format != Protobuf {
			t.Errorf("%s: %v, want a SyntaxError", name, err)
		}
	}
}

func TestScanJSONDepth(t *testing.T) {
	nested := func(n int) []byte {
		return []byte(`{"a":` + strings.Repeat(`[{"b":`, n/2) + strings.Repeat("[", n%2) + "1" + strings.Repeat("]", n%2) + strings.Repeat(`}]`, n/2) + `}`)
	}
	for _, n := range []int{1, 63, 64, 65, 127, 128, 129, 1000, maxDepth - 1, maxDepth, maxDepth + 1} {
		var m Meta
		err, ref := m.Scan(JSON, nested(n)), jsonUnmarshal(nested(n), &metav1.PartialObjectMetadata{})
		if (err == nil) != (ref == nil) {
			t.Errorf("depth %d: error %v, apimachinery has %v", n+1, err, ref)
		}
	}
}

func TestScanUnknownFormat(t *testing.T) {
	var m Meta
	if m.Scan(0, []byte("{}")) == nil {
		t.Error("Scan accepts a format that does not exist")
	}
	if _, err := Metadata(0, nil); err == nil {
		t.Error("Metadata accepts a format that does not exist")
	}
	if _, err := DropManagedFields(nil, 0, nil); err == nil {
		t.Error("DropManagedFields accepts a format that does not exist")
	}
}

func TestScanManyUnsortedLabels(t *testing.T) {
	const n = 100_000
	var b strings.Builder
	b.WriteString(`{"metadata":{"labels":{"last":"0"`)
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":"%d"`, i%(n/2), i)
	}
	b.WriteString(`}}}`)
	var m Meta
	if err := m.Scan(JSON, []byte(b.String())); err != nil {
		t.Fatal(err)
	}
	if len(m.Labels) != n/2+1 {
		t.Fatalf("%d labels, want %d", len(m.Labels), n/2+1)
	}
	if l := m.Labels[1]; string(l.Key) != "k0" || string(l.Value) != fmt.Sprint(n/2) {
		t.Errorf("second label is %s=%s", l.Key, l.Value)
	}
}

func TestScanDoesNotAllocate(t *testing.T) {
	for _, f := range []Format{JSON, Protobuf} {
		raw := bare(t, f, samplePod(3)) // has a deletion time, escapes and non-ASCII labels
		var m Meta
		allocs := testing.AllocsPerRun(20, func() {
			if err := m.Scan(f, raw); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations per Scan", f, allocs)
		}
	}
}

func TestMetadata(t *testing.T) {
	pod := samplePod(1)
	raw := bare(t, Protobuf, pod)
	got, err := Metadata(Protobuf, raw)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := pod.ObjectMeta.Marshal(); !bytes.Equal(got, want) {
		t.Error("protobuf metadata differs from the marshalled ObjectMeta")
	}
	if got, err = Metadata(JSON, bare(t, JSON, pod)); err != nil {
		t.Fatal(err)
	}
	if want := mustJSON(t, pod.ObjectMeta); !bytes.Equal(got, want) {
		t.Errorf("JSON metadata is %s, want %s", got, want)
	}

	for _, tt := range []struct{ json, want string }{
		{`{}`, ""},
		{`{"metadata":null}`, ""},
		{`{"spec":{"metadata":{}},"metadata": {"a":"}"} }`, `{"a":"}"}`},
		{`{"metadata":{},"metadata":{}}`, "error"},
		{`{"metadata":5}`, "error"},
		{`{"metadata":{}`, "error"},
		{`null`, "error"},
	} {
		got, err := Metadata(JSON, []byte(tt.json))
		if err != nil {
			got = []byte("error")
		}
		if string(got) != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.json, got, err, tt.want)
		}
	}
	if _, err := Metadata(Protobuf, append(raw, raw...)); err == nil {
		t.Error("two protobuf metadata are accepted")
	}
}

func TestOpenEnvelope(t *testing.T) {
	pod := samplePod(1)
	data := encode(t, Protobuf, pod)
	e, err := OpenEnvelope(data)
	if err != nil {
		t.Fatal(err)
	}
	if string(e.APIVersion) != "v1" || string(e.Kind) != "Pod" || !bytes.Equal(e.Raw, bare(t, Protobuf, pod)) {
		t.Errorf("envelope is %q %q with %d bytes", e.APIVersion, e.Kind, len(e.Raw))
	}
	for i := range data {
		var syntax *SyntaxError
		if _, err := OpenEnvelope(data[:i]); err != nil && !errors.As(err, &syntax) {
			t.Errorf("cut at %d: %v is not a SyntaxError", i, err)
		}
	}
	for _, bad := range []string{"", "k8s", "k8s\x00", "k8s\x01\x0a\x00", "{}", "k8s\x00\x10\x00"} {
		if _, err := OpenEnvelope([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
