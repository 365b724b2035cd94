package apisim_test

import (
	"context"
	"testing"
	"time"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/conformance"
)

func TestConformance(t *testing.T) {
	s := start(t, apisim.Options{BookmarkInterval: time.Second})
	conformance.Run(t, conformance.Server{
		Config:  s.Config(),
		Compact: func(context.Context) error { s.ForgetHistory(); return nil },
	})
}
