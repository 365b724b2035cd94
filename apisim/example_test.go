package apisim_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
)

func Example() {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")

	watch, err := client.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer watch.Stop()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}, Data: map[string]string{"colour": "red"}}
	if config, err = client.Create(ctx, config, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	config.Data["colour"] = "blue"
	if _, err := client.Update(ctx, config, metav1.UpdateOptions{}); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		event := <-watch.ResultChan()
		fmt.Println(event.Type, event.Object.(*corev1.ConfigMap).Data["colour"])
	}
	// Output:
	// ADDED red
	// MODIFIED blue
}

func ExampleServer_Inject() {
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	remove := server.Inject(apisim.Fault{
		Match:  apisim.Match{Verb: "create", Resource: "pods"},
		Status: 503,
		Times:  1,
	})
	defer remove()

	pods := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Pods("default")
	for range 2 {
		_, err = pods.Create(context.Background(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		fmt.Println("created:", err == nil, "unavailable:", apierrors.IsServiceUnavailable(err))
	}
	// Output:
	// created: false unavailable: true
	// created: true unavailable: false
}
