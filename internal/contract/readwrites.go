package contract

import (
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
)

// Point 11: a wait for a version ends when the cache holds it, or a newer one, across
// relists, in every namespace that could have it, and with selectors; a version that the
// server does not have ends it with an error. Nothing polls.
var readWrites = []story{
	{"reads after a wait are never older than the writes", neverOlder},
	{"reads after a wait are never older while the server forgets", neverOlderForgetting},
	{"an object is gone after the wait for its deletion", deletedIsGone},
	{"an object that a finalizer keeps", deletedIsKept},
	{"what is not selected is waited for, too", waitUnselected},
	{"what is not selected is waited for in a large set", waitUnselectedLarge},
	{"what leaves the selection is gone after the wait", waitLeaving},
	{"a version is waited for in every namespace, an object in its own", waitNamespaces},
	{"a version of a restored server's past is an error", waitRestored},
	{"a transport notes what any client writes", notedWrites},
	{"a transport notes no dry runs and no failures", notedNothing},
	{"writes that a restored server has lost are an error once", notedRestored},
}

// wantHeld fails unless the cache holds an object, in that state or a newer one.
func (e *env) wantHeld(inf *informer, o object) {
	e.Helper()
	held, err := inf.Lister().Get(keyOf(o))
	switch {
	case err != nil:
		e.Errorf("%s@%s was waited for, and reading it gives %v", keyOf(o), o.ResourceVersion, err)
	case number(held.ResourceVersion) < number(o.ResourceVersion):
		e.Errorf("%s@%s was waited for, and the cache has it @%s", keyOf(o), o.ResourceVersion, held.ResourceVersion)
	}
}

// wantNotHeld fails if the cache holds an object.
func (e *env) wantNotHeld(inf *informer, o object) {
	e.Helper()
	if held, err := inf.Lister().Get(keyOf(o)); err == nil && held.UID == o.UID {
		e.Errorf("the cache has %s@%s, after the wait for its end", keyOf(o), held.ResourceVersion)
	}
}

// readers has several goroutines each write, wait and read an object of their own.
func (e *env) readers(inf *informer, writers, steps int) {
	e.Helper()
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			name := fmt.Sprint("own-", i)
			o := e.create(name, "0")
			for n := range steps {
				e.mustWait(inf.WaitForObject(e.ctx, o))
				e.wantHeld(inf, o)
				if n%5 == 4 {
					e.delete(name)
					e.mustWait(inf.WaitForDeleted(e.ctx, o))
					e.wantNotHeld(inf, o)
					o = e.create(name, fmt.Sprint(n))
				} else {
					o = e.update(name, fmt.Sprint(n))
				}
			}
		})
	}
	all.Wait()
	e.stopIfFailed()
}

// mustWait is must for any goroutine.
func (e *env) mustWait(err error) {
	e.Helper()
	if err != nil {
		e.Errorf("waiting: %v", err)
	}
}

func neverOlder(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	e.sync(inf)
	e.readers(inf, 8, 25)
}

func neverOlderForgetting(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	e.sync(inf)
	o := e.create("before", "0")
	e.expire()
	e.mustWait(inf.WaitForObject(e.ctx, o))
	e.wantHeld(inf, o)
	e.readers(inf, 4, 5)
	e.delete("before")
	e.mustWait(inf.WaitForDeleted(e.ctx, o))
	e.wantNotHeld(inf, o)
}

func deletedIsGone(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	e.sync(inf)
	for i := range 20 {
		// The cache may know of it or not when it is deleted.
		o := e.create("victim", fmt.Sprint(i))
		e.delete("victim")
		known := &metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name, UID: o.UID}
		if i%2 == 0 {
			known.ResourceVersion = o.ResourceVersion
		}
		e.must(inf.WaitForDeleted(e.ctx, known), "waiting for the end")
		if held, err := inf.Lister().Get(keyOf(o)); !errors.Is(err, kinform.ErrNotFound) {
			e.Fatalf("the cache has %v, %v", held, err)
		}
		again := e.create("victim", "again")
		e.must(inf.WaitForObject(e.ctx, again), "waiting for the next object of that name")
		e.wantHeld(inf, again)
		e.must(inf.WaitForDeleted(e.ctx, o), "waiting for the end of the first one")
		e.delete("victim")
	}
}

