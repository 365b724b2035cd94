package cache_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
	"github.com/kinform/kinform/wire"
)

// hearsay is what can be heard of an informer: logs, errors, panics, traces, its description.
type hearsay struct {
	mu    sync.Mutex
	lines []string
}

func (h *hearsay) Write(p []byte) (int, error) {
	h.hear(string(p))
	return len(p), nil
}

func (h *hearsay) hear(values ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, fmt.Sprint(values...), fmt.Sprintf("%+v", values))
}

// Start makes it a tracer.
func (h *hearsay) Start(ctx context.Context, d kinform.Delivery) (context.Context, func(any)) {
	h.hear(d)
	return ctx, func(panicked any) { h.hear(panicked) }
}

// overhear has everything be heard that apimachinery and klog are told, until the test ends.
func overhear(t *testing.T) *hearsay {
	h := &hearsay{}
	survivePanics(t)
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, value any) { h.hear(value) }}
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(_ context.Context, err error, message string, args ...any) { h.hear(err, message, args) },
	}
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(h, &slog.HandlerOptions{Level: slog.Level(-9)})))
	t.Cleanup(func() {
		utilruntime.ErrorHandlers = handlers
		klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	})
	return h
}

const password = "hunter2"

// secretsOnly lists one Secret.
func secretsOnly() *clientgo.ListWatch {
	return &clientgo.ListWatch{
		ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
			return &corev1.SecretList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Secret{{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", ResourceVersion: "1"},
				StringData: map[string]string{"password": password},
			}}}, nil
		},
		WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
	}
}

// spoilt has a bool of a Secret be a string.
type spoilt struct{ byteSource }

func (s spoilt) List(ctx context.Context, o engine.ListOptions) (engine.ListStream, error) {
	l, err := s.Source.List(ctx, o)
	return spoiltList{l}, err
}

type spoiltList struct{ engine.ListStream }

func (l spoiltList) Next() (engine.Item, error) {
	it, err := l.ListStream.Next()
	if err != nil {
		return it, err
	}
	raw, err := json.Marshal(it.Object)
	text := strings.Replace(string(raw), `"stringData":`, `"immutable":"`+password+`","stringData":`, 1)
	return engine.Item{Format: wire.JSON, Bytes: []byte(text)}, err
}

// secretInformer makes an informer of Secrets, of objects or of bytes.
func secretInformer(bytes bool, source func(byteSource) engine.Source, o cache.SharedIndexInformerOptions) cache.SharedIndexInformer {
	lw := secretsOnly()
	if !bytes {
		return cache.NewSharedIndexInformerWithOptions(lw, &corev1.Secret{}, o)
	}
	return cache.NewSharedIndexInformerWithOptions(&dropin.ListWatch{
		ListerWatcher: lw,
		Open:          func(dropin.Needs) engine.Source { return source(byteSource{kube.NewObjectSource("secrets", lw)}) },
		Decode:        dropin.DecodeTyped(&corev1.Secret{}),
		Query:         kube.Query{Resource: corev1.SchemeGroupVersion.WithResource("secrets")},
		Needs:         dropin.Anything,
	}, &corev1.Secret{}, o)
}

// TestSecretsAreNotTold: whatever fails over a Secret, a decoder or a function of the
// program, its values are in no log, error, trace or description.
func TestSecretsAreNotTold(t *testing.T) {
	asSent := func(s byteSource) engine.Source { return s }
	valueOf := func(obj any) string { return obj.(*corev1.Secret).StringData["password"] }
	handler := func(f func(any)) func(cache.SharedIndexInformer) error {
		return func(i cache.SharedIndexInformer) error {
			_, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: f})
			return err
		}
	}
	indexed := func(f cache.IndexFunc) func(cache.SharedIndexInformer) error {
		return func(i cache.SharedIndexInformer) error { return i.AddIndexers(cache.Indexers{"it": f}) }
	}
	for name, test := range map[string]struct {
		source func(byteSource) engine.Source
		set    func(cache.SharedIndexInformer) error
	}{
		"bytes":        {func(s byteSource) engine.Source { return spoilt{s} }, handler(func(any) {})},
		"handler":      {asSent, handler(func(obj any) { panic("handled " + valueOf(obj)) })},
		"index panics": {asSent, indexed(func(obj any) ([]string, error) { panic("indexed " + valueOf(obj)) })},
		"index fails":  {asSent, indexed(func(obj any) ([]string, error) { return nil, errors.New(valueOf(obj)) })},
		"transform": {asSent, func(i cache.SharedIndexInformer) error {
			return i.SetTransform(func(obj any) (any, error) { return nil, errors.New(valueOf(obj)) })
		}},
		"transforms on": {asSent, func(i cache.SharedIndexInformer) error {
			return i.SetTransform(func(obj any) (any, error) { panic(valueOf(obj)) })
		}},
	} {
		for _, bytes := range []bool{true, false} {
			if !bytes && name == "bytes" {
				continue
			}
			t.Run(fmt.Sprintf("%s, bytes=%t", name, bytes), func(t *testing.T) {
				heard := overhear(t)
				synctest.Test(t, func(t *testing.T) {
					i := secretInformer(bytes, test.source, cache.SharedIndexInformerOptions{})
					must(t, cache.SetTracer(i, heard))
					must(t, test.set(i))
					must(t, handler(func(any) {})(i))
					ctx, cancel := context.WithCancel(t.Context())
					go i.RunWithContext(ctx)
					synctest.Wait()
					_, _, err := i.GetStore().GetByKey("ns/a")
					d := cache.Describe(i)
					asJSON, _ := json.Marshal(d)
					heard.hear(err, d, string(asJSON), i.(dropin.Health).Health())
					cancel()
					synctest.Wait()
				})
				if said := strings.Join(heard.lines, "\n"); strings.Contains(said, password) {
					t.Errorf("the password is told:\n%s", said)
				} else if !strings.Contains(said, "withheld") {
					t.Errorf("nothing is told to be withheld:\n%s", said)
				}
			})
		}
	}
}
