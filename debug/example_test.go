package debug_test

import (
	"context"
	"log"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/debug"
)

// A program with one informer and the page, for its own machine: kubectl port-forward
// leads there.
func Example() {
	cfg, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{})
	if err != nil {
		log.Fatal(err)
	}
	page := debug.New(debug.Options{Title: "my controller"})
	if err := page.Add("pods", pods); err != nil {
		log.Fatal(err)
	}
	defer page.Close()
	http.Handle("/debug/kinform/", http.StripPrefix("/debug/kinform", page))
	go func() { log.Print(http.ListenAndServe("127.0.0.1:8080", nil)) }()
	if err := pods.Run(context.Background()); err != nil {
		log.Print(err)
	}
}
