package code

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/kube"
)

func onKinform(ctx context.Context, cfg *rest.Config) error {
	cfg, err := kube.Tuned(cfg) // optional: long lists come faster
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 10*time.Minute)
	pods := factory.Core().V1().Pods()
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { fmt.Println("added", obj.(*corev1.Pod).Name) },
	}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.Informer().HasSynced) {
		return ctx.Err()
	}
	all, err := pods.Lister().List(labels.Everything())
	fmt.Println(len(all), "pods")
	return err
}

// typed is the same program with package kinform.
func typed(ctx context.Context, cfg *rest.Config) error {
	factory, err := kinform.NewFactory(cfg, kinform.Options{})
	if err != nil {
		return err
	}
	pods, err := kinform.For[*corev1.Pod](factory, kinform.Options{})
	if err != nil {
		return err
	}
	pods.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Pod]) {
		if ev.Type == kinform.EventAdded {
			fmt.Println("added", ev.Name()) // nothing is decoded for it
		}
	}, kinform.SubscribeOptions{})
	if err := factory.Start(ctx); err != nil {
		return err
	}
	defer factory.Shutdown()
	if err := factory.WaitSynced(ctx); err != nil {
		return err // names what has not synced, and why
	}
	fmt.Println(pods.Lister().Len(), "pods")
	return nil
}
