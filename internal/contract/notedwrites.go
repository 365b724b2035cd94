package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

// The stories of point 11 in which a transport notes what is written.

// noting returns a client whose writes are noted.
func (e *env) noting(w *kinform.Writes, contentType string) kubernetes.Interface {
	e.Helper()
	cfg := e.config()
	cfg.ContentType = contentType
	cfg.Wrap(w.Wrap)
	client, err := kubernetes.NewForConfig(cfg)
	e.must(err, "making a client")
	return client
}

func notedWrites(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	e.sync(inf)
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		var w kinform.Writes
		own := *e
		own.kube = e.noting(&w, contentType)
		wait := func() {
			e.Helper()
			e.must(inf.WaitForWrites(e.ctx, &w), "waiting for what was written in "+contentType)
		}
		for i := range 5 {
			o := own.create("noted", "0")
			wait()
			e.wantHeld(inf, o)
			o = own.update("noted", fmt.Sprint(i+1))
			e.must(inf.WaitForWrites(e.ctx, &w, keyOf(o)), "waiting for one object")
			e.wantHeld(inf, o)
			o, err := own.maps().Patch(e.ctx, "noted", types.MergePatchType, []byte(`{"data":{"value":"9"}}`), metav1.PatchOptions{})
			e.must(err, "patching")
			wait()
			e.wantHeld(inf, o)
			own.delete("noted")
			wait()
			e.wantNotHeld(inf, o)
		}
		own.seed("0", names("many", 10)...)
		e.must(own.maps().DeleteCollection(e.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}), "deleting all")
		wait()
		if n := inf.Lister().Len(); n != 0 && len(e.onServer()) == 0 {
			e.Errorf("the cache has %d objects after all were deleted", n)
		}
		e.notedPods(&w, own.kube)
	}
}

// notedPods writes pods, whose deletions are answered with the pod.
func (e *env) notedPods(w *kinform.Writes, client kubernetes.Interface) {
	e.Helper()
	inf := informerOf[*corev1.Pod](e, e.config(), kinform.Options{})
	stop := e.sync(inf)
	defer stop()
	pods := client.CoreV1().Pods(e.ns)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "noted"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	for range 5 {
		made, err := pods.Create(e.ctx, pod, metav1.CreateOptions{})
		e.must(err, "creating a pod")
		made.Status.Phase = corev1.PodRunning
		_, err = pods.UpdateStatus(e.ctx, made, metav1.UpdateOptions{})
		e.must(err, "updating a status")
		e.must(inf.WaitForWrites(e.ctx, w), "waiting for a pod")
		if held, err := inf.Lister().Get(e.key("noted")); err != nil || held.Status.Phase != corev1.PodRunning {
			e.Errorf("the cache has %v, %v", held, err)
		}
		e.must(pods.Delete(e.ctx, "noted", metav1.DeleteOptions{}), "deleting a pod")
		e.must(inf.WaitForWrites(e.ctx, w), "waiting for the end of a pod")
		if held, err := inf.Lister().Get(e.key("noted")); !errors.Is(err, kinform.ErrNotFound) {
			e.Errorf("the cache has %v, %v", held, err)
		}
	}
}

