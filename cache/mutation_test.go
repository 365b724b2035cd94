package cache_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kinform/kinform/cache"
)

// TestMutationDetectorEndsTheProgram runs this test again as a program of its own,
// with the detector on.
func TestMutationDetectorEndsTheProgram(t *testing.T) {
	const on = "KUBE_CACHE_MUTATION_DETECTOR"
	if os.Getenv(on) != "" {
		d := cache.NewCacheMutationDetector("test")
		p := pod("a", 1)
		d.AddObject(p)
		p.Name = "changed"
		d.Run(nil)
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), on+"=true")
	out, err := again.CombinedOutput()
	for _, want := range []string{"CACHE test[0] ALTERED!", "panic: cache test modified"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%v, without %q:\n%s", err, want, out)
		}
	}

	// Off, it does nothing.
	d := cache.NewCacheMutationDetector("test")
	p := pod("a", 1)
	d.AddObject(p)
	p.Name = "changed"
	d.Run(nil)
}
