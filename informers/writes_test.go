package informers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin/dropintest"
)

// TestListersAfterWrites: listers give nothing older than what was written and waited
// for.
func TestListersAfterWrites(t *testing.T) {
	server := dropintest.Server(t)
	var writes kinform.Writes
	cfg := server.Config()
	cfg.Wrap(writes.Wrap)
	client := connect(t, cfg)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	maps := factory.Core().V1().ConfigMaps()
	informer, lister := maps.Informer(), maps.Lister().ConfigMaps("default")
	start(t, factory)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()

	own := client.CoreV1().ConfigMaps("default")
	for i := range 50 {
		name := fmt.Sprint("o", i)
		made, err := own.Create(ctx, configMap("default", name, "web"), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wait := cache.WaitForWrites(ctx, informer, &writes)
		if i%2 == 0 {
			wait = cache.WaitForObject(ctx, informer, made)
		}
		if held, err := lister.Get(name); wait != nil || err != nil || held.ResourceVersion != made.ResourceVersion {
			t.Fatalf("wait %v; read %v, %v", wait, held, err)
		}
		made.Data["of"] = "another"
		if made, err = own.Update(ctx, made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		wait = cache.WaitForVersion(ctx, informer, made.ResourceVersion)
		if held, err := lister.Get(name); wait != nil || err != nil || held.Data["of"] != "another" {
			t.Fatalf("wait %v; read %v, %v", wait, held, err)
		}
		if err := own.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		wait = cache.WaitForDeleted(ctx, informer, made)
		if i%2 == 0 {
			wait = cache.WaitForWrites(ctx, informer, &writes, "default/"+name)
		}
		if held, err := lister.Get(name); wait != nil || !apierrors.IsNotFound(err) {
			t.Fatalf("wait %v; read %v, %v", wait, held, err)
		}
	}
	if err := cache.WaitForWrites(ctx, informer, &writes); err != nil { // for the other half of the deletions
		t.Fatal(err)
	}
	// What was written in another namespace is not its concern.
	if _, err := client.CoreV1().ConfigMaps("kube-system").Create(ctx, configMap("kube-system", "o", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := cache.WaitForWrites(over, informer, &writes); err != nil {
		t.Errorf("another namespace is waited for: %v", err)
	}
}

// TestWaitsOfOthers: informers that are not kinform's, and versions that never come,
// are errors and no waits without end.
func TestWaitsOfOthers(t *testing.T) {
	foreign := clientgo.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Pods().Informer()
	var writes kinform.Writes
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}}
	for _, err := range []error{
		cache.WaitForVersion(t.Context(), foreign, "1"), cache.WaitForObject(t.Context(), foreign, pod),
		cache.WaitForDeleted(t.Context(), foreign, pod), cache.WaitForWrites(t.Context(), foreign, &writes),
	} {
		if err == nil {
			t.Error("a foreign informer can be waited for")
		}
	}
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	start(t, factory)
	if err := cache.WaitForVersion(t.Context(), informer, "5"); !errors.Is(err, kinform.ErrNoVersion) {
		t.Errorf("waiting for a version that a fake never gave gives %v", err)
	}
	if err := cache.WaitForVersion(t.Context(), informer, "new"); !errors.Is(err, kinform.ErrUnordered) {
		t.Errorf("waiting for a version that is no number gives %v", err)
	}
	if err := cache.WaitForObject(t.Context(), informer, &corev1.Pod{}); err == nil {
		t.Error("an object without a version can be waited for")
	}
}