func notedNothing(e *env) {
	var w kinform.Writes
	own := *e
	own.kube = e.noting(&w, "application/json")
	o := e.create("there", "0")
	// It is not run, so that a wait for anything would not return.
	inf := e.informer(e.config(), kinform.Options{})
	all := []string{metav1.DryRunAll}
	_, err := own.maps().Create(e.ctx, configMap("dry", "0"), metav1.CreateOptions{DryRun: all})
	e.must(err, "creating, dry")
	_, err = own.maps().Update(e.ctx, o, metav1.UpdateOptions{DryRun: all})
	e.must(err, "updating, dry")
	e.must(own.maps().Delete(e.ctx, "there", metav1.DeleteOptions{DryRun: all}), "deleting, dry")
	e.must(own.maps().DeleteCollection(e.ctx, metav1.DeleteOptions{DryRun: all}, metav1.ListOptions{}), "deleting all, dry")
	if _, err = own.maps().Create(e.ctx, configMap("there", "0"), metav1.CreateOptions{}); !elsewhere(err) {
		e.Errorf("creating what is there gives %v", err)
	}
	if err := own.maps().Delete(e.ctx, "nobody", metav1.DeleteOptions{}); err == nil {
		e.Error("deleting what is not there succeeds")
	}
	e.must(inf.WaitForWrites(over(), &w), "waiting for nothing")
	own.update("there", "1")
	if err := inf.WaitForWrites(over(), &w); !errors.Is(err, context.Canceled) {
		e.Errorf("waiting for an update gives %v", err)
	}
	second := e.informer(e.config(), kinform.Options{Namespaces: []string{"elsewhere"}})
	e.must(second.WaitForWrites(over(), &w), "waiting in another namespace")
}

func notedRestored(e *env) {
	v := e.versions()
	restore := e.backup()
	var writes kinform.Writes
	own := *e
	own.kube = e.noting(&writes, "application/json")
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	v.burn(margin)
	w.receives(own.create("lost", "1"))
	w.goesBack.Store(true)
	restore()
	w.until("the new epoch", func() bool { return w.state[e.key("lost")].kind == "" })
	if err := inf.WaitForWrites(e.ctx, &writes); !errors.Is(err, kinform.ErrNoVersion) {
		e.Errorf("waiting for what was lost gives %v", err)
	}
	o := own.create("new", "2")
	e.must(inf.WaitForWrites(e.ctx, &writes), "waiting after the backup was restored")
	e.wantHeld(inf, o)
}

// ReadYourWrites has eight goroutines write to a server through a transport that notes
// it, so many times together, wait, and read what they wrote. It logs how long the waits
// took.
func ReadYourWrites(t *testing.T, cfg *rest.Config, total int) {
	e := newEnv(t, Server{Config: cfg})
	e.clock.Stop()
	var w kinform.Writes
	own := *e
	ownCfg := e.config()
	ownCfg.Wrap(w.Wrap)
	ownCfg.QPS = -1
	var err error
	own.kube, err = kubernetes.NewForConfig(ownCfg)
	e.must(err, "making a client")
	inf := e.informer(e.config(), kinform.Options{})
	e.sync(inf)
	const writers = 8
	took := make([][]time.Duration, writers)
	var all sync.WaitGroup
	began := time.Now()
	for i := range writers {
		all.Go(func() { took[i] = own.writeAndRead(inf, &w, fmt.Sprint("own-", i), total/writers) })
	}
	all.Wait()
	sorted := slices.Sorted(slices.Values(slices.Concat(took...)))
	n := len(sorted)
	if n < total {
		e.Fatalf("%d waits, want %d", n, total)
	}
	t.Logf("%d writes by %d goroutines in %v, each read back: waits p50 %v, p99 %v, longest %v",
		n, writers, time.Since(began).Round(time.Millisecond), sorted[n/2], sorted[n*99/100], sorted[n-1])
}

// writeAndRead writes an object again and again, and reads it back each time.
func (e *env) writeAndRead(inf *informer, w *kinform.Writes, name string, times int) (took []time.Duration) {
	var o object
	for n := range times {
		gone := false
		switch {
		case o == nil:
			o = e.create(name, fmt.Sprint(n))
		case n%10 == 9:
			e.delete(name)
			gone = true
		default:
			o = e.update(name, fmt.Sprint(n))
		}
		began := time.Now()
		e.mustWait(inf.WaitForWrites(e.ctx, w, keyOf(o)))
		took = append(took, time.Since(began))
		if gone {
			e.wantNotHeld(inf, o)
			o = nil
		} else {
			e.wantHeld(inf, o)
		}
	}
	return took
}
