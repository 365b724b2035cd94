package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
)

// updates measures the whole way of an update: from the socket through the store
// to the last of the handlers.
func updates(ctx context.Context, t task) (metrics, error) {
	listed, err := tell(ctx, t.Server, "/reset")
	if err != nil {
		return nil, err
	}
	u := &updateRun{last: strconv.FormatUint(listed+uint64(t.Updates), 10), calls: make([]atomic.Int64, t.Handlers)}
	u.waiting.Add(t.Handlers)
	if t.Side == kinformTyped {
		err = u.typed(ctx, t)
	} else {
		err = u.shared(ctx, t)
	}
	if err != nil {
		return nil, err
	}
	waitQuiet()
	cpuBefore, mallocsBefore, began := cpu(), mallocs(), time.Now()
	if _, err := tell(ctx, t.Server, fmt.Sprintf("/start?updates=%d", t.Updates)); err != nil {
		return nil, err
	}
	if err := u.wait(ctx); err != nil {
		return nil, err
	}
	took := time.Since(began).Seconds()
	calls := int64(0)
	for i := range u.calls {
		calls += u.calls[i].Load()
	}
	// What was merged on the way does not count as done.
	each := float64(calls) / float64(t.Handlers)
	return metrics{
		"updates/s":      each / took,
		"taken in/s":     float64(t.Updates) / took,
		"mallocs":        (mallocs() - mallocsBefore) / each,
		"cpu per update": (cpu() - cpuBefore) / each,
		"calls":          each / float64(t.Updates),
	}, nil
}

// asks is the kind of task whose handlers ask first whether the spec has changed.
const asks = "asks"

type updateRun struct {
	last    string
	calls   []atomic.Int64
	waiting sync.WaitGroup
}

// got is what a handler does with an update.
func (u *updateRun) got(handler int, version string) {
	u.calls[handler].Add(1)
	if version == u.last {
		u.waiting.Done()
	}
}

func (u *updateRun) wait(ctx context.Context) error {
	all := make(chan struct{})
	go func() { u.waiting.Wait(); close(all) }()
	select {
	case <-all:
		return nil
	case <-ctx.Done():
		var calls []int64
		for i := range u.calls {
			calls = append(calls, u.calls[i].Load())
		}
		return fmt.Errorf("the handlers got %v updates: %w", calls, context.Cause(ctx))
	}
}

func (u *updateRun) shared(ctx context.Context, t task) error {
	factory, err := podFactory(t)
	if err != nil {
		return err
	}
	inf := factory.Core().V1().Pods().Informer()
	var regs []cache.InformerSynced
	for i := range t.Handlers {
		reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
			old, pod := before.(*corev1.Pod), after.(*corev1.Pod)
			if t.Kind == asks && equality.Semantic.DeepEqual(old.Spec, pod.Spec) {
				u.got(i, pod.ResourceVersion)
				return
			}
			sink.Add(int64(len(old.Status.Phase) + len(pod.Status.Phase)))
			u.got(i, pod.ResourceVersion)
		}})
		if err != nil {
			return err
		}
		regs = append(regs, reg.HasSynced)
	}
	factory.Start(context.WithoutCancel(ctx).Done())
	if !cache.WaitForCacheSync(ctx.Done(), regs...) {
		return context.Cause(ctx)
	}
	return nil
}

func (u *updateRun) typed(ctx context.Context, t task) error {
	inf, err := kinform.New[*corev1.Pod](t.Server.config(), kinform.Options{})
	if err != nil {
		return err
	}
	spec, err := inf.Field("spec")
	if err != nil {
		return err
	}
	var subs []*kinform.Subscription
	for i := range t.Handlers {
		subs = append(subs, inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Pod]) {
			if ev.Type != kinform.EventUpdated {
				return
			}
			if t.Read && (t.Kind != asks || ev.Changed(spec)) {
				now, err := ev.New()
				old, oldErr := ev.Old()
				if err != nil || oldErr != nil {
					return
				}
				sink.Add(int64(len(old.Status.Phase) + len(now.Status.Phase)))
			}
			u.got(i, ev.ResourceVersion())
		}, kinform.SubscribeOptions{Limit: 2 * t.Updates})) // nothing is merged
	}
	go func() { _ = inf.Run(context.WithoutCancel(ctx)) }()
	for _, sub := range subs {
		if err := sub.WaitSynced(ctx); err != nil {
			return err
		}
	}
	return nil
}

// drain reads the updates and throws them away: what the feed can do.
func drain(ctx context.Context, t task) (metrics, error) {
	listed, err := tell(ctx, t.Server, "/reset")
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/v1/pods?watch=1&resourceVersion=%d", t.Server.Host, listed), nil)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if _, err := tell(ctx, t.Server, fmt.Sprintf("/start?updates=%d", t.Updates)); err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	last := []byte(strconv.FormatUint(listed+uint64(t.Updates), 10))
	if err := readUntil(res.Body, last); err != nil {
		return nil, err
	}
	n := float64(t.Updates)
	return metrics{"updates/s": n / time.Since(began).Seconds(), "taken in/s": n / time.Since(began).Seconds(), "mallocs": 0, "cpu per update": cpu() / n}, nil
}

// readUntil reads until the word has come.
func readUntil(r io.Reader, word []byte) error {
	buf := make([]byte, 256<<10)
	kept := 0
	for {
		n, err := r.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], word) {
			return nil
		}
		if err != nil {
			return err
		}
		tail := min(kept+n, len(word)-1)
		copy(buf, buf[kept+n-tail:kept+n])
		kept = tail
	}
}
