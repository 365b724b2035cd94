package kinform_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/contract"
)

// TestContract proves the contract of doc.go against the embedded server. In
// test/apiserver the same stories are told to a real kube-apiserver.
func TestContract(t *testing.T) { contract.Run(t, embedded(t)) }

// TestContractHTTP1 is the same with a connection for each watch, as behind many
// proxies.
func TestContractHTTP1(t *testing.T) {
	if testing.Short() {
		t.Skip("TestContract tells the same stories over HTTP/2: left out by -short")
	}
	s := embedded(t)
	s.Config.NextProtos = []string{"http/1.1"}
	contract.Run(t, s)
}

func embedded(t *testing.T) contract.Server {
	t.Helper()
	s, err := apisim.Start(apisim.Options{TLS: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return contract.Server{
		Config:    s.Config(),
		Forbidden: func(t *testing.T) *rest.Config { return powerless(t, s) },
		Limited:   func(t *testing.T, namespaces ...string) *rest.Config { return limited(t, s, namespaces) },
		Expire: func(context.Context) error {
			restart(s)
			s.ForgetHistory()
			return nil
		},
		Backup: func(context.Context) (func(context.Context) error, error) {
			saved := s.Snapshot()
			return func(context.Context) error {
				s.Restore(saved)
				return nil
			}, nil
		},
	}
}

// powerless is somebody whom the server lets do nothing while the test lasts.
func powerless(t *testing.T, s *apisim.Server) *rest.Config {
	cfg := s.Config()
	cfg.UserAgent = "powerless"
	t.Cleanup(s.Inject(apisim.Fault{
		Match:  apisim.Match{Func: func(r *http.Request) bool { return r.UserAgent() == cfg.UserAgent }},
		Status: http.StatusForbidden,
	}))
	return cfg
}

// limited is somebody whom the server lets do things in some namespaces only.
func limited(t *testing.T, s *apisim.Server, namespaces []string) *rest.Config {
	cfg := s.Config()
	cfg.UserAgent = "limited"
	t.Cleanup(s.Inject(apisim.Fault{
		Match: apisim.Match{Func: func(r *http.Request) bool {
			return r.UserAgent() == cfg.UserAgent && !slices.ContainsFunc(namespaces, func(ns string) bool {
				return strings.Contains(r.URL.Path, "/namespaces/"+ns+"/")
			})
		}},
		Status: http.StatusForbidden,
	}))
	return cfg
}
