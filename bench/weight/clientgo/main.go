// Command clientgo is the smallest program with an informer of pods, on
// client-go: the benchmark looks at its size.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		panic(err)
	}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	pods := factory.Core().V1().Pods().Informer()
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { fmt.Println("added", obj.(*corev1.Pod).Name) },
		UpdateFunc: func(_, obj any) { fmt.Println("updated", obj.(*corev1.Pod).Name) },
	})
	if err != nil {
		panic(err)
	}
	pods.RunWithContext(context.Background())
}
