package apiserver

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/internal/chaos"
)

var soak = chaos.RegisterFlags()

// TestSoak is the half of the soak that runs on the real server; the other half is
// in internal/chaos.
func TestSoak(t *testing.T) {
	ignored := []goleak.Option{
		goleak.IgnoreCurrent(),
		goleak.IgnoreAnyFunction("github.com/kinform/kinform/test/apiserver.(*run).live"),
	}
	s := start(t, Options{})
	soak.Soak(t, chaos.Options{Server: underChaos(s), Rate: 400})
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
