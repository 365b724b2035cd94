package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	clientgoinformers "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/kube"
)

// A synced informer, and what it took.
type synced struct {
	seen    int     // objects that each handler got
	keep    any     // what keeps the informer alive
	outside float64 // bytes that it holds outside the heap
}

// measureSync measures from nothing until the handler has seen every object of
// the initial list, and what is held afterwards.
func measureSync(t task, run func() (synced, error)) (metrics, error) {
	before, residentBefore := heap(), settle()
	began := time.Now()
	s, err := run()
	if err != nil {
		return nil, err
	}
	m := metrics{"time": time.Since(began).Seconds(), "cpu": cpu(), "peak": peak(), "idle": residentBefore}
	if s.seen != t.Objects {
		return nil, fmt.Errorf("the handler saw %d of %d objects", s.seen, t.Objects)
	}
	n := float64(s.seen)
	m["resident per object"] = (settle() - residentBefore) / n
	m["held per object"] = (heap() - before + s.outside) / n
	runtime.KeepAlive(s.keep)
	return m, nil
}

// syncPods syncs an informer of pods with one handler.
func syncPods(ctx context.Context, t task) (metrics, error) {
	return measureSync(t, func() (synced, error) {
		switch t.Side {
		case kinformFields:
			return syncFields(ctx, t)
		case kinformTyped:
			return syncTyped(ctx, t, kinform.Options{}, func(p *corev1.Pod) int { return len(p.Status.Phase) })
		}
		factory, err := podFactory(t)
		if err != nil {
			return synced{}, err
		}
		return syncShared(ctx, factory.Core().V1().Pods().Informer(), func(obj any) int {
			pod := obj.(*corev1.Pod)
			if t.Read {
				return len(pod.Status.Phase)
			}
			return len(pod.Name)
		})
	})
}

// podFields are four fields of a pod.
type podFields struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		NodeName   string `json:"nodeName"`
		Containers []struct {
			Image string `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase corev1.PodPhase `json:"phase"`
	} `json:"status"`
}

// syncFields syncs an informer of package kinform whose handler reads some fields.
func syncFields(ctx context.Context, t task) (synced, error) {
	pods, err := kinform.New[*corev1.Pod](t.Server.config(), kinform.Options{})
	if err != nil {
		return synced{}, err
	}
	fields, err := kinform.View[*podFields](pods)
	if err != nil {
		return synced{}, err
	}
	return syncInformer(ctx, t, fields, func(p *podFields) int {
		n := len(p.Metadata.Name) + len(p.Spec.NodeName) + len(p.Status.Phase)
		for _, c := range p.Spec.Containers {
			n += len(c.Image)
		}
		return n
	})
}

// podFactory returns the informer factory of client-go, or kinform's.
func podFactory(t task) (clientgoinformers.SharedInformerFactory, error) {
	cfg := t.Server.config()
	if t.Side == kinformTuned {
		tuned, err := kube.Tuned(cfg)
		if err != nil {
			return nil, err
		}
		cfg = tuned
	}
	cfg.DisableCompression = t.Side == kinformPlain
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	if t.Side != clientGo {
		return informers.NewSharedInformerFactory(client, 0), nil
	}
	return clientgoinformers.NewSharedInformerFactory(client, 0), nil
}

// syncTyped syncs an informer of package kinform.
func syncTyped[T any](ctx context.Context, t task, o kinform.Options, read func(T) int) (synced, error) {
	inf, err := kinform.New[T](t.Server.config(), o)
	if err != nil {
		return synced{}, err
	}
	return syncInformer(ctx, t, inf, read)
}

func syncInformer[T any](ctx context.Context, t task, inf *kinform.Informer[T], read func(T) int) (synced, error) {
	s := synced{keep: inf}
	sub := subscribe(inf, t, &s.seen, read)
	go func() { _ = inf.Run(context.WithoutCancel(ctx)) }()
	err := sub.WaitSynced(ctx)
	s.outside = float64(inf.Status().Memory.Live)
	return s, err
}

func subscribe[T any](inf *kinform.Informer[T], t task, seen *int, read func(T) int) *kinform.Subscription {
	return inf.Subscribe(func(_ context.Context, ev kinform.Event[T]) {
		*seen++
		if t.Read {
			if obj, err := ev.New(); err == nil {
				sink.Add(int64(read(obj)))
			}
		} else {
			sink.Add(int64(len(ev.Key)))
		}
	}, kinform.SubscribeOptions{})
}

// syncShared syncs one of client-go's informers, or a drop-in for it.
func syncShared(ctx context.Context, inf cache.SharedIndexInformer, read func(any) int) (synced, error) {
	s := synced{keep: inf}
	reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		s.seen++
		sink.Add(int64(read(obj)))
	}})
	if err != nil {
		return s, err
	}
	go inf.RunWithContext(context.WithoutCancel(ctx))
	if !cache.WaitForCacheSync(ctx.Done(), reg.HasSynced) {
		return s, context.Cause(ctx)
	}
	return s, nil
}
