package code

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// TestClientGo runs the program of docs/migrate-client-go.md, before and after.
func TestClientGo(t *testing.T) {
	server := newServer(t)
	createPod(t, server, "web", "node-7")
	for name, program := range map[string]func(context.Context, *rest.Config) error{
		"before": onClientGo, "after": onKinform, "typed": typed,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := program(ctx, server.Config()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func onClientGo(ctx context.Context, cfg *rest.Config) error {
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
