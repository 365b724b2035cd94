package kinform

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/internal/decode"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/wire"
)

// A struct of the program's own names fields, of which some may be misspelt: they are
// then empty in every object, and nobody notices. Where there is no type to check them
// with, all that can be done is to look whether any object has them.

// mostLooked is in how many objects of a view the names are looked for.
const mostLooked = 100

var objectType = reflect.TypeFor[runtime.Object]()

// isWhole reports whether a struct type has every field of its objects: a type of
// Kubernetes, or one that is generated like those. Structs that programs write to name
// some fields have no methods of API objects.
func isWhole(t reflect.Type) bool {
	_, known := kindOf(t)
	return t != unstructuredType && t != metadataType && (known || reflect.PointerTo(t).Implements(objectType))
}

// unseen are the names of one struct that no object had yet.
type unseen struct {
	of   string
	done atomic.Bool // nothing is looked for any more

	mu     sync.Mutex
	looked int
	names  []unseenName
}

type unseenName struct {
	path  []string
	bytes wire.Path
}

// lookFor returns a decoder that looks, in the first objects that it decodes, for what the
// struct names. The views are locked.
func (v *views) lookFor(t reflect.Type, decoder decoder) decoder {
	u := &unseen{of: "*" + t.String()}
	for _, path := range decode.NamesIn(t) {
		p, err := wire.ParsePart("['"+strings.Join(path, "']['")+"']", nil)
		if err == nil {
			u.names = append(u.names, unseenName{path, p})
		}
	}
	v.unseen = append(v.unseen, u)
	return func(r *engine.Record, near engine.Neighbour) (any, error) {
		u.look(r, v.log)
		return decoder(r, near)
	}
}

// look looks for the names in an object, and says in the end which were in none. The log is
// the program's: it may ask for Status, or read objects.
func (u *unseen) look(r *engine.Record, log func(string, ...any)) {
	if names := u.lookIn(r); len(names) > 0 {
		log("no object has some fields that a struct names; they are optional, or misspelt",
			"struct", u.of, "fields", strings.Join(names, ", "), "objects", mostLooked)
	}
}

// lookIn looks for the names in an object, and returns those that were in none if it is the
// last one.
func (u *unseen) lookIn(r *engine.Record) []string {
	if u.done.Load() || r.Format() != wire.JSON {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.looked == mostLooked {
		return nil
	}
	u.looked++
	_ = decode.With(r, func(raw []byte) error {
		u.names = slices.DeleteFunc(u.names, func(n unseenName) bool { return n.bytes.Has(wire.JSON, raw) })
		return nil
	})
	u.done.Store(u.looked == mostLooked || len(u.names) == 0)
	if u.looked < mostLooked {
		return nil
	}
	return u.outermostLocked()
}

// outermostLocked returns the names that are in none of the objects, without those inside
// of others.
func (u *unseen) outermostLocked() (names []string) {
	for i, n := range u.names {
		inside := slices.ContainsFunc(u.names[:i], func(o unseenName) bool {
			return len(o.path) < len(n.path) && slices.Equal(o.path, n.path[:len(o.path)])
		})
		if !inside {
			names = append(names, strings.Join(n.path, "."))
		}
	}
	return names
}

// neverSeen returns the names that no object had, for Status.
func (v *views) neverSeen() (names []string) {
	v.mu.Lock()
	all := slices.Clone(v.unseen)
	v.mu.Unlock()
	for _, u := range all {
		u.mu.Lock()
		if u.looked > 0 {
			for _, name := range u.outermostLocked() {
				names = append(names, u.of+": "+name)
			}
		}
		u.mu.Unlock()
	}
	return names
}
