package kinform

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/internal/engine"
)

// Writes notes what a program writes to one server, so that it does not read older states
// from its caches: WaitForWrites waits until an informer has them. The zero value is
// ready for use. It looks at what the server answers, so any client will do:
//
//	var writes kinform.Writes
//	cfg.Wrap(writes.Wrap)
//	client, err := kubernetes.NewForConfig(cfg) // or a dynamic one, or controller-runtime's
//
// Noted are creates, updates, patches and deletes that the server has accepted,
// subresources included. Not noted are dry runs, and writes that failed or had no answer,
// as it is not known whether the server made them. Where an answer has no version (an
// eviction, a binding, the deletion of a collection), the first who waits for it asks the
// server for its version.
//
// It takes 1 MiB at most, whatever is written: what was written longest ago is then
// remembered by its resource and no longer by its namespace.
//
// All methods may be called by many goroutines.
type Writes struct {
	mu    sync.Mutex
	areas map[area]*written
	clock uint64 // counts writes
	bytes int    // what areas weigh
}

// area is a resource in a namespace, in no namespace, or in all that were forgotten.
type area struct {
	schema.GroupResource
	namespace string
}

// anywhere is the namespace of what is not remembered by its namespace.
const anywhere = "*"

// written is what was written in an area.
type written struct {
	version engine.Version // the highest one
	// unclear counts the writes whose answers had no version, asked those of them for
	// which the server was asked since.
	unclear, asked uint64
	deleted        map[string]deletion // by name
	last           uint64              // when something was noted last
}

// deletion is one whose answer did not say at which version it was.
type deletion struct {
	uid    string
	before engine.Version // at which the object was there; zero if that is not known
}

const (
	maxWritten     = 1 << 20
	areaWeight     = 256
	deletionWeight = 160
)

// Wrap returns a transport that notes the writes that go through rt. It passes everything
// on as it is, and buffers nothing but a copy of the answers to writes, of up to 4 MiB
// each, while they are read.
func (w *Writes) Wrap(rt http.RoundTripper) http.RoundTripper { return &noting{rt, w} }

// noteVersion notes that an object was written at a version.
func (w *Writes) noteVersion(a area, v engine.Version) {
	w.note(a, func(at *written) {
		if v.IsNumber() {
			at.raise(v)
		} else {
			at.unclear++ // who waits is told that versions are not ordered
		}
	})
}

func (at *written) raise(v engine.Version) {
	if at.version.Before(v) || at.version.IsZero() {
		at.version = v
	}
}

// noteUnclear notes that something was written, at a version that is not known.
func (w *Writes) noteUnclear(a area) {
	w.note(a, func(at *written) { at.unclear++ })
}

// noteDeleted notes that an object was deleted, at a version that is not known.
func (w *Writes) noteDeleted(a area, name string, d deletion) {
	w.note(a, func(at *written) {
		if at.deleted == nil {
			at.deleted = map[string]deletion{}
		}
		if was, ok := at.deleted[name]; ok {
			w.bytes -= was.weight(name)
		}
		at.deleted[name] = d
		w.bytes += d.weight(name)
	})
}

func (d deletion) weight(name string) int { return deletionWeight + len(name) + len(d.uid) }

func (w *Writes) note(a area, do func(*written)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do(w.atLocked(a))
	if w.bytes > maxWritten {
		w.forgetLocked()
	}
}

func (w *Writes) atLocked(a area) *written {
	if w.areas == nil {
		w.areas = map[area]*written{}
	}
	at := w.areas[a]
	if at == nil {
		at = &written{}
		w.areas[a] = at
		w.bytes += a.weight()
	}
	w.clock++
	at.last = w.clock
	return at
}

func (a area) weight() int {
	return areaWeight + len(a.Group) + len(a.Resource) + len(a.namespace)
}

// forgetLocked moves half of what is remembered, that of longest ago, to where its
// resource alone is remembered.
func (w *Writes) forgetLocked() {
	old := slices.SortedFunc(maps.Keys(w.areas), func(a, b area) int { return cmp.Compare(w.areas[a].last, w.areas[b].last) })
	for i, a := range old {
		if i > len(old)/2 || a.namespace == anywhere {
			continue
		}
		at := w.areas[a]
		delete(w.areas, a)
		w.bytes -= a.weight()
		for name, d := range at.deleted {
			w.bytes -= d.weight(name)
		}
		a.namespace = anywhere
		all := w.atLocked(a)
		all.raise(at.version)
		if len(at.deleted) > 0 || at.unclear > at.asked {
			all.unclear++
		}
	}
}

