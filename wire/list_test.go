package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// readItems reads a whole list; err is nil if it was complete.
func readItems(l *ListReader) (items []string, err error) {
	for {
		item, err := l.Next()
		if err == io.EOF {
			return items, nil
		}
		if err != nil {
			return items, err
		}
		items = append(items, string(item))
	}
}

func TestListRoundTrip(t *testing.T) {
	want := ListMeta{APIVersion: "v1", Kind: "PodList", ResourceVersion: "4711", Continue: "next \"page\"", Remaining: 17}
	for _, f := range formats {
		list := podList(20)
		var items []string
		for i := range list.Items {
			items = append(items, string(bare(t, f, &list.Items[i])))
		}
		body := encode(t, f, list)
		for name, reader := range readers {
			for _, buffer := range []int{0, 1, 100} {
				t.Run(fmt.Sprintf("%s/%s/buffer=%d", f, name, buffer), func(t *testing.T) {
					l := NewListReader(reader(bytes.NewReader(body)), Limits{Buffer: buffer})
					got, err := readItems(l)
					if err != nil {
						t.Fatal(err)
					}
					equal(t, got, items)
					if l.Meta() != want || l.Format() != f || l.Offset() != int64(len(body)) {
						t.Errorf("%+v %s %d, want %+v %s %d", l.Meta(), l.Format(), l.Offset(), want, f, len(body))
					}
					if _, err := l.Next(); err != io.EOF {
						t.Errorf("Next after the end: %v", err)
					}
				})
			}
		}
	}
}

func TestListOfOtherKinds(t *testing.T) {
	partial := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "5"},
		Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}},
	}
	custom := &unstructured.UnstructuredList{
		Object: map[string]any{"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": map[string]any{"resourceVersion": "5"}},
		Items:  []unstructured.Unstructured{*sampleCustom(), *sampleCustom()},
	}
	empty := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "5"}}
	for _, tt := range []struct {
		f    Format
		list runtime.Object
		n    int
	}{{JSON, partial, 3}, {Protobuf, partial, 3}, {JSON, custom, 2}, {JSON, empty, 0}, {Protobuf, empty, 0}} {
		l := NewListReader(bytes.NewReader(encode(t, tt.f, tt.list)), Limits{})
		items, err := readItems(l)
		if err != nil || len(items) != tt.n || l.Meta().ResourceVersion != "5" || l.Meta().Remaining != -1 {
			t.Errorf("%s %T: %d items, %+v, %v", tt.f, tt.list, len(items), l.Meta(), err)
		}
	}
}

func TestListMetaLastWins(t *testing.T) {
	body := `{"kind":"A","metadata":{"resourceVersion":"1","remainingItemCount":5,"continue":"x"},"items":[],` +
		`"metadata":{"resourceVersion":"2","resourceVersion":null,"remainingItemCount":null},"kind":"B"}`
	l := NewListReader(strings.NewReader(body), Limits{})
	_, err := readItems(l)
	if want := (ListMeta{Kind: "B", ResourceVersion: "2", Continue: "x", Remaining: -1}); err != nil || l.Meta() != want {
		t.Errorf("%+v (%v), want %+v", l.Meta(), err, want)
	}
}