func deletedIsKept(e *env) {
	inf := e.informer(e.config(), kinform.Options{})
	e.sync(inf)
	o := configMap("kept", "0")
	o.Finalizers = []string{"example.com/keep"}
	o, err := e.maps().Create(e.ctx, o, metav1.CreateOptions{})
	e.must(err, "creating an object with a finalizer")
	e.delete("kept")
	e.must(inf.WaitForDeleted(e.ctx, o), "waiting for the deletion")
	held, err := inf.Lister().Get(keyOf(o))
	if err != nil || held.DeletionTimestamp == nil {
		e.Errorf("the cache does not know that it is being deleted: %v, %v", held, err)
	}
	last, err := e.maps().Patch(e.ctx, "kept", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	e.must(err, "taking the finalizer away")
	e.must(inf.WaitForDeleted(e.ctx, last), "waiting for the end")
	e.wantNotHeld(inf, o)
}

// labelled writes an object with a label, whether it is there or not.
func (e *env) labelled(name, label string) object {
	e.Helper()
	o := configMap(name, label)
	o.Labels = map[string]string{"contract": label}
	now, err := e.maps().Create(e.ctx, o, metav1.CreateOptions{})
	if elsewhere(err) {
		now, err = e.maps().Update(e.ctx, o, metav1.UpdateOptions{})
	}
	e.must(err, "writing "+name)
	return now
}

// selecting is an informer of what is selected.
func (e *env) selecting() *informer {
	e.Helper()
	inf := e.informer(e.config(), kinform.Options{Namespaces: []string{e.ns}, LabelSelector: "contract=yes"})
	e.sync(inf)
	return inf
}

func waitUnselected(e *env) {
	inf := e.selecting()
	lists := inf.Status().Sources[0].Lists
	o := e.labelled("other", "no")
	e.must(inf.WaitForObject(e.ctx, o), "waiting for what is not selected")
	e.wantNotHeld(inf, o)
	e.must(inf.WaitFor(e.ctx, o.ResourceVersion), "waiting for a version that was reached")
	if n := inf.Status().Sources[0].Lists - lists; n > 1 {
		e.Errorf("%d lists for one wait", n)
	}
}

// waitUnselectedLarge has more objects than are listed again for a wait.
func waitUnselectedLarge(e *env) {
	each(names("many", 520), func(name string) { e.labelled(name, "yes") })
	inf := e.selecting()
	e.must(inf.WaitForObject(e.ctx, e.labelled("first", "yes")), "waiting for the watch")
	before := inf.Status().Sources[0]
	o := e.labelled("other", "no")
	waiting := make(chan error, 1)
	go func() { waiting <- inf.WaitForObject(e.ctx, o) }()
	e.labelled("more", "yes") // what comes later answers
	e.must(receive(e, waiting, "the end of the wait"), "waiting for what is not selected")
	e.wantNotHeld(inf, o)
	never := fmt.Sprint(number(o.ResourceVersion) + 1<<40)
	if err := inf.WaitFor(e.ctx, never); !errors.Is(err, kinform.ErrNoVersion) {
		e.Errorf("waiting for a version that the server does not have gives %v", err)
	}
	now := inf.Status().Sources[0]
	if now.Lists != before.Lists || now.Watches != before.Watches {
		e.Errorf("%d lists and %d watches for two waits", now.Lists-before.Lists, now.Watches-before.Watches)
	}
}

func waitLeaving(e *env) {
	inf := e.selecting()
	for range 5 {
		o := e.labelled("moves", "yes")
		e.must(inf.WaitForObject(e.ctx, o), "waiting for what is selected")
		e.wantHeld(inf, o)
		e.must(inf.WaitForObject(e.ctx, e.labelled("moves", "no")), "waiting for what is selected no more")
		e.wantNotHeld(inf, o)
	}
}

func waitNamespaces(e *env) {
	other := *e
	other.ns = e.newNamespace()
	inf := e.informer(e.config(), kinform.Options{Namespaces: []string{e.ns, other.ns}})
	e.sync(inf)
	o := other.create("there", "0")
	e.must(inf.WaitForObject(e.ctx, o), "waiting in one namespace")
	e.wantHeld(inf, o)
	o = e.create("here", "0")
	e.must(inf.WaitFor(e.ctx, o.ResourceVersion), "waiting in both namespaces")
	e.wantHeld(inf, o)
	for _, src := range inf.Status().Sources {
		if number(src.ResourceVersion) < number(o.ResourceVersion) {
			e.Errorf("%s is at version %s, and %s was waited for", src.Source, src.ResourceVersion, o.ResourceVersion)
		}
	}
	third := *e
	third.ns = e.newNamespace()
	e.must(inf.WaitForObject(over(), third.create("elsewhere", "0")), "waiting for what is not watched")
}

func waitRestored(e *env) {
	v := e.versions()
	e.seed("0", "kept")
	restore := e.backup()
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	e.sync(inf)
	v.burn(margin)
	lost := e.create("lost", "1")
	w.receives(lost)
	w.goesBack.Store(true)
	far := fmt.Sprint(number(lost.ResourceVersion) + margin)
	waiting := make(chan error, 1)
	restore()
	go func() { waiting <- inf.WaitFor(e.ctx, far) }()
	if err := receive(e, waiting, "the end of the wait"); !errors.Is(err, kinform.ErrNoVersion) {
		e.Errorf("waiting for a version that was lost gives %v", err)
	}
	w.until("the new epoch", func() bool { return w.state[e.key("lost")].kind == "" })
	o := e.create("new", "2")
	e.must(inf.WaitForObject(e.ctx, o), "waiting after the backup was restored")
	e.wantHeld(inf, o)
	e.wantNotHeld(inf, lost)
}
