package wire

import (
	"bytes"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestDropManagedFieldsRoundTrip(t *testing.T) {
	for _, f := range formats {
		for i := range 4 {
			pod := samplePod(i)
			got, err := DropManagedFields(nil, f, bare(t, f, pod))
			if err != nil {
				t.Fatal(err)
			}
			pod.ManagedFields = nil
			if want := bare(t, f, pod); !bytes.Equal(got, want) {
				t.Errorf("%s: got\n%s\nwant\n%s", f, got, want)
			}
			again, err := DropManagedFields(nil, f, got)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("%s: dropping twice changes the object (%v)", f, err)
			}
		}
	}
}

func TestDropManagedFieldsJSON(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`{}`, `{}`},
		{`{"metadata":{}}`, `{"metadata":{}}`},
		{`{"metadata":null}`, `{"metadata":null}`},
		{`{"metadata":{"managedFields":[1]}}`, `{"metadata":{}}`},
		{`{"metadata":{"managedFields":[1],"a":1}}`, `{"metadata":{"a":1}}`},
		{`{"metadata":{"a":1,"managedFields":[1]}}`, `{"metadata":{"a":1}}`},
		{`{"metadata":{"a":1,"managedFields":[1],"b":2}}`, `{"metadata":{"a":1,"b":2}}`},
		{`{"metadata":{"managedFields":[1],"managedFields":null,"b":2}}`, `{"metadata":{"b":2}}`},
		{`{"metadata":{"a":1,"managedFields":[1],"managedFields":null}}`, `{"metadata":{"a":1}}`},
		{`{"metadata":{"managedFields":[1],"a":1,"managedFields":null}}`, `{"metadata":{"a":1}}`},
		{`{"metadata":{ "managedFields" : [1] , "a" : 1 } }`, `{"metadata":{ "a" : 1 } }`},
		{`{"metadata":{ "a" : 1 , "managedFields" : [1] } }`, `{"metadata":{ "a" : 1 } }`},
		{`{"metadata":{"managed\u0046ields":[1],"a":1}}`, `{"metadata":{"a":1}}`},
		{`{"metadata":{"managedFields":[1]},"x":1,"metadata":{"b":2,"managedFields":[2]}}`, `{"metadata":{},"x":1,"metadata":{"b":2}}`},
		{`{"managedFields":[1],"spec":{"metadata":{"managedFields":[1]}}}`, `{"managedFields":[1],"spec":{"metadata":{"managedFields":[1]}}}`},
		{`{"metadata":{"managedFields":["}\"]}"],"a":1}}`, `{"metadata":{"a":1}}`},
	} {
		got, err := DropManagedFields([]byte("x"), JSON, []byte(tt.in))
		if err != nil || string(got) != "x"+tt.want {
			t.Errorf("%s: got %s (%v), want %s", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{``, `null`, `[]`, `{"metadata":{"managedFields":[1]`, `{"metadata":{"managedFields":[1],}}`, `{"metadata":{"managedFields"}}`, `{} x`} {
		if got, err := DropManagedFields([]byte("x"), JSON, []byte(bad)); err == nil || string(got) != "x" {
			t.Errorf("%s: got %s (%v), want an error and dst as it was", bad, got, err)
		}
	}
}

func TestDropManagedFieldsCutShort(t *testing.T) {
	raw := bare(t, Protobuf, sampleConfigMap())
	for i := range raw {
		got, err := DropManagedFields([]byte("x"), Protobuf, raw[:i])
		if err != nil {
			if string(got) != "x" {
				t.Fatalf("cut at %d: dst is now %q", i, got)
			}
			continue
		}
		var cm corev1.ConfigMap
		if err := cm.Unmarshal(got[1:]); err != nil {
			t.Fatalf("cut at %d between two fields: %v", i, err)
		}
	}
}

// The metadata's length takes one byte less once the fields are gone, or two.
func TestDropManagedFieldsShrinksLength(t *testing.T) {
	for _, size := range []int{0, 1, 60, 120, 127, 128, 200, 20000} {
		cm := sampleConfigMap()
		cm.ManagedFields[0].FieldsV1.Raw = bytes.Repeat([]byte("x"), size)
		got, err := DropManagedFields(nil, Protobuf, bare(t, Protobuf, cm))
		if err != nil {
			t.Fatal(err)
		}
		var after corev1.ConfigMap
		if err := after.Unmarshal(got); err != nil {
			t.Fatal(err)
		}
		cm.ManagedFields, after.TypeMeta = nil, cm.TypeMeta
		if !reflect.DeepEqual(cm, &after) {
			t.Errorf("size %d: object has changed", size)
		}
	}
}
