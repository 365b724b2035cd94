package apiserver

import (
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/internal/contract"
)

// TestContract proves the contract of package kinform against the real server.
// It has one of its own, as it takes the past away from it and puts it back.
func TestContract(t *testing.T) {
	s := start(t, Options{})
	contract.Run(t, contract.Server{
		Config:    s.Config(),
		Forbidden: func(*testing.T) *rest.Config { return s.PowerlessConfig() },
		Limited:   func(t *testing.T, namespaces ...string) *rest.Config { return reader(t, s, namespaces) },
		Expire:    s.ForgetHistory,
		Backup:    s.Backup,
		Goroutines: []goleak.Option{
			goleak.IgnoreAnyFunction("github.com/kinform/kinform/test/apiserver.(*run).live"),
		},
	})
}
