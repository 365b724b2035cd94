package dropin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinform/kinform"
)

// Scopes makes what lists and watches a resource in other namespaces.
type Scopes struct {
	// Namespace is where it was asked for; "" is everywhere.
	Namespace string
	// Everywhere: the resource does not live in namespaces, and does not mind them.
	Everywhere bool
	// Tweak is that of the factory; nil: there is none.
	Tweak func(*metav1.ListOptions)
	// Open lists and watches in a namespace, "" for all, with a tweak.
	Open func(namespace string, tweak func(*metav1.ListOptions)) clientgo.ListerWatcher
}

// scopedObjects is a ListerWatcher of objects that knows Scopes.
type scopedObjects struct {
	*clientgo.ListWatch
	scopes *Scopes
}

// WithScopes returns a ListerWatcher for which ScopesOf gives the scopes.
func WithScopes(lw clientgo.ListerWatcher, s Scopes) clientgo.ListerWatcher {
	switch lw := lw.(type) {
	case *ListWatch:
		lw.Scopes = &s
	case *clientgo.ListWatch:
		return &scopedObjects{lw, &s}
	}
	return lw
}

// ScopesOf returns the scopes of a ListerWatcher; nil if it has but one.
func ScopesOf(lw clientgo.ListerWatcher) *Scopes {
	switch lw := lw.(type) {
	case *ListWatch:
		return lw.Scopes
	case *scopedObjects:
		return lw.scopes
	}
	return nil
}

// Unscoped returns what WithScopes was given.
func Unscoped(lw clientgo.ListerWatcher) clientgo.ListerWatcher {
	if s, ok := lw.(*scopedObjects); ok {
		return s.ListWatch
	}
	return lw
}

// In returns what lists and watches a namespace, or everything for "", with the
// selectors of a scope beside those of the factory.
func (s *Scopes) In(namespace string, scope kinform.Scope) clientgo.ListerWatcher {
	if scope.LabelSelector == "" && scope.FieldSelector == "" {
		return s.Open(namespace, s.Tweak)
	}
	return s.Open(namespace, func(o *metav1.ListOptions) {
		if s.Tweak != nil {
			s.Tweak(o)
		}
		o.LabelSelector = Both(o.LabelSelector, scope.LabelSelector)
		o.FieldSelector = Both(o.FieldSelector, scope.FieldSelector)
	})
}

// Both returns a selector of what two of them select.
func Both(a, b string) string { return strings.Trim(a+","+b, ",") }

// Scoped is an informer whose scope can be changed.
type Scoped interface {
	kinform.Scoped
	WaitForScope(context.Context) error
}

// scopedOf returns an informer as one whose scope can be changed.
func scopedOf(inf clientgo.SharedIndexInformer) (Scoped, error) {
	if s, ok := inf.(Scoped); ok {
		return s, nil
	}
	if s, ok := inf.GetController().(Scoped); ok { // something is around it
		return s, nil
	}
	return nil, fmt.Errorf("%T is not an informer of kinform's: its scope cannot be changed", inf)
}

// SetScope changes the scope of all informers that can change it, and of those that are
// asked for later. The error names the others, and why they cannot.
func (g *Group[K]) SetScope(s kinform.Scope) error {
	if err := s.Check(); err != nil {
		return err
	}
	g.scoping.Lock()
	defer g.scoping.Unlock()
	g.mu.Lock()
	g.scope = &s
	g.mu.Unlock()
	var errs []error
	for _, inf := range g.Informers() {
		scoped, err := scopedOf(inf)
		if err == nil {
			err = scoped.SetScope(s)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// WaitForScope waits until all informers that were started have the present scope.
func (g *Group[K]) WaitForScope(ctx context.Context) error {
	var errs []error
	for _, inf := range g.started() {
		scoped, err := scopedOf(inf)
		if err == nil {
			err = scoped.WaitForScope(ctx)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// started returns the informers that were started.
func (g *Group[K]) started() (all []clientgo.SharedIndexInformer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.members {
		if m.started {
			all = append(all, m.informer)
		}
	}
	return all
}
