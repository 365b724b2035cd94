package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kinform/kinform/internal/engine"
)

// TestErrorsCountInWords: one attempt is not several.
func TestErrorsCountInWords(t *testing.T) {
	for attempts, want := range map[int]string{1: "1 failed attempt (", 2: "2 failed attempts ("} {
		s := engine.Status{Attempts: attempts, Cause: errors.New("refused")}
		for _, err := range []error{&engine.SyncError{Status: s, Err: context.Canceled}, &engine.WaitError{Status: s, Err: context.Canceled}} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%T: got %q, want %q", err, err, want)
			}
		}
	}
	err := &engine.SyncError{Status: engine.Status{State: engine.Listing, Listed: 1}, Err: context.Canceled}
	if want := "1 object so far"; !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want %q", err, want)
	}
}
