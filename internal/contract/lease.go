package contract

import (
	"context"
	"errors"
	"slices"

	"github.com/kinform/kinform"
)

// The stories of point 9 in which informers are acquired and released.

// acquire acquires the informer of the story's config maps.
func (e *env) acquire(f *kinform.Factory) *kinform.Lease[object] {
	e.Helper()
	l, err := kinform.Acquire[object](f, kinform.Options{})
	e.must(err, "acquiring an informer")
	return l
}

// leasing returns a factory that is started.
func (e *env) leasing(o kinform.Options) *kinform.Factory {
	e.Helper()
	f, err := kinform.NewFactory(e.config(), e.options(o))
	e.must(err, "making a factory")
	e.must(f.Start(e.ctx), "starting a factory")
	e.Cleanup(f.Shutdown)
	return f
}

// released: two use one informer; what one has ends with its release, and the informer
// with the last; who comes later begins anew.
func released(e *env) {
	e.seed("red", "a", "b")
	f := e.leasing(kinform.Options{})
	one, two := e.acquire(f), e.acquire(f)
	e.must(one.WaitSynced(e.ctx), "waiting for the sync")
	if n := len(f.Status()); n != 1 {
		e.Errorf("%d informers for two leases of the same", n)
	}
	first := e.witness("first").join(one, subscribed{})
	second := e.witness("second").join(two, subscribed{})
	first.receives(e.create("c", "red"))
	if _, err := one.AddIndex("color", color); err != nil {
		e.Fatalf("adding an index: %v", err)
	}

	one.Release()
	one.Release()
	mark := first.mark()
	second.receives(e.create("d", "red"))
	if n := len(first.since(mark)); n != 0 {
		e.Errorf("%d events came after the release", n)
	}
	ix, err := two.AddIndex("color", color)
	e.must(err, "adding an index whose name was released")
	if keys := slices.Collect(ix.Keys("d")); len(keys) != 4 {
		e.Errorf("the index has %v", keys)
	}
	select {
	case <-two.Done():
		e.Error("the informer has ended while it is used")
	default:
	}

	two.Release()
	e.await(two.Done(), "the end of the informer")
	e.wantNobody()
	if n, st := two.Lister().Len(), two.Status(); n != 0 || st.State() != kinform.StateStopped || st.Memory.Live != 0 {
		e.Errorf("the informer holds %d objects, %s", n, st)
	}
	if n := len(f.Status()); n != 0 {
		e.Errorf("the factory has %d informers", n)
	}

	e.delete("a")
	three := e.acquire(f)
	defer three.Release()
	third := e.witness("third").join(three, subscribed{})
	e.must(three.WaitSynced(e.ctx), "waiting for the next sync")
	third.receives(e.create("e", "red"))
	server := e.onServer()
	e.wantStore(three.Informer, server)
	third.wantServer(server)
}

// releasedInside: a handler may release what calls it.
func releasedInside(e *env) {
	e.seed("red", "a")
	f := e.leasing(kinform.Options{})
	l := e.acquire(f)
	l.Subscribe(func(context.Context, eventOf) { l.Release() }, subscribed{})
	e.await(l.Done(), "the end of the informer")
	e.wantNobody()
}

// releasedNot: what For has asked for stays, and a factory that is shut down ends leases.
func releasedNot(e *env) {
	f := e.leasing(kinform.Options{})
	l := e.acquire(f)
	inf, err := kinform.For[object](f, kinform.Options{})
	e.must(err, "asking for the same informer")
	e.must(inf.WaitSynced(e.ctx), "waiting for the sync")
	l.Release()
	e.must(inf.WaitForObject(e.ctx, e.create("a", "red")), "waiting for an object after the release")
	last := e.acquire(f)
	f.Shutdown()
	e.await(last.Done(), "the end of the informer")
	last.Release()
	if inf.Lister().Len() != 1 {
		e.Error("what For has asked for cannot be read after the end")
	}
	if _, err := kinform.Acquire[object](f, kinform.Options{}); !errors.Is(err, kinform.ErrShutDown) {
		e.Errorf("acquiring from a factory that was shut down gives %v", err)
	}
}
