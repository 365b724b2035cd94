package metadatainformer_test

import (
	"testing"

	"github.com/kinform/kinform/internal/surface"
)

// TestSurface: a program that compiles with client-go's package compiles with this
// one. It fails when client-go grows.
func TestSurface(t *testing.T) {
	missing, err := surface.Missing("k8s.io/client-go/metadata/metadatainformer", "github.com/kinform/kinform/metadatainformer")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range missing {
		t.Error(line)
	}
}
