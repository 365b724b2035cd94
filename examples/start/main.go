// Command start is the program of docs/start.md: it prints the pods that change, and
// counts those of each node. It runs until it is stopped.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinform/kinform"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		log.Fatal(err)
	}
	if err := run(ctx, cfg, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, cfg *rest.Config, out io.Writer) error {
	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{})
	if err != nil {
		return err
	}
	byNode, err := pods.AddFieldIndex("node", "spec.nodeName")
	if err != nil {
		return err
	}
	pods.Subscribe(func(ctx context.Context, ev kinform.Event[*corev1.Pod]) {
		pod, err := ev.New() // decoded now, and not before
		if err != nil || ev.Initial() {
			return
		}
		fmt.Fprintln(out, ev.Type, ev.Key, pod.Status.Phase)
	}, kinform.SubscribeOptions{})

	ended := make(chan error, 1)
	go func() { ended <- pods.Run(ctx) }()
	if err := pods.WaitSynced(ctx); err != nil {
		return err // names the cause: forbidden, unreachable, …
	}
	for _, node := range byNode.Values() {
		n := 0
		for range byNode.Keys(node) {
			n++
		}
		fmt.Fprintln(out, node, "has", n, "pods")
	}
	return <-ended
}
