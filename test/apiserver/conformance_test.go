package apiserver_test

import (
	"testing"

	"github.com/kinform/kinform/conformance"
	"github.com/kinform/kinform/test/apiserver"
)

// TestConformance runs the suite that the embedded server has to pass against
// the server that it has to be like.
func TestConformance(t *testing.T) {
	s := apiserver.Shared(t)
	conformance.Run(t, conformance.Server{
		Config:    s.Config(),
		Powerless: s.PowerlessConfig(),
		Compact:   s.ForgetHistory,
	})
}
