package cache

import (
	"context"
	"fmt"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
	"github.com/kinform/kinform/snapshot"
)

// SetScope changes in which namespaces a shared informer of a factory is, and which
// objects it has there, as kinform's Informer.SetScope does; the selectors of the
// factory's own tweak stay, and so does a snapshot. HasSynced stays true once it was, as in client-go;
// WaitForScope waits for the present scope.
//
// Possible errors: kinform.ErrSharedScope, for an informer that runs on one watch with
// others: set the scope before it is started; what is wrong with the scope; that the
// informer is not of a factory of kinform's.
func SetScope(informer SharedInformer, s kinform.Scope) error {
	own, err := ours(informer)
	if err != nil {
		return err
	}
	return own.SetScope(s)
}

// WaitForScope waits until a shared informer has all that is in its present scope.
//
// Possible errors: *engine.SyncError; that the informer is not kinform's.
func WaitForScope(ctx context.Context, informer SharedInformer) error {
	own, err := ours(informer)
	if err != nil {
		return err
	}
	return own.WaitForScope(ctx)
}

// WaitForScope waits until the informer has all that is in its scope.
func (s *sharedIndexInformer) WaitForScope(ctx context.Context) error {
	return s.engine().WaitSynced(ctx)
}

// SetScope changes what the informer has.
func (s *sharedIndexInformer) SetScope(scope kinform.Scope) error {
	scopes := dropin.ScopesOf(s.lw)
	if scopes == nil {
		return fmt.Errorf("%s: only informers of kinform's factories can change their scope", s.description)
	}
	if err := scope.Check(); err != nil {
		return err
	}
	s.scoping.Lock()
	defer s.scoping.Unlock()
	if scopes.Everywhere {
		if scope.Nothing {
			return nil // that is, in no namespace
		}
		scope.Namespaces = nil
	}
	core, err := s.ownCore()
	if err != nil {
		return fmt.Errorf("%s: %w", s.description, err)
	}
	next := engine.Scope{Sources: s.sources(scopes, scope), Reselects: true, Open: s.snapshots(scopes, scope)}
	before := s.scope.Swap(&scope)
	if before != nil || scopes.Namespace == "" {
		if before == nil {
			before = &kinform.Scope{}
		}
		var same bool
		same, next.Selects = kube.Reselect(selecting(*before), selecting(scope))
		next.Reselects = !same
	}
	core.Informer.SetScope(next)
	return nil
}

// onlyNamespace is the one that the informer was made for, if its scope is still that; ""
// if it is told by the engine.
func (s *sharedIndexInformer) onlyNamespace(lw *dropin.ListWatch) string {
	if s.scope.Load() != nil {
		return ""
	}
	return lw.Query.Namespace
}

func selecting(s kinform.Scope) kube.Query {
	return kube.Query{LabelSelector: s.LabelSelector, FieldSelector: s.FieldSelector}
}

// sources returns a source for each namespace of a scope.
func (s *sharedIndexInformer) sources(scopes *dropin.Scopes, scope kinform.Scope) map[string]engine.Source {
	namespaces := scope.Namespaces
	switch {
	case scope.Nothing:
		namespaces = nil
	case len(namespaces) == 0:
		namespaces = []string{""}
	}
	sources := map[string]engine.Source{}
	for _, ns := range namespaces {
		switch lw := scopes.In(ns, scope).(type) {
		case *dropin.ListWatch:
			sources[ns] = lw.Open(lw.Needs)
		default:
			sources[ns] = kube.NewObjectSource(s.description, lw)
		}
	}
	return sources
}

// snapshots opens those of a scope; nil if the informer has none.
func (s *sharedIndexInformer) snapshots(scopes *dropin.Scopes, scope kinform.Scope) func(string) (*snapshot.File, error) {
	kept, ok := s.lw.(*dropin.ListWatch)
	if !ok || kept.Place.Dir == "" {
		return nil
	}
	return func(namespace string) (*snapshot.File, error) {
		in, ok := scopes.In(namespace, scope).(*dropin.ListWatch)
		if !ok || in.Query.Tweak != nil {
			return nil, s.errTweaked()
		}
		return kept.Place.Open(in.Client, in.Query, formOf(kept, in.Needs.String()))
	}
}

// ownCore returns a core that no other informer uses, nor will.
func (s *sharedIndexInformer) ownCore() (*core, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.core.claim(s):
	case s.started:
		return nil, kinform.ErrSharedScope
	default:
		s.core, s.grown = newLazyCore(s.description, s.lw.(*dropin.ListWatch)), nil
		s.core.owner = s
	}
	return s.core, nil
}

// claim has a core be used by one informer alone, if no other one uses it.
func (c *core) claim(s *sharedIndexInformer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.lazy == nil || c.owner == s:
		return true
	case c.spent, c.owner != nil, c.runners > 1, c.runners == 1 && !c.runs(s):
		return false
	}
	c.owner = s
	return true
}

// runs reports whether an informer runs on the core.
func (c *core) runs(s *sharedIndexInformer) bool {
	c.membersMu.Lock()
	defer c.membersMu.Unlock()
	return c.members[s]
}
