package engine

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinform/kinform/internal/mutation"
	"github.com/kinform/kinform/internal/packed"
	"github.com/kinform/kinform/internal/unmarshal"
	"github.com/kinform/kinform/wire"
)

// Objects of one owner are alike: the pods of a workload differ in names, addresses and
// times, and are equal in their environment, probes, tolerations and managed fields.
// Each is packed against one of them, its parent, and is decoded near a template: an
// object that is made of the parent's bytes. What has the same bytes in both is not
// decoded again, the new object has it in common with the template, and so with all
// others that were decoded near it.
//
// No reader is handed a template. So what a reader changes by mistake in an object, or in
// its labels and annotations, changes no other object. What it changes deeper inside may
// be a part of others, too. So some of the templates are compared with their bytes each
// time that age runs. Where one was changed, that is reported, and all that was decoded
// near it is evicted.
//
// A view that alters its objects makes its templates of the objects that are being read,
// as a transform should not see others, and compares them with a copy: what a transform
// makes of the same bytes may be something else each time.
//
// A template lives as long as something that was decoded near it is held.
type template struct {
	record  *Record // the bytes; it is in no store
	object  any
	copied  any   // what object is compared with, if that is not made of the bytes
	view    *View // that made it
	changed atomic.Bool
}

// isChanged reports whether a template was found to be changed; nil never was.
func (t *template) isChanged() bool { return t != nil && t.changed.Load() }

// neighbour is what to decode near to a template; nil gives none.
func (t *template) neighbour() Neighbour {
	if t == nil {
		return Neighbour{}
	}
	return Neighbour{Record: t.record, Object: t.object, Sibling: true}
}

// templates are those of a collection.
type templates struct {
	mu sync.Mutex
	// known has those that are alive. One that never was is there from the first object
	// on that would have been decoded near it: most parents have few children, of which
	// often only one is read, so the second makes the template.
	known   map[templateKey]weak.Pointer[template]
	purgeAt int
	weight  *atomic.Int64 // of those that are alive
}

type templateKey struct {
	of   weak.Pointer[packed.Bytes]
	typ  reflect.Type
	view weak.Pointer[View] // of one that alters its objects
}

func keyFor(of *packed.Bytes, v *View) templateKey {
	key := templateKey{of: weak.Make(of), typ: v.Type}
	if v.Alters {
		key.view = weak.Make(v)
	}
	return key
}

// of returns the template for a record in a view, nil if there is none.
func (t *templates) of(r *Record, v *View) *template {
	if v.Apart || v.unlike.Load() || r.Format() != wire.Protobuf && !v.Alters {
		return nil
	}
	parent := r.bytes.Sibling()
	if parent == nil { // perhaps others have it as theirs
		return t.find(keyFor(&r.bytes, v))
	}
	key := keyFor(parent, v)
	known, wanted := t.want(key)
	if known != nil || !wanted {
		return known
	}
	if v.Alters {
		parent = &r.bytes
	}
	return t.make(key, parent, v)
}

func (t *templates) find(key templateKey) *template {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[key].Value()
}

// want returns a template if it is there, and reports whether it is to be made if not.
func (t *templates) want(key templateKey) (known *template, wanted bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, wanted := t.known[key]
	if known = p.Value(); known == nil && !wanted {
		t.putLocked(key, p)
	}
	return known, wanted
}

func (t *templates) putLocked(key templateKey, p weak.Pointer[template]) {
	if t.known == nil {
		t.known = map[templateKey]weak.Pointer[template]{}
	}
	if t.known[key] = p; len(t.known) < max(t.purgeAt, 1024) {
		return
	}
	for k := range t.known {
		if k.of.Value() == nil {
			delete(t.known, k)
		}
	}
	t.purgeAt = 2 * len(t.known)
}

// make makes a template of some bytes. It has its own copy of them: they may be in a slab
// that is given back when the store has left it.
func (t *templates) make(key templateKey, parent *packed.Bytes, v *View) *template {
	made := &template{record: &Record{bytes: parent.Copy()}, view: v}
	obj, err := decodeContained(made.record, v, Neighbour{})
	if err != nil {
		return nil
	}
	made.object = obj
	weight := made.record.decodedWeight() + int64(made.record.Packed())
	if v.Alters {
		made.copied, err = decodeContained(made.record, v, Neighbour{})
		if err != nil || !unmarshal.Same(made.copied, obj) {
			v.unlike.Store(true)
			return nil
		}
		weight += made.record.decodedWeight()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if other := t.known[key].Value(); other != nil {
		return other // somebody was faster
	}
	t.putLocked(key, weak.Make(made))
	alive := t.weight // and not t itself, which reaches the template
	alive.Add(weight)
	runtime.AddCleanup(made, func(weight int64) { alive.Add(-weight) }, weight)
	return made
}

// mostChecked is how many templates are compared with their bytes each time, which takes
// about 50 µs each.
const mostChecked = 128

// check compares some templates with their bytes, and returns those that were changed.
func (t *templates) check() (changed []*template) {
	t.mu.Lock()
	var some []*template
	for _, p := range t.known { // in a random order
		if one := p.Value(); one != nil {
			some = append(some, one)
		}
		if len(some) == mostChecked {
			break
		}
	}
	t.mu.Unlock()
	for _, one := range some {
		if one.compare() {
			changed = append(changed, one)
		}
	}
	return changed
}

// compare reports whether a template was changed, which it also says to the view.
func (t *template) compare() bool {
	want := t.copied
	if want == nil {
		fresh, err := decodeContained(t.record, t.view, Neighbour{})
		if err != nil {
			return false
		}
		want = fresh
	}
	if t.changed.Load() || unmarshal.Same(want, t.object) {
		return false
	}
	fields := mutation.Fields(t.object, want)
	if len(fields) == 0 {
		return false
	}
	t.changed.Store(true)
	if t.view.Changed != nil {
		t.view.Changed(keyOf(want), fields)
	}
	return true
}

// keyOf returns the key of an object, for people.
func keyOf(obj any) string {
	o, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

// forgetView forgets the templates of a view that alters its objects.
func (t *templates) forgetView(v *View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k := range t.known {
		if k.view.Value() == v {
			delete(t.known, k)
		}
	}
}

// forget has no further object decoded near a template.
func (t *templates) forget(one *template) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, p := range t.known {
		if p.Value() == one {
			delete(t.known, k)
		}
	}
}

// evictNear evicts everything that was decoded near a template.
func (m *residency) evictNear(t *template) {
	t.changed.Store(true)
	m.templates.forget(t)
	for r := range m.records() {
		if r.isNear(t) {
			m.mu.Lock()
			m.evictLocked(r)
			m.mu.Unlock()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range []*ring{&m.pass, &m.hot} {
		for _, e := range g.entries[g.head:] {
			if e.record.isNear(t) {
				m.evictLocked(e.record)
			}
		}
	}
	m.released.Add(1)
	m.forgetListsLocked()
}

// isNear reports whether some object of a record was decoded near a template.
func (r *Record) isNear(t *template) bool {
	for d := r.decoded(); d != nil; d = d.next {
		if d.template == t {
			return true
		}
	}
	return false
}
