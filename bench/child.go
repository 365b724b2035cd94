package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
)

// task is what a child process is asked to do, as JSON in its environment.
type task struct {
	Impl    string // "kinform" or "client-go"
	Read    bool   // the handler reads each object; otherwise only its key
	Config  server
	Objects int
	Profile string // where to write a CPU profile, if anywhere
}

// server is what a child needs to reach the server.
type server struct {
	Host, Token string
	CA          []byte
}

func (s server) config() *rest.Config {
	return &rest.Config{Host: s.Host, BearerToken: s.Token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: s.CA}}
}

// result is what a child measured.
type result struct {
	Seconds    float64 // until the handler has seen every object
	CPU        float64 // seconds, user and system
	PeakRSS    float64 // bytes
	HeapObject float64 // bytes per object after a garbage collection, memory outside the heap included
	Seen       int
}

const taskVariable = "KINFORM_BENCH_TASK"

// child runs the task and prints its result.
func child(text string) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	if t.Profile != "" {
		f, err := os.Create(t.Profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	before := heap()
	began := time.Now()
	seen, keep, err := synced(ctx, t)
	if err != nil {
		return err
	}
	r := result{Seconds: time.Since(began).Seconds(), Seen: seen}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	r.CPU = seconds(u.Utime) + seconds(u.Stime)
	r.PeakRSS = float64(u.Maxrss) * 1024
	outside := int64(0)
	if pods, ok := keep.(*kinform.Informer[*corev1.Pod]); ok {
		outside = pods.Status().Packed // in slabs, outside the heap
	}
	r.HeapObject = float64(heap()-before+outside) / float64(max(seen, 1))
	runtime.KeepAlive(keep)
	return json.NewEncoder(os.Stdout).Encode(r)
}

func seconds(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// synced runs an informer until its handler has seen every object of the initial
// list, and returns how many it saw, and what keeps the informer alive.
func synced(ctx context.Context, t task) (int, any, error) {
	switch t.Impl {
	case "verify":
		return verify(ctx, t)
	case "kinform":
		return kinformSync(ctx, t)
	case "client-go":
		return clientGoSync(ctx, t)
	}
	return 0, nil, fmt.Errorf("no implementation %q", t.Impl)
}

var sink atomic.Int64

func kinformSync(ctx context.Context, t task) (int, any, error) {
	pods, err := kinform.New[*corev1.Pod](t.Config.config(), kinform.Options{})
	if err != nil {
		return 0, nil, err
	}
	seen := 0
	sub := pods.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Pod]) {
		seen++
		if t.Read {
			sink.Add(int64(len(ev.New().Status.Phase)))
		} else {
			sink.Add(int64(len(ev.Key)))
		}
	})
	go func() { _ = pods.Run(context.WithoutCancel(ctx)) }()
	err = sub.WaitSynced(ctx)
	return seen, pods, err
}

func clientGoSync(ctx context.Context, t task) (int, any, error) {
	client, err := kubernetes.NewForConfig(t.Config.config())
	if err != nil {
		return 0, nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	seen := 0
	informer := factory.Core().V1().Pods().Informer()
	reg, err := informer.AddEventHandler(clientgo.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		seen++
		pod := obj.(*corev1.Pod)
		if t.Read {
			sink.Add(int64(len(pod.Status.Phase)))
		} else {
			sink.Add(int64(len(pod.Name)))
		}
	}})
	if err != nil {
		return 0, nil, err
	}
	factory.Start(ctx.Done())
	if !clientgo.WaitForCacheSync(ctx.Done(), reg.HasSynced) {
		return seen, nil, context.Cause(ctx)
	}
	return seen, factory, nil
}
