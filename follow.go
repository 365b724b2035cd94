package kinform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Scoped is what has a scope that can be changed: an Informer, a Lease, or an informer of
// the drop-in factories.
type Scoped interface{ SetScope(Scope) error }

// FollowNamespaces keeps informers in the namespaces that another informer has: with a
// label selector, in those that have a label, for as long as they do.
//
//	labelled, err := kinform.New[*metav1.PartialObjectMetadata](cfg, kinform.Options{
//		Resource:      corev1.SchemeGroupVersion.WithResource("namespaces"),
//		LabelSelector: "team=web",
//	})
//	pods, err := kinform.New[*corev1.Pod](cfg, kinform.Options{})
//	sub, err := kinform.FollowNamespaces(labelled, kinform.Scope{}, pods)
//	go labelled.Run(ctx)
//	go pods.Run(ctx)
//	<-sub.Synced()                // the namespaces are known
//	err = pods.WaitSynced(ctx)    // and so are their pods
//
// The scope gives the selectors; it names no namespaces. Until the namespaces are known,
// and while there are none, the informers have nothing. A namespace that is being deleted
// stays until it is gone. What is followed is the cache of the first informer, so that it
// has to run. Stopping the subscription leaves the scopes as they are.
//
// Possible errors: those of SetScope. The informers that can change their scope have
// nothing then.
func FollowNamespaces[N any](namespaces *Informer[N], s Scope, informers ...Scoped) (*Subscription, error) {
	if len(s.Namespaces) > 0 || s.Nothing {
		return nil, fmt.Errorf("kinform: FollowNamespaces: the scope is of %s: it gives selectors only", s)
	}
	f := &following{selectors: s, informers: informers, known: map[string]bool{}}
	if namespaces.HasSynced() {
		for name := range namespaces.Lister().Keys(nil) {
			f.known[name] = true
		}
	}
	if err := f.apply(); err != nil {
		return nil, err
	}
	clear(f.known)
	return namespaces.Subscribe(func(_ context.Context, ev Event[N]) {
		f.note(ev.Key, ev.Type == EventDeleted)
		if len(f.known) == namespaces.Lister().Len() { // else more events are to come
			if err := f.apply(); err != nil { // it could before
				f.failed.Do(func() {
					namespaces.core.hooks.log("a scope does not follow the namespaces any more", "error", err)
				})
			}
		}
	}, SubscribeOptions{Name: "namespaces to follow"}), nil
}

// following is which namespaces some informers are kept in.
type following struct {
	selectors Scope
	informers []Scoped
	known     map[string]bool
	failed    sync.Once
}

func (f *following) note(name string, gone bool) {
	if gone {
		delete(f.known, name)
	} else {
		f.known[name] = true
	}
}

// apply gives the informers the namespaces that are known.
func (f *following) apply() error {
	s := f.selectors
	s.Namespaces = slices.Sorted(maps.Keys(f.known))
	if len(s.Namespaces) == 0 {
		s = Scope{Nothing: true}
	}
	var errs []error
	for _, inf := range f.informers {
		errs = append(errs, inf.SetScope(s)) // that one cannot does not keep others from it
	}
	return errors.Join(errs...)
}
