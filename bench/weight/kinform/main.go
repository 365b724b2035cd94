// Command kinform is the smallest program with an informer of pods, on kinform:
// the benchmark looks at its size.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

func main() {
	config, err := rest.InClusterConfig()
	if err != nil {
		panic(err)
	}
	pods, err := kinform.New[*corev1.Pod](config, kinform.Options{})
	if err != nil {
		panic(err)
	}
	pods.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Pod]) {
		if pod, err := ev.New(); err == nil {
			fmt.Println(ev.Type, pod.Name)
		}
	}, kinform.SubscribeOptions{})
	if err := pods.Run(context.Background()); err != nil {
		panic(err)
	}
}
