package cache

import (
	"context"
	"errors"

	"github.com/kinform/kinform"
)

// Verify compares the store of a shared informer with the server, and repairs it, as
// kinform's Informer.Verify does. Informers that share a watch share the result.
//
// Possible errors: *engine.SyncError, *engine.VerifyError, engine.ErrNotRunning; that the
// informer is not kinform's.
func Verify(ctx context.Context, informer SharedInformer) (kinform.VerifyReport, error) {
	s, err := ours(informer)
	if err != nil {
		return kinform.VerifyReport{}, err
	}
	report, errs := s.engine().Verify(ctx)
	return kinform.VerifyReport(report), errors.Join(errs...)
}
