package unmarshal

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// ring embeds itself, by way of another struct.
type ring struct {
	*half
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
}

type half struct {
	*ring
	Status struct {
		Phase string `json:"phase"`
	} `json:"status"`
}

// TestStructsThatEmbedThemselves have each name once.
func TestStructsThatEmbedThemselves(t *testing.T) {
	of := reflect.TypeFor[ring]()
	var names []string
	for _, path := range NamesIn(of) {
		names = append(names, strings.Join(path, "."))
	}
	if got := strings.Join(names, " "); got != "status status.phase spec spec.nodeName" {
		t.Error(got)
	}
	if err := CheckNames(of, reflect.TypeFor[corev1.Pod]()); err != nil {
		t.Error(err)
	}
	if err := CheckNames(of, reflect.TypeFor[corev1.ConfigMap]()); err == nil {
		t.Error("a ConfigMap has no status")
	}
	if _, err := NewProjection(of, reflect.TypeFor[corev1.Pod]()); err == nil || !strings.Contains(err.Error(), "embedded pointer") {
		t.Error(err)
	}
}
