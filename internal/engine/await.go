package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kinform/kinform/internal/humane"
)

// Object names an object that somebody waits for.
type Object struct {
	Namespace, Name, UID string
}

func (o Object) key() string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

// WaitError says why a wait for a version or an object has ended without it.
type WaitError struct {
	// Status of the reflector that was waited for.
	Status Status
	// Version that was waited for, or that of the object; zero if it was none.
	Version Version
	// Err is what ended the wait: ErrUnordered, ErrNoVersion, ErrRefused, ErrEnded,
	// what a request failed with, or the cause of the context's end.
	Err error
}

func (e *WaitError) Error() string {
	s := e.Status
	text := fmt.Sprintf("%s: waited for version %q, is at %q and %s: %v", s.Source, e.Version.String(), s.Version.String(), s.State, e.Err)
	if s.Cause != nil {
		text += fmt.Sprintf("; %s (%s): %v", humane.Count(s.Attempts, "failed attempt"), s.Reason, s.Cause)
	}
	return text
}

// Unwrap gives what ended the wait, and the failure of the reflector if it has one.
func (e *WaitError) Unwrap() []error {
	if e.Status.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Status.Cause}
}

// WaitFor waits until the store has everything up to a version, in the given
// namespaces; in all of them if there are none. Where the scope changes meanwhile, what
// it has become counts.
func (inf *Informer) WaitFor(ctx context.Context, v Version, namespaces ...string) error {
	return inf.waitIn(namespaces, func(r *Reflector) error {
		return inf.wait(ctx, r, &waiter{version: v.number}, v)
	})
}

// waitIn waits for the reflectors of some namespaces, one after the other, until it has
// done so for all that there are then.
func (inf *Informer) waitIn(namespaces []string, wait func(*Reflector) error) error {
	done := map[*Reflector]bool{}
	for {
		some := inf.concerned(namespaces)
		next := slices.IndexFunc(some, func(r *Reflector) bool { return !done[r] })
		if next < 0 {
			return nil
		}
		r := some[next]
		switch err := wait(r); {
		case errors.Is(err, errLeft):
		case err != nil:
			return err
		}
		done[r] = true
	}
}

// WaitForObject waits until the store has a version of an object, or a newer one, or
// knows of its end.
func (inf *Informer) WaitForObject(ctx context.Context, o Object, v Version) error {
	u, _ := uidOf([]byte(o.UID))
	return inf.waitIn([]string{o.Namespace}, func(r *Reflector) error {
		return inf.wait(ctx, r, &waiter{version: v.number, key: o.key(), uid: u}, v)
	})
}

// WaitForDeleted waits until the store does not have an object any more, which existed
// at a version if that is not zero, or has everything that the server had when
// WaitForDeleted was called: the object may still be there, being deleted. It returns
// the version that the store has reached.
func (inf *Informer) WaitForDeleted(ctx context.Context, o Object, v Version) (reached Version, err error) {
	err = inf.waitIn([]string{o.Namespace}, func(r *Reflector) error {
		at, err := inf.waitForDeleted(ctx, r, o, v)
		if err == nil {
			reached = at // a partition that has left proves nothing
		}
		return err
	})
	return reached, err
}

func (inf *Informer) waitForDeleted(ctx context.Context, r *Reflector, o Object, v Version) (Version, error) {
	u, _ := uidOf([]byte(o.UID))
	w := &waiter{version: v.number, key: o.key(), uid: u, gone: true}
	held := inf.Get(w.key)
	if w.version != 0 || held != nil && (u == uid{} || held.uid == u) {
		// It is certain to be there before its end is; that usually comes soon.
		soon, cancel := context.WithTimeoutCause(ctx, askAfter, errAsked)
		err := inf.wait(soon, r, w, v)
		cancel()
		if err == nil || errors.Is(err, errLeft) || ctx.Err() != nil {
			return r.part.Version(), err
		}
	}
	now, err := inf.now(ctx, r)
	if err == nil {
		err = inf.wait(ctx, r, &waiter{version: now.number}, now)
	}
	return r.part.Version(), err
}

// CatchUp waits until the store has everything that the server had when CatchUp was
// called, in the given namespaces; in all of them if there are none. It returns the
// version that the server had.
func (inf *Informer) CatchUp(ctx context.Context, namespaces ...string) (Version, error) {
	for {
		reflectors := inf.concerned(namespaces)
		if len(reflectors) == 0 {
			return Version{}, nil
		}
		now, err := inf.now(ctx, reflectors[0])
		switch {
		case errors.Is(err, errLeft):
			continue
		case err != nil:
			return Version{}, err
		}
		return now, inf.WaitFor(ctx, now, namespaces...)
	}
}

// Covers reports whether the store has any of the given namespaces; none stand for all.
func (inf *Informer) Covers(namespaces ...string) bool { return len(inf.concerned(namespaces)) > 0 }

// concerned returns the reflectors that could bring something of some namespaces; all of
// them if there are none.
func (inf *Informer) concerned(namespaces []string) (some []*Reflector) {
	if len(namespaces) == 0 {
		return inf.all()
	}
	for _, r := range inf.all() {
		for _, ns := range namespaces {
			if r.part.namespace == "" || r.part.namespace == ns {
				some = append(some, r)
				break
			}
		}
	}
	return some
}

// wait waits for one reflector to bring what a waiter waits for.
func (inf *Informer) wait(ctx context.Context, r *Reflector, w *waiter, v Version) error {
	if v.number == 0 && !v.IsZero() {
		return &WaitError{r.Status(), v, ErrUnordered}
	}
	if r.part.has(inf.Collection, w) && !r.part.hasLeft() {
		return nil
	}
	if err := r.part.enlist(w); err != nil {
		return &WaitError{r.Status(), v, err}
	}
	defer r.part.end(w, nil)
	if r.part.has(inf.Collection, w) { // it came meanwhile
		return nil
	}
	over := inf.Over()
	var why error
	select {
	case <-w.done:
		why = w.err
	case <-over.Done():
		why = context.Cause(over)
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	if why == nil {
		return nil
	}
	return &WaitError{r.Status(), v, why}
}

// now asks for the server's present version, once the first list is there.
func (inf *Informer) now(ctx context.Context, r *Reflector) (Version, error) {
	if err := inf.wait(ctx, r, &waiter{}, Version{}); err != nil {
		return Version{}, err
	}
	v, err := r.askVersion(ctx, r.options.Silence, ListOptions{Limit: 1, Probe: true})
	if err == nil && v.number == 0 {
		err = ErrUnordered
	}
	if err != nil {
		return Version{}, &WaitError{r.Status(), v, err}
	}
	return v, nil
}
