package cache

import (
	"errors"
	"fmt"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
	"github.com/kinform/kinform/snapshot"
)

// SetSnapshot has an informer of a factory start from disk, and keep there what it reads,
// as kinform's Options.Snapshot does. It must be called before the informer runs, and
// before anything is put into its store.
//
// The store can be read as soon as the informer runs. HasSynced is true, and handlers are
// called, once the server has confirmed what the disk had. What is kept is what the server
// sent: transforms and index functions run again at each start.
//
// Possible errors: that the informer has started, or that its scope was changed; that it
// is none of kinform's factories, gets objects, as those of fake clients do, or tweaks its
// requests in other ways than by selectors; that the options have no folder, or a key that
// is none.
func SetSnapshot(informer SharedInformer, o kinform.SnapshotOptions) error {
	switch {
	case o.Dir == "":
		return errors.New("kinform: a snapshot needs a folder: set Dir")
	case len(o.Key) != 0 && len(o.Key) != 32:
		return fmt.Errorf("kinform: the key of a snapshot has %d bytes: it needs 32", len(o.Key))
	}
	own, err := ours(informer)
	if err != nil {
		return err
	}
	own.scoping.Lock()
	defer own.scoping.Unlock()
	var unfit error
	err = setUp(informer, func(s *sharedIndexInformer) { unfit = s.keepLocked(o) })
	return errors.Join(err, unfit)
}

// keepLocked gives the informer, which does not run, a core with a snapshot.
func (s *sharedIndexInformer) keepLocked(o kinform.SnapshotOptions) error {
	given, ok := s.lw.(*dropin.ListWatch)
	switch {
	case s.scope.Load() != nil:
		return fmt.Errorf("kinform: the scope of %s has been changed: set its snapshot first, or that of its factory", s.description)
	case !ok || given.Client == nil:
		return fmt.Errorf("kinform: %s gets objects, of which there are no snapshots: make the informer with a factory and a client of a server", s.description)
	case given.Query.Tweak != nil && !given.Grows:
		return fmt.Errorf("kinform: %w", s.errTweaked())
	}
	lw := *given
	lw.Place = kube.SnapshotPlace{Dir: o.Dir, Key: o.Key}.Own()
	lw.Snapshot = engine.SnapshotOptions{Every: o.Every, OnlyChanges: o.OnlyChanges}
	s.lw = &lw
	if lw.Share == (dropin.Share{}) {
		s.core = newCore(lw.Open(lw.Needs), reflectorOptions(&lw, lw.Needs.String))
		s.indexer.moveTo(s.core.Collection, "")
		return nil
	}
	lw.Share = lw.Share.Kept(o.String())
	s.core, s.grown = sharedCore(s.description, &lw)
	return nil
}

// errTweaked says why there is no snapshot of what a tweak of the requests brings.
func (s *sharedIndexInformer) errTweaked() error {
	return fmt.Errorf("what the requests of %s are tweaked to bring is not known: there are no snapshots of it", s.description)
}

// grows is the form of what is stored where that depends on who reads.
const grows = "as needed"

// reflectorOptions are those of what is listed as bytes. Form says what is stored of each
// object.
func reflectorOptions(lw *dropin.ListWatch, form func() string) engine.ReflectorOptions {
	o := engine.ReflectorOptions{DropManagedFields: lw.DropManagedFields, Snapshot: lw.Snapshot}
	if lw.Place.Dir != "" {
		o.Snapshot.Open = func(string) (*snapshot.File, error) {
			return lw.Place.Open(lw.Client, lw.Query, formOf(lw, form()))
		}
	}
	return o
}

// formOf says what is stored of each object, of which the server is asked for a form.
func formOf(lw *dropin.ListWatch, asked string) string {
	if lw.DropManagedFields {
		return asked + kube.FormWithoutManagedFields
	}
	return asked
}

// settle decides what to ask for, and says what that is.
func (l *lazySource) settle() string {
	if l.grows {
		return grows
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used == nil {
		l.openLocked()
	}
	return l.asked.String()
}

// Form says what was asked for last.
func (l *lazySource) Form() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked.String()
}

// Resume asks for what the store has, if that is enough.
func (l *lazySource) Resume(form string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used != nil {
		return form == l.asked.String()
	}
	for n := l.needs; n <= dropin.JSON; n++ {
		if n.String() == form {
			l.needs = n
			l.openLocked()
			return true
		}
	}
	return false
}
