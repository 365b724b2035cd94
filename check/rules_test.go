package check

import (
	"context"
	"errors"
	"iter"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// lying is an informer that does whatever a test wants.
type lying struct {
	handle func(context.Context, Event)
	store  map[string]metav1.Object
	wound  uint64
}

func (l *lying) subscribe(handle func(context.Context, Event), o Subscriber) subscription {
	if o.Name == "late joiner" {
		for _, obj := range l.store {
			handle(context.Background(), event(added, obj, nil))
		}
	} else {
		l.handle = handle
	}
	return l
}

func (l *lying) get(key string) (metav1.Object, bool) {
	obj, ok := l.store[key]
	return obj, ok
}

func (l *lying) all() iter.Seq2[string, metav1.Object] { return maps.All(l.store) }
func (l *lying) epochs() uint64                        { return l.wound }
func (*lying) strict() bool                            { return true }
func (*lying) Stop()                                   {}
func (*lying) HasSynced() bool                         { return true }

func object(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, ResourceVersion: version, UID: types.UID("uid-" + name)}}
}

// raw is an event with bytes.
type raw struct {
	sharedEvent
	bytes string
}

func (e raw) Bytes() []byte { return []byte(e.bytes) }

func event(kind string, obj, old metav1.Object) Event {
	return raw{sharedEvent{kind: kind, obj: obj, old: old}, obj.GetResourceVersion()}
}

// lie is a story in which one rule is broken, or none.
type lie struct {
	name string
	want Rule // "": the story is fine
	tell func(l *lying, tell func(kind string, obj, old metav1.Object))
	// server is what it has in the end; nil: there is no comparison.
	server []*corev1.ConfigMap
}

func a(version string) *corev1.ConfigMap { return object("a", version) }

var lies = []lie{
	{"a life", "", func(l *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("1"), nil)
		tell(updated, a("2"), a("1"))
		tell(resynced, a("2"), a("2"))
		tell(deleted, a("3"), a("2"))
		tell(added, a("4"), nil)
		l.store["ns/a"] = a("4")
	}, []*corev1.ConfigMap{a("4")}},
	{"updated first", Order, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(updated, a("2"), a("1"))
	}, nil},
	{"deleted first", Order, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(deleted, a("2"), nil)
	}, nil},
	{"added twice", Order, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("1"), nil)
		tell(added, a("2"), nil)
	}, nil},
	{"another object as an update", Order, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("1"), nil)
		other := a("2")
		other.UID = "other"
		tell(updated, other, a("1"))
	}, nil},
	{"a reminder of something else", Order, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("1"), nil)
		tell(resynced, a("2"), nil)
	}, nil},
	{"a step back", Version, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("2"), nil)
		tell(updated, a("1"), a("2"))
	}, nil},
	{"the same state again", Version, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("2"), nil)
		tell(updated, a("2"), a("2"))
	}, nil},
	{"back from the dead", Version, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("2"), nil)
		tell(deleted, a("3"), a("2"))
		tell(added, a("1"), nil)
	}, nil},
	{"a step back in a new epoch", "", func(l *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("2"), nil)
		l.wound++
		tell(updated, a("1"), a("2"))
		l.store["ns/a"] = a("1")
	}, []*corev1.ConfigMap{a("1")}},
	{"two steps back in one epoch", Version, func(l *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("3"), nil)
		l.wound++
		tell(updated, a("2"), a("3"))
		tell(updated, a("1"), a("2"))
	}, nil},
	{"a gap", Before, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("1"), nil)
		tell(updated, a("3"), a("2"))
	}, nil},
	{"ahead of the store", StoreFirst, func(l *lying, tell func(string, metav1.Object, metav1.Object)) {
		l.store["ns/a"] = a("1")
		tell(added, a("2"), nil)
	}, nil},
	{"deleted and still there", StoreFirst, func(l *lying, tell func(string, metav1.Object, metav1.Object)) {
		l.store["ns/a"] = a("1")
		tell(added, a("1"), nil)
		tell(deleted, a("2"), a("1"))
	}, nil},
	{"not whole", Content, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		broken := a("1")
		broken.Data = map[string]string{"broken": ""}
		tell(added, broken, nil)
	}, nil},
	{"the store lacks one", Store, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("1"), nil)
	}, []*corev1.ConfigMap{a("1")}},
	{"the store has one too many", Store, func(l *lying, _ func(string, metav1.Object, metav1.Object)) {
		l.store["ns/a"] = a("1")
	}, []*corev1.ConfigMap{}},
	{"the store has other fields", Store, func(l *lying, tell func(string, metav1.Object, metav1.Object)) {
		other := a("1")
		other.Data = map[string]string{"k": "v"}
		l.store["ns/a"] = other
		tell(added, other, nil)
	}, []*corev1.ConfigMap{a("1")}},
	{"a subscriber was not told", Shadow, func(l *lying, _ func(string, metav1.Object, metav1.Object)) {
		l.store["ns/a"] = a("1")
	}, []*corev1.ConfigMap{a("1")}},
	{"a subscriber was not told of the end", Shadow, func(_ *lying, tell func(string, metav1.Object, metav1.Object)) {
		tell(added, a("1"), nil)
	}, []*corev1.ConfigMap{}},
}

