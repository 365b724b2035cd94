// Package foreign has the types of other projects' custom resources held as bytes, as
// an informer does that is given them as objects.
package foreign

import (
	"flag"
	"reflect"
	"testing"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	kustomize "github.com/fluxcd/kustomize-controller/api/v1"
	flux "github.com/fluxcd/source-controller/api/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	networking "istio.io/client-go/pkg/apis/networking/v1"
	security "istio.io/client-go/pkg/apis/security/v1"
	serving "knative.dev/serving/pkg/apis/serving/v1"
	cluster "sigs.k8s.io/cluster-api/api/core/v1beta2"
	gateway "sigs.k8s.io/gateway-api/apis/v1"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/encode/survey"
	"github.com/kinform/kinform/wire"
)

var update = flag.Bool("update", false, "write docs/evidence/objects.md again")

// types are custom resources that many clusters have.
var types = map[string]runtime.Object{
	"gateway-api HTTPRoute":              &gateway.HTTPRoute{},
	"gateway-api Gateway":                &gateway.Gateway{},
	"cert-manager Certificate":           &certmanager.Certificate{},
	"cert-manager ClusterIssuer":         &certmanager.ClusterIssuer{},
	"prometheus-operator ServiceMonitor": &monitoring.ServiceMonitor{},
	"prometheus-operator Prometheus":     &monitoring.Prometheus{},
	"prometheus-operator PrometheusRule": &monitoring.PrometheusRule{},
	"istio VirtualService":               &networking.VirtualService{},
	"istio DestinationRule":              &networking.DestinationRule{},
	"istio AuthorizationPolicy":          &security.AuthorizationPolicy{},
	"knative serving Service":            &serving.Service{},
	"knative serving Revision":           &serving.Revision{},
	"flux GitRepository":                 &flux.GitRepository{},
	"flux Kustomization":                 &kustomize.Kustomization{},
	"cluster-api Cluster":                &cluster.Cluster{},
	"cluster-api Machine":                &cluster.Machine{},
}

// TestForeignTypes tries them, and holds docs/evidence/objects.md to the result.
func TestForeignTypes(t *testing.T) {
	var results []survey.Result
	for name, example := range types {
		r := survey.Try(name, reflect.TypeOf(example).Elem(), 48, wire.JSON)
		if r.Of == 0 || r.Changed {
			t.Errorf("%s: %d tried, changed %t: %s", name, r.Of, r.Changed, r.Why)
		}
		results = append(results, r)
	}
	if err := survey.Section("../..", "foreign", survey.Table(results), *update); err != nil {
		t.Error(err)
	}
}
