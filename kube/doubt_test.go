package kube_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/engine"
	"github.com/kinform/kinform/kube"
)

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
