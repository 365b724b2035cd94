package kinform

import (
	"context"
	"errors"
	"fmt"

	"github.com/kinform/kinform/internal/engine"
)

// ErrNotRunning says that an informer does not run, and so cannot repair its cache.
var ErrNotRunning = engine.ErrNotRunning

// VerifyReport is what Informer.Verify has found and repaired.
type VerifyReport struct {
	// Objects is how many the server has.
	Objects int
	// Missing are those that the cache did not have, Extra those that only the cache had.
	Missing, Extra int
	// Older are those of which the cache had an older state, Newer those of which it had
	// one that the server does not have: its history went back. Where resource versions
	// are not ordered, all that differ are counted as Older.
	Older, Newer int
	// Repaired is how many of these differences are gone. Others may be objects that
	// cannot be read; Status.Rejected counts those.
	Repaired int
	// Keys are those of the first differences, up to 1 KiB.
	Keys []string
	// More: there were so many differences that not all of them were counted. All were
	// repaired.
	More bool
}

// Differences is how many objects differed.
func (v VerifyReport) Differences() int { return v.Missing + v.Extra + v.Older + v.Newer }

// String is one line for people.
func (v VerifyReport) String() string { return engine.VerifyReport(v).String() }

// Verify compares the cache with the server, object by object, and repairs it: what differs
// is listed again, replaced, and delivered to the subscribers. It is for those who do not
// trust what is between, or want to prove to themselves that there is nothing to repair;
// an informer needs no such help.
//
//	report, err := pods.Verify(ctx)
//	if err != nil {
//		return err
//	}
//	if report.Differences() > 0 {
//		log.Print("the cache was wrong: ", report)
//	}
//
// Only metadata is asked for, in pages, and only keys, uids and versions are compared: it
// costs the server a read of everything, and the network little. Objects may change
// meanwhile. So a difference counts only if it is still there when the cache has reached
// the version of the server's answer; that may take until the next bookmark, a minute,
// where nothing else happens, and no time where nothing differs. Where versions are not
// ordered, the server is asked twice. What the server holds differently under the same
// version is not found.
//
// Verify waits for the first list. Status counts what it finds, and the log has a line of
// it. Of several namespaces, those that can be compared are.
//
// Possible errors: *SyncError, *VerifyError, ErrNotRunning, or several of them, joined.
func (inf *Informer[T]) Verify(ctx context.Context) (VerifyReport, error) {
	report, errs := inf.core.Verify(ctx)
	for i := range errs {
		errs[i] = ownError(errs[i])
	}
	if len(errs) == 1 {
		return VerifyReport(report), errs[0]
	}
	return VerifyReport(report), errors.Join(errs...)
}

// VerifyError says why the cache was not compared with the server, or not repaired: the
// server refuses the list, does not serve the resource, or does not answer.
type VerifyError struct {
	// Source is the list and watch that was to be compared.
	Source SourceStatus
	// Err is what failed.
	Err error
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("%s, which is %s, was not compared: %v", e.Source.Source, e.Source.State, e.Err)
}

// Unwrap gives what failed, for errors.Is and errors.As.
func (e *VerifyError) Unwrap() error { return e.Err }
