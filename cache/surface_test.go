package cache_test

import (
	"testing"

	"github.com/kinform/kinform/internal/surface"
)

// TestSurface: a program that compiles with client-go's packages compiles with
// these. It fails when client-go grows.
func TestSurface(t *testing.T) {
	packages := map[string]string{
		"k8s.io/client-go/tools/cache":           "github.com/kinform/kinform/cache",
		"k8s.io/client-go/tools/cache/testing":   "github.com/kinform/kinform/cache/testing",
		"k8s.io/client-go/tools/cache/synctrack": "github.com/kinform/kinform/cache/synctrack",
	}
	for theirs, ours := range packages {
		t.Run(theirs, func(t *testing.T) {
			missing, err := surface.Missing(theirs, ours)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range missing {
				t.Error(line)
			}
		})
	}
}
