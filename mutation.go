package kinform

import (
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/mutation"
)

// MutationDetector says how closely an informer looks for readers that change the
// objects they got. The cache holds bytes, so a finding is exact: the object that
// was handed out differs from what its bytes decode to.
type MutationDetector uint8

// How closely to look.
const (
	// MutationDetectorOff checks nothing. It is the default.
	MutationDetectorOff MutationDetector = iota

	// MutationDetectorSampled remembers one of about a thousand objects that are
	// handed out, 64 at a time, and decodes them again every 10 s, for a minute:
	// cheap enough for production. It reports the object and the fields.
	MutationDetectorSampled

	// MutationDetectorFull remembers every object that is handed out, 32,768 at a
	// time, and decodes them again every second. It also reports who got it. It is
	// for tests: it keeps objects in memory, and finding each reader takes time.
	MutationDetectorFull
)

// String returns "off", "sampled" or "full".
func (m MutationDetector) String() string {
	return nameOf(int64(m), "MutationDetector", "off", "sampled", "full")
}

func (m MutationDetector) mode() mutation.Mode {
	switch m {
	case MutationDetectorSampled:
		return mutation.Sampled
	case MutationDetectorFull:
		return mutation.Full
	}
	return mutation.Off
}

// Mutation is an object that a reader changed.
type Mutation struct {
	// Key of the object, and its Go type.
	Key  string
	Type string
	// Fields are the paths that differ, ten at most, never with their values.
	Fields []string
	// Readers are the places in the program that got the object, with
	// MutationDetectorFull.
	Readers []string
}

// String is one line for people.
func (m Mutation) String() string { return mutation.Report(m).String() }

// watchMutations starts looking for readers that change objects, if enabled.
func (c *core) watchMutations(o Options) {
	c.mutations = mutation.New(o.MutationDetector.mode(), c.mutated)
}

// mutated logs, counts and passes on that an object was changed.
func (c *core) mutated(m mutation.Report) {
	c.hooks.log("an object was changed by a reader; copy it first (DeepCopy)",
		"resource", c.current().String(), "key", m.Key, "type", m.Type, "fields", m.Fields, "readers", m.Readers)
	c.hooks.mutated(Mutation(m))
}

// partChanged returns what is called for a view when a part was changed that several of
// its objects have in common.
func (c *core) partChanged(view string) func(key string, fields []string) {
	return func(key string, fields []string) {
		c.mutated(mutation.Report{Key: key, Type: view, Fields: fields})
	}
}

// handedOut has the detector remember an object, if it wants to.
func (c *core) handedOut(r *engine.Record, v *engine.View, obj any) {
	if !c.mutations.Wants() {
		return
	}
	c.mutations.Remember(mutation.Handed{
		Key:    r.Key(),
		Object: obj,
		Fresh:  func() (any, error) { return v.Decode(r, engine.Neighbour{}) },
		Forget: func() { c.Forget(r) },
	}, ownFunctions)
}

// handedOutByKey is handedOut for an object that was found by its key. If the object
// has changed since, there is nothing to compare it with.
func (c *core) handedOutByKey(key string, v *engine.View, obj any) {
	r := c.Get(key)
	if r == nil {
		return
	}
	if now, err := c.Decode(r, v, engine.Read); err == nil && now == obj {
		c.handedOut(r, v, obj)
	}
}

// ownFunctions is how the functions of this package begin.
const ownFunctions = "github.com/kinform/kinform."