// TestRules tells stories in which one rule is broken: that one, and no other,
// must be found.
func TestRules(t *testing.T) {
	for _, story := range lies {
		t.Run(story.name, func(t *testing.T) {
			l := &lying{store: map[string]metav1.Object{}}
			c := newChecker(l, Options{Name: "liar", List: listOf(story.server), Verify: verify})
			c.Subscribe(Subscriber{Name: "one"})
			story.tell(l, func(kind string, obj, old metav1.Object) { l.handle(t.Context(), event(kind, obj, old)) })
			if story.server != nil {
				compare(t, c, story.want == "")
			}
			want(t, c, story.want)
		})
	}
}

func verify(obj metav1.Object) error {
	if _, broken := obj.(*corev1.ConfigMap).Data["broken"]; broken {
		return errors.New("broken")
	}
	return nil
}

func listOf(objects []*corev1.ConfigMap) func(context.Context) (runtime.Object, error) {
	return func(context.Context) (runtime.Object, error) {
		list := &corev1.ConfigMapList{}
		for _, o := range objects {
			list.Items = append(list.Items, *o)
		}
		return list, nil
	}
}

// compare compares: at once if it must be equal, else with an end to the wait.
func compare(t *testing.T, c *Checker, equal bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	if equal {
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
	}
	defer cancel()
	if err := c.Compare(ctx); (err == nil) != equal || err != nil && !errors.Is(err, ErrDiverged) {
		t.Errorf("Compare: %v", err)
	}
}

func want(t *testing.T, c *Checker, rule Rule) {
	t.Helper()
	first, total := c.Violations()
	if rule == "" && total > 0 || rule != "" && total == 0 {
		t.Fatalf("%d violations: %v; want %q", total, first, rule)
	}
	for _, v := range first {
		if v.Rule != rule {
			t.Errorf("found %v, want %q alone", v, rule)
		}
	}
	if (c.Err() == nil) != (rule == "") {
		t.Errorf("Err: %v", c.Err())
	}
}

// TestRescoped: an object whose labels left one selection comes back with the next scope,
// in the state that its Deleted had; older states stay wrong.
func TestRescoped(t *testing.T) {
	for version, rule := range map[string]Rule{"1": StoreFirst, "2": ""} {
		l := &lying{store: map[string]metav1.Object{"ns/a": a(version)}}
		c := newChecker(l, Options{Rescoped: true})
		c.Subscribe(Subscriber{})
		l.handle(t.Context(), event(added, a("1"), nil))
		l.handle(t.Context(), event(deleted, a("2"), a("1")))
		want(t, c, rule)
	}
}

func TestOverlap(t *testing.T) {
	l := &lying{}
	c := newChecker(l, Options{})
	c.Subscribe(Subscriber{Then: func(ctx context.Context, ev Event) {
		if ev.ResourceVersion() == "1" {
			l.handle(ctx, event(added, object("b", "2"), nil))
		}
	}})
	l.handle(t.Context(), event(added, a("1"), nil))
	want(t, c, Overlap)
}

func TestCallAfterStop(t *testing.T) {
	l := &lying{}
	c := newChecker(l, Options{})
	c.Subscribe(Subscriber{}).Stop()
	l.handle(t.Context(), event(added, a("1"), nil))
	want(t, c, Stopped)
}

func TestOtherBytes(t *testing.T) {
	l := &lying{store: map[string]metav1.Object{"ns/a": a("1")}}
	c := newChecker(l, Options{List: listOf([]*corev1.ConfigMap{a("1")})})
	c.Subscribe(Subscriber{})
	l.handle(t.Context(), raw{sharedEvent{kind: added, obj: a("1")}, "other bytes"})
	compare(t, c, false)
	want(t, c, Shadow)
}

func TestIndexes(t *testing.T) {
	for name, keys := range map[string][]string{"lacks one": nil, "has one too many": {"ns/a", "ns/b"}} {
		t.Run(name, func(t *testing.T) {
			l := &lying{store: map[string]metav1.Object{"ns/a": a("1")}}
			c := newChecker(l, Options{List: listOf([]*corev1.ConfigMap{a("1")})})
			c.indexes = []index{{
				name:   "all",
				values: func(metav1.Object) []string { return []string{"x", "x"} },
				keys:   func(string) []string { return keys },
			}}
			compare(t, c, false)
			want(t, c, Indexed)
		})
	}
}

func TestIndexHasAValueTooMany(t *testing.T) {
	l := &lying{store: map[string]metav1.Object{}}
	c := newChecker(l, Options{List: listOf(nil)})
	c.indexes = []index{{
		name:   "all",
		values: func(metav1.Object) []string { return nil },
		keys:   func(string) []string { return []string{"ns/a"} },
		all:    func() []string { return []string{"x"} },
	}}
	compare(t, c, false)
	want(t, c, Indexed)
}
