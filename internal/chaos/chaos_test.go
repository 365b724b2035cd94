package chaos

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/apisim"
)

var (
	soakTime = flag.Duration("soak.time", 2*time.Minute, "how long to soak in all; each of the two servers has half of it")
	soakSeed = flag.Uint64("soak.seed", 0, "of the soak; 0: a new one")
)

// TestSoak is the half of the soak that runs on the embedded server; the other half
// is in test/apiserver.
func TestSoak(t *testing.T) {
	defer goleak.VerifyNone(t)
	server, err := apisim.Start(apisim.Options{TLS: true, BookmarkInterval: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	o := Options{Server: embedded(server), Time: *soakTime / 2, Seed: *soakSeed, Rate: 600, Log: t.Logf}
	if testing.Short() {
		o.Time, o.Round = 3*time.Second, time.Second
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	t.Logf("seed %d: play it again with -soak.seed=%d", o.Seed, o.Seed)
	report, err := Run(t.Context(), o)
	t.Log(report)
	if err != nil {
		t.Error(err)
	}
	if report.Violated > 0 {
		t.Errorf("%d divergences", report.Violated)
	}
}

func embedded(s *apisim.Server) Server {
	return Server{
		Name:   "apisim",
		Config: s.Config(),
		Faults: []ServerFault{
			{"restarted", func(context.Context) error { s.Restart(); return nil }},
			{"history forgotten", func(context.Context) error { s.ForgetHistory(); return nil }},
			{"restarted, history forgotten", func(context.Context) error { s.Restart(); s.ForgetHistory(); return nil }},
		},
		Backup: func(context.Context) (func(context.Context) error, error) {
			saved := s.Snapshot()
			return func(context.Context) error { s.Restore(saved); return nil }, nil
		},
	}
}
