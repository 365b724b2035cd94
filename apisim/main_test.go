package apisim_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a server leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
