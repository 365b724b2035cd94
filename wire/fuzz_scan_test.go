package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// jsonUnmarshal is the decoder behind all of apimachinery's JSON.
func jsonUnmarshal(data []byte, into any) error { return utiljson.Unmarshal(data, into) }

// duplicateKeys reports whether an object anywhere in the valid JSON data has a key
// twice.
func duplicateKeys(data []byte) bool {
	type level struct {
		keys  map[string]bool // nil in an array
		value bool            // a value comes next, in an object
	}
	var stack []level
	d := json.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if err != nil {
			return err != io.EOF
		}
		top := len(stack) - 1
		if key, ok := token.(string); ok && top >= 0 && stack[top].keys != nil && !stack[top].value {
			if stack[top].keys[key] {
				return true
			}
			stack[top].keys[key] = true
			stack[top].value = true
			continue
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{keys: map[string]bool{}})
			continue
		case json.Delim('['):
			stack = append(stack, level{})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
			top--
		}
		if top >= 0 {
			stack[top].value = false
		}
	}
}

// scanned has the fields that Scan reads, and no other, so that a decoder into it
// is as strict as Scan has to be.
type scanned struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name              string            `json:"name"`
		Namespace         string            `json:"namespace"`
		UID               string            `json:"uid"`
		ResourceVersion   string            `json:"resourceVersion"`
		Generation        int64             `json:"generation"`
		DeletionTimestamp *string           `json:"deletionTimestamp"`
		Labels            map[string]string `json:"labels"`
		OwnerReferences   []struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
			UID        string `json:"uid"`
			Controller *bool  `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
}

// jsonTexts are values for the places where Scan expects metadata, and others.
var jsonTexts = []string{
	`{"name":"a","name":null,"labels":{"a":"1","b":null,"a":"2"},"labels":null,"labels":{"c":"\ud83d\ude42\ud83d"}}`,
	`{"generation":-12,"deletionTimestamp":"2026-01-02T03:04:05.5+01:00","ownerReferences":[null,{"controller":true},{}]}`,
	`{"managedFields":[],"a":[1.5e-3,true,false,null,[[{}]]] , "managedFields" : {"}":"\\"} }`,
	`{"deletionTimestamp":"","uid":"\u0000\/","resourceVersion":"` + "\xff" + `"}`,
}

func isNull(raw []byte) bool { return string(bytes.TrimSpace(raw)) == "null" }

func FuzzScanJSON(f *testing.F) {
	f.Add(bare(f, JSON, sampleSmall()))
	f.Add(bare(f, JSON, sampleCustom()))
	for _, text := range jsonTexts {
		f.Add([]byte(`{"metadata":` + text + `,"x":` + text + `}`))
	}
	var m Meta
	f.Fuzz(func(t *testing.T, raw []byte) { checkScanJSON(t, &m, raw) })
}

// checkScanJSON scans raw and compares the outcome with apimachinery's.
func checkScanJSON(t *testing.T, m *Meta, raw []byte) {
	err := m.Scan(JSON, bytes.Clone(raw)[:len(raw):len(raw)])
	if isNull(raw) {
		if err == nil {
			t.Fatal("null is accepted as an object")
		}
		return
	}
	// Exactly the same is accepted by a decoder that reads the same fields.
	if ref := jsonUnmarshal(raw, new(scanned)); (err == nil) != (ref == nil) {
		t.Fatalf("Scan: %v; apimachinery: %v\n%s", err, ref, raw)
	}
	typed := &metav1.PartialObjectMetadata{}
	if err != nil || jsonUnmarshal(raw, typed) != nil {
		return // bad, or something that Scan does not read has the wrong type
	}
	duplicates := duplicateKeys(raw)
	if duplicates {
		// Repeated owners are merged there by position; here the last ones count.
		typed.OwnerReferences, m.Owner = nil, Owner{}
	}
	checkMeta(t, m, typed)
	if string(m.APIVersion) != typed.APIVersion || string(m.Kind) != typed.Kind {
		t.Errorf("type is %q %q, want %q %q", m.APIVersion, m.Kind, typed.APIVersion, typed.Kind)
	}
	if !duplicates {
		checkUnstructured(t, m, raw)
	}
}

func checkUnstructured(t *testing.T, m *Meta, raw []byte) {
	u := &unstructured.Unstructured{}
	if jsonUnmarshal(raw, &u.Object) != nil {
		return // a number that no float holds
	}
	if strings.Contains(string(raw), "null") {
		u.SetOwnerReferences(nil) // read as none at all if one of them is null
		m.Owner = Owner{}
	}
	checkMeta(t, m, u)
}

func FuzzScanProtobuf(f *testing.F) {
	f.Add(bare(f, Protobuf, sampleSmall()))
	f.Add([]byte{})
	f.Add([]byte("\x0a\x0c\x5a\x06\x0a\x01a\x12\x01b\x62\x02\x0a\x00"))
	f.Add([]byte("\x0a\x08\x5a\x06\x0a\x02ab\x1b\x1c"))
	var m Meta
	f.Fuzz(func(t *testing.T, raw []byte) { checkScanProto(t, &m, raw) })
}

// checkScanProto scans raw and compares the outcome with apimachinery's.
func checkScanProto(t *testing.T, m *Meta, raw []byte) (accepted bool) {
	err := m.Scan(Protobuf, bytes.Clone(raw)[:len(raw):len(raw)])
	typed := &metav1.PartialObjectMetadata{}
	if typed.Unmarshal(raw) != nil {
		return false // Scan checks less
	}
	if err != nil {
		t.Fatalf("apimachinery accepts, Scan does not: %v\n%x", err, raw)
	}
	checkMeta(t, m, typed)
	return true
}

func FuzzDropManagedFields(f *testing.F) {
	for _, format := range []Format{JSON, Protobuf} {
		f.Add(uint8(format), bare(f, format, sampleSmall()))
	}
	f.Add(uint8(JSON), bare(f, JSON, sampleCustom()))
	f.Fuzz(func(t *testing.T, format uint8, raw []byte) { checkDropped(t, Format(format), raw) })
}

// checkDropped drops managedFields from raw and compares with the decoded objects.
func checkDropped(t *testing.T, format Format, raw []byte) {
	const prefix = "kept"
	got, err := DropManagedFields([]byte(prefix), format, bytes.Clone(raw)[:len(raw):len(raw)])
	if !bytes.HasPrefix(got, []byte(prefix)) || err != nil && len(got) != len(prefix) {
		t.Fatalf("dst is now %q", got)
	}
	got = got[len(prefix):]
	if len(got) > len(raw) {
		t.Fatal("the object has grown")
	}
	metadata, metadataErr := Metadata(format, raw)
	switch format {
	case JSON:
		if json.Valid(raw) && raw[bytes.IndexFunc(raw, func(r rune) bool { return !isSpace(byte(r)) })] == '{' {
			checkDroppedJSON(t, raw, got, err)
			checkMetadataJSON(t, raw, metadata, metadataErr)
		}
	case Protobuf:
		checkDroppedProto(t, raw, got, err, metadata, metadataErr)
	default:
		if err == nil || metadataErr == nil {
			t.Fatal("a format that does not exist is accepted")
		}
	}
}

func checkDroppedJSON(t *testing.T, raw, got []byte, err error) {
	if err != nil {
		t.Fatalf("valid JSON is refused: %v", err)
	}
	if !json.Valid(got) {
		t.Fatalf("result is not JSON: %s", got)
	}
	var before, after metav1.PartialObjectMetadata
	if jsonUnmarshal(raw, &before) == nil {
		before.ManagedFields = nil
		if err := jsonUnmarshal(got, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("object has changed: %v\n%s", err, got)
		}
	}
	var a, b map[string]any
	if duplicateKeys(raw) || jsonUnmarshal(raw, &a) != nil {
		return
	}
	unstructured.RemoveNestedField(a, "metadata", "managedFields")
	if err := jsonUnmarshal(got, &b); err != nil || !reflect.DeepEqual(a, b) {
		t.Fatalf("object has changed: %v\n%s", err, got)
	}
}

func checkMetadataJSON(t *testing.T, raw, metadata []byte, err error) {
	var object struct {
		Metadata json.RawMessage `json:"metadata"`
	}
	if duplicateKeys(raw) || jsonUnmarshal(raw, &object) != nil {
		return
	}
	switch want := string(object.Metadata); {
	case want == "" || want == "null":
		if metadata != nil || err != nil {
			t.Fatalf("metadata is %q (%v), want none", metadata, err)
		}
	case want[0] != '{':
		if err == nil {
			t.Fatalf("metadata %s is accepted", want)
		}
	case string(metadata) != want || err != nil:
		t.Fatalf("metadata is %q (%v), want %q", metadata, err, want)
	}
}

// overrun reports whether a label or annotation may reach over the end of its map
// entry, which the decoders let pass: it reaches into what is cut, then.
func overrun(raw []byte) bool {
	return anyField(raw, func(object field, metadata []byte) bool {
		return object.num == fieldMetadata && anyField(metadata, func(f field, entry []byte) bool {
			return (f.num == metaLabels || f.num == metaLabels+1) &&
				anyField(entry, func(f field, _ []byte) bool { return f.num <= entryValue && f.wire != wireBytes })
		})
	})
}

// anyField reports whether match holds for a field of the message, or the message
// is malformed.
func anyField(message []byte, match func(f field, value []byte) bool) bool {
	for i := 0; i < len(message); {
		f, next := readField(message, i)
		if next < 0 || match(f, message[f.value:next]) {
			return true
		}
		i = next
	}
	return false
}

func checkDroppedProto(t *testing.T, raw, got []byte, err error, metadata []byte, metadataErr error) {
	var before, after metav1.PartialObjectMetadata
	if before.Unmarshal(raw) != nil || overrun(raw) {
		return
	}
	before.ManagedFields = nil
	if err != nil {
		t.Fatalf("a good object is refused: %v", err)
	}
	if err := after.Unmarshal(got); err != nil || !reflect.DeepEqual(before, after) {
		t.Fatalf("object has changed: %v\n%x", err, got)
	}
	if metadataErr != nil {
		if !strings.Contains(metadataErr.Error(), twoMetadata) {
			t.Fatal(metadataErr)
		}
		return
	}
	var meta metav1.ObjectMeta
	if err := meta.Unmarshal(metadata); err != nil {
		t.Fatal(err)
	}
	if meta.ManagedFields = nil; !reflect.DeepEqual(meta, before.ObjectMeta) {
		t.Fatalf("metadata is %x", metadata)
	}
}
