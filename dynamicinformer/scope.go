package dynamicinformer

import (
	"context"

	"github.com/kinform/kinform"
)

// SetScope changes in which namespaces the factory's informers are, and which objects
// they have there: those that there are, started or not, and those that are asked for
// later. It is a method that client-go's factories do not have:
//
//	err := factory.(kinform.Scoped).SetScope(kinform.Scope{Namespaces: []string{"a", "b"}})
//
// Only what is new is listed; see kinform's Informer.SetScope. What the factory was told
// to select stays; the namespace that it was made for does not count any more.
//
// Possible errors: those of cache.SetScope, of each informer that cannot change. The
// others have changed then, unless something is wrong with the scope.
func (f *factory) SetScope(s kinform.Scope) error { return f.group.SetScope(s) }

// WaitForScope waits until all informers that were started have what is in the present
// scope. The caches' HasSynced stays true once it was.
//
// Possible errors: *engine.SyncError of each that has not.
func (f *factory) WaitForScope(ctx context.Context) error { return f.group.WaitForScope(ctx) }