// pending is what has to be waited for of one area.
type pending struct {
	area
	where   []string // namespaces in which to wait; none: everywhere
	version engine.Version
	unclear uint64 // zero: nothing is
	deleted map[string]deletion
}

// pendingFor returns what was written of a resource: all of it, or what concerns some
// keys.
func (w *Writes) pendingFor(resource schema.GroupResource, keys []string) []pending {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(keys) == 0 {
		var all []pending
		for a, at := range w.areas {
			if a.GroupResource == resource {
				all = append(all, at.pending(a, a.where(), ""))
			}
		}
		return all
	}
	some := make([]pending, 0, len(keys))
	for _, key := range keys {
		namespace, name, ok := strings.Cut(key, "/")
		if !ok {
			namespace, name = "", key
		}
		where := []string{namespace}
		for _, a := range [...]area{{resource, namespace}, {resource, anywhere}} {
			if at := w.areas[a]; at != nil {
				some = append(some, at.pending(a, where, name))
			}
		}
	}
	return some
}

// pending returns what has to be waited for; with a name, of deletions only that of it.
func (at *written) pending(a area, where []string, name string) pending {
	p := pending{area: a, where: where, version: at.version}
	if at.unclear > at.asked {
		p.unclear = at.unclear
	}
	if name == "" {
		p.deleted = maps.Clone(at.deleted)
	} else if d, ok := at.deleted[name]; ok {
		p.deleted = map[string]deletion{name: d}
	}
	return p
}

// where is in which namespaces an area is; none: in all.
func (a area) where() []string {
	if a.namespace == anywhere {
		return nil
	}
	return []string{a.namespace}
}

// Wait waits until a cache of a resource, in a namespace if that is not "", has what was
// written so far. It is for packages that build on the engine; see Informer.WaitForWrites.
//
// Possible errors: *engine.WaitError.
func (w *Writes) Wait(ctx context.Context, inf *engine.Informer, resource schema.GroupResource, namespace string, keys ...string) error {
	for _, p := range w.pendingFor(resource, keys) {
		elsewhere := namespace != "" && p.namespace != namespace && p.namespace != anywhere
		if elsewhere || !inf.Covers(p.where...) {
			continue
		}
		if err := w.waitFor(ctx, inf, &p); err != nil {
			if errors.Is(err, ErrNoVersion) {
				w.lost(p.area, p.version)
			}
			return err
		}
	}
	return nil
}

func (w *Writes) waitFor(ctx context.Context, inf *engine.Informer, p *pending) error {
	for name, d := range p.deleted {
		v, err := inf.WaitForDeleted(ctx, engine.Object{Namespace: p.namespace, Name: name, UID: d.uid}, d.before)
		if err != nil {
			return err
		}
		if v.IsZero() {
			continue // the scope has left it: others may have it
		}
		w.settle(p.area, func(at *written) {
			if at.deleted[name] == d {
				delete(at.deleted, name)
				w.bytes -= d.weight(name)
			}
		}, v)
	}
	if p.unclear > 0 {
		v, err := inf.CatchUp(ctx, p.where...)
		if err != nil {
			return err
		}
		if !v.IsZero() {
			w.settle(p.area, func(at *written) { at.asked = max(at.asked, p.unclear) }, v)
		}
	}
	if p.version.IsZero() {
		return nil
	}
	return inf.WaitFor(ctx, p.version, p.where...)
}

// settle notes that a cache has what was pending in an area, and has reached a version
// since.
func (w *Writes) settle(a area, do func(*written), reached engine.Version) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.areas[a]; at != nil {
		do(at)
		at.raise(reached)
	}
}

// lost forgets a version that the server does not have any more.
func (w *Writes) lost(a area, v engine.Version) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.areas[a]; at != nil && at.version == v {
		at.version = engine.Version{}
	}
}
