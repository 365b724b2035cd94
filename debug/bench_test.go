package debug

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgotesting "k8s.io/client-go/tools/cache/testing"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/engine"
)

// BenchmarkOpenPage is what an open page costs the process: for each change of an object,
// for each that is shown, and for each second that the page is open.
func BenchmarkOpenPage(b *testing.B) {
	source := clientgotesting.NewFakeControllerSource()
	defer source.Shutdown()
	inf := cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{})
	page := New(Options{})
	defer page.Close()
	if err := page.Add("pods", inf); err != nil {
		b.Fatal(err)
	}
	l, _ := page.look()
	w, _ := l.watcher("pods")
	w.join(&reader{queue: changeQueue{bytes: readerBytes, count: readerBurst}})
	deltas := make([]engine.Delta, 10_000)
	for i := range deltas {
		deltas[i] = engine.Delta{Kind: engine.Updated, Old: record(b, w.engine, i, 1), New: record(b, w.engine, i, 2)}
	}
	b.Run("change", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			w.handle(context.Background(), deltas[i%len(deltas)])
		}
	})
	b.Run("shown", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			newChange(w.informer, deltas[i%len(deltas)]).show()
		}
	})
	b.Run("second", func(b *testing.B) {
		b.ReportAllocs()
		s := &stream{looking: l, watcher: w}
		for b.Loop() {
			s.updateInformer(update{map[string]string{}, map[string]string{}, map[string]string{}, map[string]string{}})
		}
	})
}

// record is a state of a pod.
func record(b *testing.B, e *engine.Informer, n, version int) *engine.Record {
	r, err := e.NewRecord(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint("pod-", n), ResourceVersion: fmt.Sprint(version),
			CreationTimestamp: metav1.NewTime(time.Unix(1, 0)), Labels: map[string]string{"app": "web"}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}, {Name: "log", Image: "log"}}},
		Status: corev1.PodStatus{Message: fmt.Sprint("beat ", version)},
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}
