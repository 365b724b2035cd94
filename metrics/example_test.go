package metrics_test

import (
	"log"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/metrics"
)

// All informers of a factory, including those created later.
func Example() {
	cfg, err := rest.InClusterConfig()
	if err != nil {
		log.Fatal(err)
	}
	factory, err := kinform.NewFactory(cfg, kinform.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = metrics.Register(prometheus.DefaultRegisterer, factory)
	if err != nil {
		log.Fatal(err)
	}
}
