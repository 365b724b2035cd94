package decode

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// own is a program's type, as generators of custom resources make them.
type own struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec struct{}
}

// metadataOnly has a method that reads protobuf, which it got from its metadata.
type metadataOnly struct {
	metav1.ObjectMeta
	Data map[string]string
}

// metadataAround has its method from what it embeds.
type metadataAround struct{ metav1.ObjectMeta }

func TestSpeaksProtobuf(t *testing.T) {
	for _, test := range []struct {
		of   any
		want bool
	}{
		{corev1.Pod{}, true},
		{corev1.PodList{}, true},
		{metav1.PartialObjectMetadata{}, true},
		{metav1.ObjectMeta{}, true},
		{unstructured.Unstructured{}, false},
		{own{}, false},
		{metadataOnly{}, false},
		{struct{ *metav1.ObjectMeta }{}, false},
		{struct {
			metav1.TypeMeta
			metadataAround
		}{}, false},
		{struct{ metadataAround }{}, false},
	} {
		if got := SpeaksProtobuf(reflect.TypeOf(test.of)); got != test.want {
			t.Errorf("%T: %t", test.of, got)
		}
	}
}

// keeping is a type whose UnmarshalJSON keeps what it is given, as it must not.
type keeping struct {
	metav1.ObjectMeta `json:"metadata"`
	Kept              kept `json:"kept"`
}

type kept struct{ bytes []byte }

func (k *kept) UnmarshalJSON(b []byte) error {
	k.bytes = b
	return nil
}

// listOf is a server that lists some objects, then has the watch send others.
type listOf struct {
	items, events [][]byte
	format        wire.Format
}

func (l *listOf) String() string { return "things" }

func (l *listOf) List(context.Context, engine.ListOptions) (engine.ListStream, error) {
	return &listing{items: l.items, format: l.format}, nil
}

func (l *listOf) Watch(ctx context.Context, _ engine.WatchOptions) (engine.WatchStream, error) {
	return &watching{ctx: ctx, events: l.events}, nil
}

type listing struct {
	items  [][]byte
	format wire.Format
}

func (l *listing) Next() (engine.Item, error) {
	if len(l.items) == 0 {
		return engine.Item{}, io.EOF
	}
	raw := l.items[0]
	l.items = l.items[1:]
	return engine.Item{Format: l.format, Bytes: raw}, nil
}
func (l *listing) Meta() wire.ListMeta { return wire.ListMeta{ResourceVersion: "100"} }
func (l *listing) Received() int64     { return 0 }
func (l *listing) Close() error        { return nil }

type watching struct {
	ctx    context.Context
	events [][]byte
}

func (w *watching) Next() (engine.Event, error) {
	if len(w.events) == 0 {
		<-w.ctx.Done()
		return engine.Event{}, w.ctx.Err()
	}
	raw := w.events[0]
	w.events = w.events[1:]
	return engine.Event{Type: wire.Modified, Item: engine.Item{Format: wire.JSON, Bytes: raw}}, nil
}
func (w *watching) Buffered() bool { return len(w.events) > 0 }
func (w *watching) Close() error   { return nil }

// TestInputMayBeKept: what a type's own method keeps of its input stays as it was,
// although the memory of the store and of decoding is used again.
func TestInputMayBeKept(t *testing.T) {
	want := map[string]string{}
	server := listOf{format: wire.JSON}
	for i := range 200 {
		name, text := fmt.Sprint("o", i), fmt.Sprintf(`"%s"`, strings.Repeat(fmt.Sprint(i), 100))
		want[name] = text
		raw := fmt.Appendf(nil, `{"metadata":{"name":%q,"resourceVersion":"%d"},"kept":%s}`, name, i+1, text)
		server.items = append(server.items, raw)
	}
	inf := engine.NewInformer(engine.Options{}, engine.ReflectorOptions{}, map[string]engine.Source{"": &server})
	view := &engine.View{Name: "keeping", Decode: func(r *engine.Record, near engine.Neighbour) (any, error) {
		return Typed(r, near, reflect.TypeFor[keeping]())
	}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	if err := inf.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	got := inf.Objects(view)
	inf.Objects(&engine.View{Name: "again", Decode: view.Decode}) // decodes all of them again
	cancel()
	<-ended
	if len(got) != len(want) {
		t.Fatalf("%d objects, want %d", len(got), len(want))
	}
	for _, obj := range got {
		if k := obj.(*keeping); string(k.Kept.bytes) != want[k.Name] {
			t.Fatalf("%s has kept %s", k.Name, k.Kept.bytes)
		}
	}
}
