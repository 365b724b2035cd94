package kinform

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/humane"
)

// ErrUnordered says that a server's resource versions cannot be compared: they are no
// numbers, or were found not to be in order, as with some aggregated servers.
var ErrUnordered = engine.ErrUnordered

// ErrNoVersion says that the server does not have a resource version that was waited
// for: it was restored from a backup, or another server gave that version.
var ErrNoVersion = engine.ErrNoVersion

// WaitFor waits until the cache holds everything that the server had at a resource
// version of this resource: the answer of a write, or a list, has one. With several
// namespaces, each of them has to; WaitForObject waits for one.
//
// Events, bookmarks and lists tell; nothing polls. Where nothing comes for 0.3 s, as what
// was written is not selected, the server is asked, no more often than every two seconds:
// up to 512 objects of 1 MiB together are listed again. For more, only whether the server
// has that version; then the next event answers, or a bookmark, which servers send about
// once a minute.
//
// A server that was restored from a backup gives versions again. The informer notices
// when its watch breaks, as it does in a restore. A version that is higher than what the
// server has then ends the wait with ErrNoVersion; a lower one counts as reached.
//
// WaitFor must not be called by index functions and transforms, which hold up what it
// waits for. Handlers may call it.
//
// The error is a *WaitError, which gives the cause: ErrUnordered, ErrNoVersion,
// ErrRefused, ErrEnded, or that of the context's end.
func (inf *Informer[T]) WaitFor(ctx context.Context, resourceVersion string) error {
	if resourceVersion == "" {
		return fmt.Errorf("kinform: %s: WaitFor needs a resource version", inf.core.current())
	}
	return ownError(inf.core.WaitFor(ctx, engine.ParseVersion(resourceVersion)))
}

// WaitForObject waits until the cache holds an object as the server returned it from a
// create, an update, a patch or a delete, or a newer state of it, or has seen its end. An
// object that is not selected is not in the cache then. As WaitFor, but only the namespace
// of the object is waited for, and where versions are not ordered across objects, those
// of this one are compared.
//
// Possible errors: *WaitError, and that the object has no resource version.
func (inf *Informer[T]) WaitForObject(ctx context.Context, obj metav1.Object) error {
	v := engine.ParseVersion(obj.GetResourceVersion())
	if v.IsZero() {
		return fmt.Errorf("kinform: %s %s/%s has no resource version: pass what the server returned; after a delete call WaitForDeleted",
			inf.core.current(), obj.GetNamespace(), obj.GetName())
	}
	return ownError(inf.core.WaitForObject(ctx, nameOfObject(obj), v))
}

// WaitForDeleted waits, after the server has accepted the deletion of an object, until
// the cache does not hold the object any more: none of that name, or one with another
// uid. Where a finalizer or a grace period keeps it, it waits until the cache holds
// everything that the server had when WaitForDeleted was called; for this the server is
// asked for its version, after 0.3 s.
//
// Obj is any state of the object from before the deletion; namespace, name and uid are
// enough, but then the server is also asked where the cache does not hold the object.
//
// Possible errors: *WaitError.
func (inf *Informer[T]) WaitForDeleted(ctx context.Context, obj metav1.Object) error {
	_, err := inf.core.WaitForDeleted(ctx, nameOfObject(obj), engine.ParseVersion(obj.GetResourceVersion()))
	return ownError(err)
}

// CatchUp waits until the cache holds everything that the server had when CatchUp was
// called, whoever wrote it. It asks the server for its version, by a list of one object.
//
// Possible errors: *WaitError.
func (inf *Informer[T]) CatchUp(ctx context.Context) error {
	_, err := inf.core.CatchUp(ctx)
	return ownError(err)
}

// WaitForWrites waits until the cache holds all writes of this resource that a transport
// has noted, of whichever client: a read that follows is not older than they are. With
// keys ("namespace/name"), only what was written in their namespaces is waited for, and
// of deletions only those of these objects.
//
//	if err := pods.WaitForWrites(ctx, &writes); err != nil {
//		return err
//	}
//	pod, err := pods.Lister().Get(key)
//
// It returns at once if the cache holds them already, which costs about a microsecond. Otherwise it waits as WaitFor and WaitForDeleted do. Writes that a restored
// server does not have any more end it with ErrNoVersion, once.
//
// Possible errors: *WaitError.
func (inf *Informer[T]) WaitForWrites(ctx context.Context, w *Writes, keys ...string) error {
	return ownError(w.Wait(ctx, inf.core.Informer, inf.core.query.Resource.GroupResource(), "", keys...))
}

func nameOfObject(obj metav1.Object) engine.Object {
	return engine.Object{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: string(obj.GetUID())}
}

// WaitError says why a wait has ended before the cache held what was waited for.
type WaitError struct {
	// Source is the list and watch that was waited for.
	Source SourceStatus
	// ResourceVersion that was waited for; "" where it was not known.
	ResourceVersion string
	// Err is what ended the wait.
	Err error
}

func (e *WaitError) Error() string {
	s := e.Source
	text := fmt.Sprintf("%s: waited for version %q, is at %q and %s: %v", s.Source, e.ResourceVersion, s.ResourceVersion, s.State, e.Err)
	if s.Cause != nil {
		text += fmt.Sprintf("; %s (%s): %v", humane.Count(s.Attempts, "failed attempt"), s.Reason, s.Cause)
	}
	return text
}

// Unwrap gives what ended the wait, and the present failure of the source, for errors.Is
// and errors.As.
func (e *WaitError) Unwrap() []error {
	if e.Source.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Source.Cause}
}
