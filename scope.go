package kinform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// Scope is which objects of its resource an informer has. The zero value is all of them.
type Scope struct {
	// Namespaces that the objects are in, each with its own list and watch. Default: all
	// namespaces, with one list and one watch.
	Namespaces []string

	// LabelSelector and FieldSelector narrow what the server sends, as kubectl's
	// -l and --field-selector. Default: everything.
	LabelSelector string
	FieldSelector string

	// Nothing selects no object at all, and makes no requests: no namespaces are known
	// yet, or none is left. The other fields must be empty.
	Nothing bool
}

// scoped is the present scope of an informer.
type scoped struct {
	mu  sync.Mutex // held while it changes
	now atomic.Pointer[Scope]
}

func (o *Options) scope() Scope {
	return Scope{Namespaces: o.Namespaces, LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector}
}

// check returns what is wrong with the scope, if anything; of is what has its fields.
func (s Scope) check(of string) error {
	if s.Nothing && (len(s.Namespaces) > 0 || s.LabelSelector != "" || s.FieldSelector != "") {
		return fmt.Errorf("%s.Nothing is set, and namespaces or selectors are: it is one or the other", of)
	}
	if _, err := labels.Parse(s.LabelSelector); err != nil {
		return fmt.Errorf("%s.LabelSelector %q: %w", of, s.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(s.FieldSelector); err != nil {
		return fmt.Errorf("%s.FieldSelector %q: %w", of, s.FieldSelector, err)
	}
	for _, ns := range s.Namespaces {
		if ns == "" {
			return fmt.Errorf("%s.Namespaces has an empty name: leave the list empty for all namespaces", of)
		}
		if wrong := validation.IsDNS1123Label(ns); len(wrong) > 0 {
			return fmt.Errorf("%s.Namespaces has %q, which is not the name of a namespace: %s", of, ns, wrong[0])
		}
	}
	return nil
}

// Check returns what is wrong with the scope, if anything.
func (s Scope) Check() error { return s.check("Scope") }

// normal returns the scope with each namespace once, in their order.
func (s Scope) normal() Scope {
	s.Namespaces = slices.Compact(slices.Sorted(slices.Values(s.Namespaces)))
	return s
}

// String is the scope for people: "namespaces a, b with labels app=web".
func (s Scope) String() string {
	words := "all namespaces"
	switch {
	case s.Nothing:
		return "nothing"
	case len(s.Namespaces) > 0:
		words = "namespaces " + strings.Join(s.Namespaces, ", ")
	}
	if s.LabelSelector != "" {
		words += " with labels " + s.LabelSelector
	}
	if s.FieldSelector != "" {
		words += " with fields " + s.FieldSelector
	}
	return words
}

// Scope returns what the informer has: that of its Options, or of the last SetScope.
func (inf *Informer[T]) Scope() Scope {
	s := *inf.core.scoped.now.Load()
	s.Namespaces = slices.Clone(s.Namespaces)
	return s
}

// SetScope changes which objects the informer has, before, while or after it runs, for
// all views and subscribers. Only what is new is asked for:
//
//   - A namespace that stays is left alone; one that comes is listed and watched; one that
//     goes is not watched any longer. From all namespaces to some, nothing is listed.
//   - Where the label selector gets more terms, nothing is listed: the labels show what is
//     left. Any other change of selectors lists each namespace once.
//
// Handlers get Deleted for what leaves, with FinalStateUnknown, as the object may live on;
// Added for what comes; and nothing for what stays. What has left is not in the cache any
// more when SetScope returns, and its Deleted are queued. What comes is there when
// HasSynced is true again: WaitSynced waits for the whole scope, WaitSyncedIn for some
// namespaces, and Status has the state of each. A namespace that is forbidden does not
// hold up the others. Lists are compared with the cache and are no older than it, so that
// no change is missed and none comes twice; while selectors change, the cache is as it
// was until the new list is there.
//
// Calls may come from many goroutines, and from handlers; the last one counts. Index
// functions, transforms and OnFailure must not call it, as it waits for them.
//
// Possible errors: ErrSharedScope, and what is wrong with the scope.
func (inf *Informer[T]) SetScope(s Scope) error {
	if err := inf.core.setScope(s); err != nil {
		return fmt.Errorf("kinform: %s: %w", inf.core.current(), err)
	}
	return nil
}

func (c *core) setScope(s Scope) error {
	if !c.own {
		return ErrSharedScope
	}
	if err := s.check("Scope"); err != nil {
		return err
	}
	c.scoped.mu.Lock()
	defer c.scoped.mu.Unlock()
	before, after := *c.scoped.now.Load(), s.normal()
	c.scoped.now.Store(&after)
	same, selects := kube.Reselect(c.queryOf(before), c.queryOf(after))
	c.Informer.SetScope(engine.Scope{
		Sources: c.sources(after), Reselects: !same, Selects: selects, Open: c.snapshots(after),
	})
	return nil
}

// WaitSyncedIn is WaitSynced for some namespaces of the scope: that others are forbidden,
// or still listed, does not matter.
//
// Possible errors: *SyncError, ErrOutOfScope.
func (inf *Informer[T]) WaitSyncedIn(ctx context.Context, namespaces ...string) error {
	for _, ns := range namespaces {
		if !inf.core.Covers(ns) {
			return fmt.Errorf("kinform: %s: namespace %q: %w", inf.core.current(), ns, ErrOutOfScope)
		}
		if err := inf.core.WaitSyncedIn(ctx, ns); err != nil {
			return ownError(err)
		}
	}
	return nil
}

// ErrOutOfScope says that an informer does not have a namespace.
var ErrOutOfScope = errors.New("not in the scope of the informer")

// current is what the informer asks for, in whichever namespaces.
func (c *core) current() kube.Query { return c.queryOf(*c.scoped.now.Load()) }

func (c *core) queryOf(s Scope) kube.Query {
	q := c.query
	q.LabelSelector, q.FieldSelector = s.LabelSelector, s.FieldSelector
	return q
}

// sources returns a source for each namespace of a scope.
func (c *core) sources(s Scope) map[string]engine.Source {
	namespaces := s.Namespaces
	switch {
	case s.Nothing:
		namespaces = nil
	case len(namespaces) == 0:
		namespaces = []string{""}
	}
	sources := map[string]engine.Source{}
	for _, ns := range namespaces {
		q := c.queryOf(s)
		q.Namespace = ns
		sources[ns] = kube.NewSource(c.client, q)
	}
	return sources
}
