package chaos

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// Flags are those of the tests that soak a server.
type Flags struct {
	time time.Duration
	seed uint64
	pace float64
	docs string
	heap string
	cpus int
}

// RegisterFlags adds them to the test's command line.
func RegisterFlags() *Flags {
	f := &Flags{}
	flag.DurationVar(&f.time, "soak.time", time.Minute, "how long to soak")
	flag.Uint64Var(&f.seed, "soak.seed", 0, "of the soak; 0: a new one")
	flag.Float64Var(&f.pace, "soak.pace", 0.5, "how much is written and read in a second; 0.15 takes about half of a core")
	flag.StringVar(&f.docs, "soak.docs", "", "write soak.md and the curve of memory into this folder")
	flag.StringVar(&f.heap, "soak.heap", "", "write a profile of the heap at the end into this file")
	flag.IntVar(&f.cpus, "soak.procs", 8, "GOMAXPROCS meanwhile: beyond the cores, goroutines are interrupted anywhere")
	return f
}

// Soak is a test of a server under chaos. Nothing may diverge, and memory may not
// grow.
func (f *Flags) Soak(t *testing.T, o Options) {
	t.Helper()
	o.Time, o.Seed, o.Pace, o.HeapProfile, o.Log = f.time, f.seed, f.pace, f.heap, t.Logf
	if testing.Short() {
		o.Time, o.Round = 3*time.Second, time.Second
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	t.Logf("seed %d: play it again with -soak.seed=%d", o.Seed, o.Seed)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(f.cpus, runtime.GOMAXPROCS(0))))
	report, err := Run(t.Context(), o)
	t.Log(report)
	if err != nil {
		t.Error(err)
	}
	if report.Violated > 0 {
		t.Errorf("%d divergences", report.Violated)
	}
	for _, g := range report.Memory.Growth() {
		if g.Exceeded() {
			t.Errorf("%s has grown from %s to %s", g.Name, g.amount(g.First), g.amount(g.Last))
		}
	}
	if f.docs == "" {
		return
	}
	if err := report.Write(f.docs); err != nil {
		t.Error(err)
	}
}
