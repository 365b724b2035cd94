package kinform

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
)

// TestKindsOfKubernetes: the kind that is found from where a Go type is declared is
// the kind that the scheme has for it.
func TestKindsOfKubernetes(t *testing.T) {
	checked := 0
	for gvk, goType := range scheme.Scheme.AllKnownTypes() {
		if !strings.HasPrefix(goType.PkgPath(), "k8s.io/api/") || goType.Name() != gvk.Kind {
			continue
		}
		checked++
		if got, ok := kindOf(goType); !ok || got != gvk {
			t.Errorf("%s is found to be %v, it is %v", goType, got, gvk)
		}
	}
	if checked < 200 {
		t.Errorf("only %d types were checked", checked)
	}
}

func TestTypesOfOthersNeedAResource(t *testing.T) {
	type mine struct{}
	if _, err := resourceOf(reflect.TypeFor[mine](), Options{}.Resource); err == nil || !strings.Contains(err.Error(), "Options.Resource") {
		t.Errorf("a type of nobody's is taken: %v", err)
	}
}
