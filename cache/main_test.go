package cache_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	// The default handlers sleep between errors, by a clock that does not know of
	// the fake time in which most tests here run.
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(ctx context.Context, err error, message string, args ...any) {
			klog.FromContext(ctx).Error(err, message, args...)
		},
	}
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

// forSeeds runs a test with random numbers of n new seeds, which are the names of
// the subtests, or of the one in KINFORM_SEED. With -short it is a fifth of n.
func forSeeds(t *testing.T, n int, test func(*testing.T, *rand.Rand)) {
	t.Helper()
	if testing.Short() {
		n = (n + 4) / 5
	}
	seeds := make([]uint64, n)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if wanted := os.Getenv("KINFORM_SEED"); wanted != "" {
		seed, err := strconv.ParseUint(wanted, 10, 64)
		if err != nil {
			t.Fatalf("KINFORM_SEED: %v", err)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("KINFORM_SEED=%d", seed), func(t *testing.T) {
			test(t, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}
