package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
)

// relist measures what it costs to list everything again when nothing has changed:
// the watch is cut, and the next one is answered that its version is gone. One pod is
// changed meanwhile, which shows when the new list has reached the handler.
func relist(ctx context.Context, t task) (metrics, error) {
	c := &cutter{}
	seen := make(chan types.NamespacedName, 1)
	mark := &marker{seen: seen}
	keep, err := relistInformer(ctx, t, c, mark)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(t.Server.config())
	if err != nil {
		return nil, err
	}
	waitQuiet()
	before := settle()
	if err := resetPeak(); err != nil {
		return nil, fmt.Errorf("reset the peak of the memory: %w", err)
	}
	cpuBefore := cpu()
	release := c.cut()
	version, err := mark.change(ctx, client)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	release()
	if err := mark.wait(ctx, version); err != nil {
		return nil, err
	}
	m := metrics{"time": time.Since(began).Seconds()}
	waitQuiet()
	m["cpu"], m["extra peak"] = cpu()-cpuBefore, peak()-before
	if c.lists() != 2 {
		return nil, fmt.Errorf("there were %d lists, and not one and one more", c.lists())
	}
	runtime.KeepAlive(keep)
	return m, nil
}

// relistInformer syncs an informer behind a cutter.
func relistInformer(ctx context.Context, t task, c *cutter, mark *marker) (any, error) {
	config := t.Server.config()
	config.WrapTransport = c.wrap
	if t.Side == kinformTyped {
		inf, err := kinform.New[*corev1.Pod](config, kinform.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		sub := inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Pod]) {
			mark.saw(types.NamespacedName{Namespace: ev.Namespace(), Name: ev.Name()}, ev.ResourceVersion())
		}, kinform.SubscribeOptions{})
		go func() { _ = inf.Run(context.WithoutCancel(ctx)) }()
		return inf, sub.WaitSynced(ctx)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	inf := clientgoinformers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	saw := func(obj any) {
		pod := obj.(*corev1.Pod)
		mark.saw(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.ResourceVersion)
	}
	reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: saw, UpdateFunc: func(_, obj any) { saw(obj) }})
	if err != nil {
		return nil, err
	}
	go inf.RunWithContext(context.WithoutCancel(ctx))
	if !cache.WaitForCacheSync(ctx.Done(), reg.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return inf, nil
}

// marker is the pod that is changed: the first that the handler sees.
type marker struct {
	seen chan types.NamespacedName

	mu      sync.Mutex
	pod     types.NamespacedName
	version string
}

func (m *marker) saw(pod types.NamespacedName, version string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pod.Name == "" {
		m.pod = pod
	}
	if m.pod != pod || m.version == version {
		return
	}
	m.version = version
	select {
	case m.seen <- pod:
	default:
	}
}

// change annotates the pod and returns its new version.
func (m *marker) change(ctx context.Context, client kubernetes.Interface) (string, error) {
	m.mu.Lock()
	pod := m.pod
	m.mu.Unlock()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"bench.example.com/at":"%d"}}}`, time.Now().UnixNano())
	changed, err := client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return "", fmt.Errorf("change %s: %w", pod, err)
	}
	return changed.ResourceVersion, nil
}

// wait returns when the handler has seen the version.
func (m *marker) wait(ctx context.Context, version string) error {
	for {
		m.mu.Lock()
		seen := m.version
		m.mu.Unlock()
		if seen == version {
			return nil
		}
		select {
		case <-m.seen:
		case <-ctx.Done():
			return fmt.Errorf("the handler saw version %s and not %s: %w", seen, version, context.Cause(ctx))
		}
	}
}

// cutter sits below a client and makes it list again.
type cutter struct {
	base http.RoundTripper

	mu     sync.Mutex
	gate   chan struct{} // requests wait while it is there
	gone   bool          // watches from a version are refused until there was a list
	listed int
	bodies []io.Closer // of watches
}

func (c *cutter) wrap(base http.RoundTripper) http.RoundTripper {
	c.base = base
	return c
}

func (c *cutter) lists() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listed
}

// cut ends all watches and holds all requests until release is called.
func (c *cutter) cut() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gate := make(chan struct{})
	c.gate, c.gone = gate, true
	for _, b := range c.bodies {
		_ = b.Close()
	}
	c.bodies = nil
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.gate = nil
		close(gate)
	}
}

func (c *cutter) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	gate := c.gate
	c.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	query := req.URL.Query()
	watches := query.Get("watch") == "true" || query.Get("watch") == "1"
	// A limit of one, or a single name, asks for the version of the server and not for
	// its objects.
	probes := query.Get("limit") == "1" || strings.Contains(query.Get("fieldSelector"), "metadata.name=")
	lists := !watches && !probes || query.Get("sendInitialEvents") == "true"
	if c.refuses(watches, lists) {
		return &http.Response{
			Status: "410 Gone", StatusCode: http.StatusGone, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(goneStatus())),
		}, nil
	}
	res, err := c.base.RoundTrip(req)
	if err == nil && watches {
		body := &cutBody{ReadCloser: res.Body}
		res.Body = body
		c.mu.Lock()
		c.bodies = append(c.bodies, body)
		c.mu.Unlock()
	}
	return res, err
}

// refuses decides on a request.
func (c *cutter) refuses(watches, lists bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lists {
		c.listed++
		c.gone = false
	}
	return watches && !lists && c.gone
}

// cutBody is the body of a watch, which ends for its reader when it is closed.
type cutBody struct {
	io.ReadCloser
	once sync.Once
	err  error
}

func (b *cutBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (b *cutBody) Close() error {
	b.once.Do(func() { b.err = b.ReadCloser.Close() })
	return b.err
}
