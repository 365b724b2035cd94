package kube_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// TestRestoredServerOfObjects: a bookmark from before what the store has leads to a
// list, where nothing can be asked for the version alone.
func TestRestoredServerOfObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &foreign{version: "100", items: []corev1.ConfigMap{*object("u", "90")}}
		inf := engine.NewInformer(engine.Options{}, engine.ReflectorOptions{},
			map[string]engine.Source{"": kube.NewObjectSource("foreign things", f)})
		defer run(t, inf)()
		synctest.Wait()
		f.version, f.items = "50", []corev1.ConfigMap{*object("u", "40")}
		bookmark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "50"}}
		for range 10 {
			f.watch.Action(watch.Bookmark, bookmark)
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		if got := inf.Get("a").Version().String(); got != "40" {
			t.Errorf("the store has version %s, want 40; Status says %+v", got, inf.Status()[0])
		}
	})
}

// blocked is a ListerWatcher whose list does not return.
type blocked struct {
	foreign
	asked   atomic.Int64
	release chan struct{}
}

func (b *blocked) List(o metav1.ListOptions) (runtime.Object, error) {
	b.asked.Add(1)
	<-b.release
	return b.foreign.List(o)
}

// TestListThatDoesNotReturn: it does not keep an informer from being stopped.
func TestListThatDoesNotReturn(t *testing.T) {
	b := &blocked{release: make(chan struct{})}
	defer close(b.release)
	inf := engine.NewInformer(engine.Options{}, engine.ReflectorOptions{},
		map[string]engine.Source{"": kube.NewObjectSource("blocked things", b)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	for b.asked.Load() == 0 {
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
		}
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("Run has not returned 10 s after it was stopped")
	}
}
