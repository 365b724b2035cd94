package conformance_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/conformance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEmbeddedServer(t *testing.T) {
	for name, options := range map[string]apisim.Options{
		"HTTP":  {},
		"HTTPS": {TLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // cases mostly wait
			s, err := apisim.Start(options)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			conformance.Run(t, conformance.Server{
				Config: s.Config(),
				Compact: func(context.Context) error {
					s.ForgetHistory()
					return nil
				},
			})
		})
	}
}
