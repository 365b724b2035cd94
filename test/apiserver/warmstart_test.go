package apiserver

import (
	"testing"

	"github.com/kinform/kinform/internal/warmstart"
)

// TestWarmStart runs the tests of starts from disk against the real server, one of its
// own, as they take its past away.
func TestWarmStart(t *testing.T) {
	s := start(t, Options{})
	warmstart.Run(t, warmstart.Server{Config: s.Config(), Forget: s.ForgetHistory, Backup: s.Backup})
}
