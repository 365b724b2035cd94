package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// magic begins every protobuf object of the API; an envelope (runtime.Unknown)
// with the kind and the object's own bytes follows.
var magic = []byte("k8s\x00")

// message is an object that has a protobuf form.
type message interface {
	runtime.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// envelope opens the protobuf form of an object.
func (e *env) envelope(data []byte) *runtime.Unknown {
	e.Helper()
	content, found := bytes.CutPrefix(data, magic)
	if !found {
		e.Fatalf("protobuf begins with %.20q, want %q", data, magic)
	}
	unknown := &runtime.Unknown{}
	must(e, unknown.Unmarshal(content), "decoding a protobuf envelope")
	return unknown
}

// unprotobuf decodes an answer in protobuf.
func (e *env) unprotobuf(a *answer, into message) {
	e.Helper()
	e.unpack(e.envelope(a.body), into)
}

// unpack decodes what is in an envelope, with the kind that the envelope names.
func (e *env) unpack(unknown *runtime.Unknown, into message) {
	e.Helper()
	must(e, into.Unmarshal(unknown.Raw), "decoding protobuf of kind "+unknown.Kind)
	into.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(unknown.APIVersion, unknown.Kind))
}

// protobuf encodes a ConfigMap for a request's body.
func (e *env) protobuf(cm *corev1.ConfigMap) []byte {
	e.Helper()
	raw, err := cm.Marshal()
	must(e, err, "encoding protobuf")
	unknown := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, Raw: raw}
	content, err := unknown.Marshal()
	must(e, err, "encoding a protobuf envelope")
	return append(bytes.Clone(magic), content...)
}

// protobufStream is a watch whose frames are protobuf: four bytes of length,
// then a WatchEvent, whose object has an envelope of its own.
type protobufStream struct {
	e      *env
	header http.Header
	body   io.Reader
}

// watchProtobuf opens a watch in a form whose frames are protobuf.
func (e *env) watchProtobuf(form, path string, query params) *protobufStream {
	e.Helper()
	response, _ := e.open(path, query, accept(form))
	return &protobufStream{e: e, header: response.Header, body: response.Body}
}

// frame reads the next event and opens the envelope of its object.
func (s *protobufStream) frame() (watch.EventType, *runtime.Unknown) {
	s.e.Helper()
	var length [4]byte
	_, err := io.ReadFull(s.body, length[:])
	must(s.e, err, "waiting for the next frame of a protobuf watch")
	data := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err = io.ReadFull(s.body, data)
	must(s.e, err, "reading a frame of a protobuf watch")
	outer := &metav1.WatchEvent{}
	must(s.e, outer.Unmarshal(s.e.eventBytes(data)), "decoding a watch event")
	return watch.EventType(outer.Type), s.e.envelope(outer.Object.Raw)
}

// eventBytes takes a watch event out of its envelope, if it has one.
func (e *env) eventBytes(data []byte) []byte {
	e.Helper()
	if !bytes.HasPrefix(data, magic) {
		return data
	}
	return e.envelope(data).Raw
}

// next reads the next event into a message.
func (s *protobufStream) next(into message) watch.EventType {
	s.e.Helper()
	kind, unknown := s.frame()
	s.e.unpack(unknown, into)
	return kind
}

// want reads the next event, which must be of a ConfigMap.
func (s *protobufStream) want(kind watch.EventType, name string) *corev1.ConfigMap {
	s.e.Helper()
	cm := &corev1.ConfigMap{}
	if got := s.next(cm); got != kind || cm.Name != name {
		s.e.Fatalf("the watch said %s of %q, want %s of %q", got, cm.Name, kind, name)
	}
	return cm
}

// wantEnd checks that the watch ends, cleanly and without a further event.
func (s *protobufStream) wantEnd() {
	s.e.Helper()
	if n, err := s.body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		s.e.Fatalf("the watch went on with %d bytes (error: %v), want its end", n, err)
	}
}
