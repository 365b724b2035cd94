package apiserver

import (
	"context"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/chaos"
)

var (
	soakTime = flag.Duration("soak.time", 2*time.Minute, "how long to soak in all; each of the two servers has half of it")
	soakSeed = flag.Uint64("soak.seed", 0, "of the soak; 0: a new one")
)

// TestSoak is the half of the soak that runs on the real server; the other half is
// in internal/chaos.
func TestSoak(t *testing.T) {
	ignored := []goleak.Option{
		goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/kinform/kinform/test/apiserver.(*run).live"),
	}
	s := start(t, Options{})
	o := chaos.Options{Server: underChaos(s), Time: *soakTime / 2, Seed: *soakSeed, Rate: 400, Log: t.Logf}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	t.Logf("seed %d: play it again with -soak.seed=%d", o.Seed, o.Seed)
	report, err := chaos.Run(t.Context(), o)
	t.Log(report)
	if err != nil {
		t.Error(err)
	}
	if report.Violated > 0 {
		t.Errorf("%d divergences", report.Violated)
	}
	goleak.VerifyNone(t, ignored...)
}

func underChaos(s *Server) chaos.Server {
	return chaos.Server{
		Name:   "kube-apiserver",
		Config: s.Config(),
		Faults: []chaos.ServerFault{
			{Name: "kube-apiserver restarted", Do: s.RestartAPIServer},
			{Name: "kube-apiserver killed (-9)", Do: func(ctx context.Context) error {
				if err := s.KillAPIServer(); err != nil {
					return err
				}
				return s.StartAPIServer(ctx)
			}},
			{Name: "etcd killed (-9)", Do: func(ctx context.Context) error {
				if err := s.KillEtcd(); err != nil {
					return err
				}
				return s.StartEtcd(ctx)
			}},
			{Name: "etcd compacted", Do: s.Compact},
			{Name: "history forgotten", Do: s.ForgetHistory},
		},
		Backup: s.Backup,
	}
}
