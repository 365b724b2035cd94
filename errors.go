package kinform

import (
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/humane"
)

// ErrRunning says that the informer is already running.
var ErrRunning = engine.ErrRunning

// ErrNotFound says that the cache does not have an object. It satisfies
// apierrors.IsNotFound, as the answer of a server would.
var ErrNotFound error = notFound{}

// ErrIndexExists says that an informer has an index of that name.
var ErrIndexExists = engine.ErrIndexExists

// ErrRefused says that an informer has ended because the server refused it, under
// PolicyFailFast. The errors that wrap it have the server's answer.
var ErrRefused = engine.ErrRefused

// ErrEnded says that an informer of a factory has ended with its last lease, for good.
var ErrEnded = engine.ErrEnded

// ErrSharedScope says that an informer is one of a factory that others may have, too, so
// that its scope is fixed: Options.OwnScope asks for one of its own.
var ErrSharedScope = errors.New("the informer is shared, and its scope fixed: ask for one with Options.OwnScope")

// ErrShutDown says that a factory has been shut down.
var ErrShutDown = errors.New("the factory has been shut down")

type notFound struct{}

func (notFound) Error() string { return "not in the cache" }

// Status makes it one of the errors that package apierrors knows.
func (e notFound) Status() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound,
		Code: http.StatusNotFound, Message: e.Error(),
	}
}

// DecodeError says that an object's bytes do not fit the informer's type.
type DecodeError struct {
	// Key of the object.
	Key string
	// Type that it does not fit, such as "*v1.Pod".
	Type string
	// Err is what the decoder says; for Secrets, it quotes nothing.
	Err error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("cannot decode %s as %s: %v", e.Key, e.Type, e.Err)
}

// Unwrap gives what the decoder says.
func (e *DecodeError) Unwrap() error { return e.Err }

// SyncError says why an informer has not synced in time.
type SyncError struct {
	// Source is the list and watch that has not synced; of several namespaces, one
	// that fails.
	Source SourceStatus
	// Err is what ended the wait: the cause of the context's end, ErrRefused or
	// ErrEnded.
	Err error
}

func (e *SyncError) Error() string {
	s := e.Source
	switch {
	case s.Cause != nil:
		return fmt.Sprintf("%s not synced after %s (%s): %v", s.Source, humane.Count(s.Attempts, "failed attempt"), s.Reason, s.Cause)
	case s.State == StateIdle:
		return fmt.Sprintf("%s not synced: the informer was not run: %v", s.Source, e.Err)
	}
	return fmt.Sprintf("%s not synced: still %s, %s so far: %v", s.Source, s.State, humane.Count(s.Listed, "object"), e.Err)
}

// Unwrap gives the cause and what ended the wait, for errors.Is and errors.As.
func (e *SyncError) Unwrap() []error {
	if e.Source.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Source.Cause, e.Err}
}

// RefusedError is what ends Run under PolicyFailFast. It wraps the server's answer,
// for apierrors.IsForbidden and the like, and ErrRefused.
type RefusedError struct {
	// Source is what was to be listed and watched.
	Source string
	// Reason is ReasonUnauthorized, ReasonForbidden or ReasonNoResource.
	Reason Reason
	// Err is the server's answer.
	Err error
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s refused (%s): %v", e.Source, e.Reason, e.Err)
}

// Unwrap gives the server's answer and ErrRefused, for errors.Is and errors.As.
func (e *RefusedError) Unwrap() []error { return []error{e.Err, ErrRefused} }

// ConflictError says that a factory was asked for an informer with an option that
// differs from that of an existing informer with which it would share a watch.
type ConflictError struct {
	// Resource is what both select.
	Resource string
	// Option is the name of a field of Options.
	Option string
	// Existing is what the informer that exists has, Wanted what was asked for.
	Existing, Wanted string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: Options.%s is %s here, and %s for an informer of this factory that it shares a watch with: "+
		"they must agree, or come from different factories", e.Resource, e.Option, e.Wanted, e.Existing)
}

// ownError turns an error of the engine into one of this package.
func ownError(err error) error {
	switch e := err.(type) { //nolint:errorlint // the engine returns them as they are
	case *engine.DecodeError:
		return &DecodeError{Key: e.Key, Type: e.View, Err: e.Err}
	case *engine.SyncError:
		return &SyncError{Source: sourceStatus(e.Status), Err: e.Err}
	case *engine.WaitError:
		return &WaitError{Source: sourceStatus(e.Status), ResourceVersion: e.Version.String(), Err: e.Err}
	case *engine.VerifyError:
		return &VerifyError{Source: sourceStatus(e.Status), Err: e.Err}
	case *engine.RefusedError:
		return &RefusedError{Source: e.Source, Reason: Reason(e.Reason), Err: e.Err}
	}
	return err
}
