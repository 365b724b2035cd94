package chaos

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/apisim"
)

var soak = RegisterFlags()

// TestSoak is the half of the soak that runs on the embedded server; the other half
// is in test/apiserver.
func TestSoak(t *testing.T) {
	defer goleak.VerifyNone(t)
	// The history is short because it holds large objects: it fills up in minutes, and
	// takes no more from then on.
	server, err := apisim.Start(apisim.Options{TLS: true, BookmarkInterval: 500 * time.Millisecond, History: 500})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	soak.Soak(t, Options{Server: embedded(server), Rate: 600})
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