func TestListJSONShapes(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"kind":"PodList","items":[{"a":1},{"b":"]"}]}`, `{"a":1} {"b":"]"}`},
		{" {\n\"items\" : [ {\"a\":1} ,\n{ } ] ,\t\"kind\":\"PodList\" } \n", `{"a":1} { }`},
		{`{"items":[],"kind":"PodList"}`, ""},
		{`{"kind":"PodList","items":null}`, ""},
		{`{"kind":"PodList","items":null,"metadata":{}}`, ""},
		{`{"kind":"PodList"}`, ""},
		{`{"items":[{}]}`, "{}"},
		{`{"kind":"Widgets","items":[{}]}`, "{}"},
		{`{"it\u0065ms":[{}],"x":[{}],"y":1.5e3,"z":"]","message":{}}`, "{}"},
		{`{"kind":"List","metadata":null,"apiVersion":null,"items":[{}]}`, "{}"},
		{`{}`, "kind"},
		{`{"kind":"Pod","metadata":{}}`, "kind"},
		{`{"kind":"Status","status":"Failure","message":"no"}`, "kind"},
		{`{"kind":"Table","rows":[`, "kind"},
		{`{"kind":"PodList","items":[{}`, "{} cut"},
		{`{"kind":"PodList","items":[{}]`, "{} cut"},
		{`{"kind":"PodList","items":nul`, "cut"},
		{`{"kind":"PodList","items":nul}`, "syntax"},
		{`{"kind":"PodList","items":[{},]}`, "{} syntax"},
		{`{"kind":"PodList","items":[{} {}]}`, "{} syntax"},
		{`{"kind":"PodList","items":[null]}`, "syntax"},
		{`{"kind":"PodList","items":[1]}`, "syntax"},
		{`{"kind":"PodList","items":{}}`, "syntax"},
		{`{"kind":"PodList","items":[],"items":[]}`, "syntax"},
		{`{"kind":"PodList","items":[],}`, "syntax"},
		{`{"kind":"PodList","items" []}`, "syntax"},
		{`{"kind":"PodList",items:[]}`, "syntax"},
		{`{"kind":"PodList","items":[]}}`, "syntax"},
		{`{"kind":"PodList","items":[{}]} {}`, "{} syntax"},
		{`{"kind":1,"items":[]}`, "syntax"},
		{`{"metadata":{"resourceVersion":1},"items":[]}`, "syntax"},
		{`{"metadata":{"remainingItemCount":"1"},"items":[]}`, "syntax"},
		{`{"x":tru,"items":[]}`, "syntax"},
		{`{"x":{"a":]},"items":[]}`, "syntax"},
		{`[]`, "syntax"},
		{` 5`, "syntax"},
		{`<html>`, "syntax"},
		{``, "cut"},
		{` `, "cut"},
		{`k8`, "cut"},
		{`k8t`, "syntax"},
	} {
		for name, reader := range readers {
			items, err := readItems(NewListReader(reader(strings.NewReader(tt.body)), Limits{}))
			got := append(items, kindOfError(err)...)
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%s (%s): got %q, want %q (%v)", tt.body, name, s, tt.want, err)
			}
		}
	}
}

func kindOfError(err error) []string {
	var (
		kind   *KindError
		syntax *SyntaxError
		limit  *LimitError
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind):
		return []string{"kind"}
	case errors.As(err, &syntax):
		return []string{"syntax"}
	case errors.As(err, &limit):
		return []string{"limit"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return []string{"cut"}
	default:
		return []string{err.Error()}
	}
}

func TestListBreaksAnywhere(t *testing.T) {
	broken := errors.New("connection reset")
	for _, f := range formats {
		body := encode(t, f, smallList())
		if f == JSON {
			body = append([]byte(`{"x":null,"y":-1.5e3,"z":"",`), body[1:]...)
		}
		all, err := readItems(NewListReader(bytes.NewReader(body), Limits{}))
		if err != nil {
			t.Fatal(err)
		}
		// From here on the list is complete: what follows is the line feed, or the
		// empty content type and encoding of the envelope.
		complete := len(body) - 1
		if f == Protobuf {
			complete = len(body) - 4
		}
		for cut := range len(body) + 1 {
			for name, reader := range readers {
				r := func(err error) *ListReader {
					return NewListReader(reader(io.MultiReader(bytes.NewReader(body[:cut]), iotest.ErrReader(err))), Limits{})
				}
				items, err := readItems(r(io.EOF))
				equal(t, items, all[:len(items)])
				inTail := f == Protobuf && cut > complete && (cut-complete)%2 == 1
				if cut < complete || inTail {
					if !errors.Is(err, io.ErrUnexpectedEOF) {
						t.Fatalf("%s, %s, end at %d of %d: %v", f, name, cut, len(body), err)
					}
				} else if err != nil || len(items) != len(all) {
					t.Fatalf("%s, %s, end at %d of %d: %d items, %v", f, name, cut, len(body), len(items), err)
				}
				var read *ReadError
				items, err = readItems(r(broken))
				if !errors.Is(err, broken) || !errors.As(err, &read) || read.Offset != int64(cut) {
					t.Fatalf("%s, %s, broken at %d of %d: %d items, %v", f, name, cut, len(body), len(items), err)
				}
			}
		}
	}
}

func TestListIsNot(t *testing.T) {
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Message: "etcd is slow", Code: 500}
	for _, f := range formats {
		_, err := NewListReader(bytes.NewReader(encode(t, f, status)), Limits{}).Next()
		var kind *KindError
		if !errors.As(err, &kind) || kind.Kind != "Status" || kind.Message != status.Message {
			t.Errorf("%s Status: %v", f, err)
		}
		_, err = NewListReader(bytes.NewReader(encode(t, f, samplePod(1))), Limits{}).Next()
		if !errors.As(err, &kind) || kind.Kind != "Pod" || kind.APIVersion != "v1" {
			t.Errorf("%s Pod: %v", f, err)
		}
	}
}

func TestListLimits(t *testing.T) {
	for _, f := range formats {
		list := podList(3)
		list.Items[1].Annotations["large"] = strings.Repeat("x", 1000)
		size := int64(len(bare(t, f, &list.Items[1])))
		for name, reader := range readers {
			items, err := readItems(NewListReader(reader(bytes.NewReader(encode(t, f, list))), Limits{Frame: size}))
			if err != nil || len(items) != 3 {
				t.Errorf("%s, %s, at the limit: %d items, %v", f, name, len(items), err)
			}
			items, err = readItems(NewListReader(reader(bytes.NewReader(encode(t, f, list))), Limits{Frame: size - 1}))
			var limit *LimitError
			if !errors.As(err, &limit) || len(items) != 1 || limit.What != "list item" || limit.Size < size {
				t.Errorf("%s, %s, above the limit: %d items, %v", f, name, len(items), err)
			}
		}
	}
	long := `{"kind":"PodList","x":"` + strings.Repeat("x", envelopeLimit) + `","items":[]}`
	var limit *LimitError
	if _, err := NewListReader(strings.NewReader(long), Limits{}).Next(); !errors.As(err, &limit) {
		t.Errorf("a member of %d bytes: %v", envelopeLimit, err)
	}
}

// Lengths that were claimed must not be allocated, added up wrongly, or trusted.
func TestListClaimedLengths(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\x3f", "cut"},             // a list of 2^62 bytes
		{"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "syntax"},          // of 2^63, more than offsets count
		{"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "syntax"},      // of 2^64-1
		{"k8s\x00\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "syntax"},  // of more
		{"k8s\x00\x12\xff\xff\xff\xff\xff\xff\x01\x12\x80\x80\x80\x10", "cut"}, // an item of 32 MiB
		{"k8s\x00\x12\xff\xff\xff\xff\xff\xff\x01\x12\x80\x80\x80\x40", "limit"},
		{"k8s\x00\x12\x03\x12\x02x", "syntax"}, // an item that is longer than its list
		{"k8s\x00\x12\x01\x12", "syntax"},      // a list that ends inside a field
		{"k8s\x00\x12\x02\x12\x80\x01", "syntax"},
		{"k8s\x00\x12\x02\x1d\x01", "syntax"},
		{"k8s\x00\x0a\xff\xff\xff\xff\x07", "limit"},
		{"k8s\x00\x12\x00", ""},
		{"k8s\x00\x12\x00\x12\x00", "syntax"},
		{"k8s\x00\x10\x00", "syntax"},
		{"k8s\x00\x12\x00\x0c", "syntax"},
		{"k8s\x00\x12\x00\x00\x01", "syntax"},
		{"k8s\x00\x0a\x07\x12\x05v1Pod", "cut"},
		{"k8s\x00", "cut"},
		{"k8s\x00\x12\x00\x2b\x08\x01\x2c", ""}, // a group that means nothing
		{"k8s\x00\x12\x0b\x2b\x33\x35abcd\x34\x2c\x12\x00\x0a\x08\x12\x06Status", "kind"},
	} {
		for name, reader := range readers {
			l := NewListReader(reader(strings.NewReader(tt.body)), Limits{})
			_, err := readItems(l)
			if got := strings.Join(kindOfError(err), ""); got != tt.want {
				t.Errorf("%q (%s): got %q, want %q (%v)", tt.body, name, got, tt.want, err)
			}
			if len(l.src.buf) > smallBuffer {
				t.Errorf("%q: buffer of %d bytes", tt.body, len(l.src.buf))
			}
		}
	}
}

// However long the list, only a buffer of it is in memory.
func TestListMemoryIsBounded(t *testing.T) {
	for _, f := range formats {
		body := encode(t, f, podList(500))
		l := NewListReader(bytes.NewReader(body), Limits{Buffer: 64 << 10})
		items, err := readItems(l)
		if err != nil || len(items) != 500 {
			t.Fatalf("%d items, %v", len(items), err)
		}
		if len(l.src.buf) > 64<<10 {
			t.Errorf("%s: buffer of %d bytes for a list of %d", f, len(l.src.buf), len(body))
		}
	}
}

func TestListDoesNotAllocatePerItem(t *testing.T) {
	for _, f := range formats {
		body := encode(t, f, podList(200))
		r := bytes.NewReader(body)
		allocs := testing.AllocsPerRun(10, func() {
			r.Reset(body)
			l := NewListReader(r, Limits{})
			for {
				if _, err := l.Next(); err == io.EOF {
					return
				} else if err != nil {
					t.Fatal(err)
				}
			}
		})
		if allocs > 25 {
			t.Errorf("%s: %v allocations for a list of 200", f, allocs)
		}
	}
}
