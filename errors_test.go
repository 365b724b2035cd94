package kinform_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kinform/kinform"
)

// TestErrorsCountInWords: one attempt is not several.
func TestErrorsCountInWords(t *testing.T) {
	for attempts, want := range map[int]string{1: "1 failed attempt (", 2: "2 failed attempts ("} {
		s := kinform.SourceStatus{Attempts: attempts, Cause: errors.New("refused")}
		for _, err := range []error{&kinform.SyncError{Source: s, Err: context.Canceled}, &kinform.WaitError{Source: s, Err: context.Canceled}} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%T: got %q, want %q", err, err, want)
			}
		}
	}
	err := &kinform.SyncError{Source: kinform.SourceStatus{State: kinform.StateListing, Listed: 1}, Err: context.Canceled}
	if want := "1 object so far"; !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want %q", err, want)
	}
}
