package contract

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
)

// The stories of point 12 about those who wait, join and share.

type ctx = context.Context

// contextFor is the story's context, for a while.
func contextFor(e *env, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(e.ctx, d)
}

func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

func scopeWaits(e *env) {
	ns := e.spaces(3)
	cfg := e.own(e.server.Limited(e.T, ns[0].ns, ns[1].ns))
	inf := e.informer(cfg, kinform.Options{Namespaces: []string{ns[0].ns, ns[2].ns}})
	e.run(inf)
	e.must(inf.WaitSyncedIn(e.ctx, ns[0].ns), "waiting for the first list")
	o := ns[0].labelledAs(e, "one", "yes", "1")
	waits := map[string]func() error{
		"a version":             func() error { return inf.WaitFor(e.ctx, o.ResourceVersion) },
		"an object":             func() error { return inf.WaitForObject(e.ctx, ns[2].labelledAs(e, "one", "yes", "1")) },
		"the end of an object":  func() error { return inf.WaitForDeleted(e.ctx, &metav1.ObjectMeta{Namespace: ns[2].ns, Name: "one"}) },
		"the server's version":  func() error { return inf.CatchUp(e.ctx) },
		"the sync":              func() error { return inf.WaitSynced(e.ctx) },
		"that of the namespace": func() error { return inf.WaitSyncedIn(e.ctx, ns[2].ns) },
	}
	ended := make(chan struct{})
	for what, wait := range waits {
		go func() {
			e.mustWaitFor(what, wait())
			ended <- struct{}{}
		}()
	}
	// Nobody can have what is in a namespace that is forbidden.
	short, cancel := contextFor(e, 200*time.Millisecond)
	defer cancel()
	if err := inf.WaitFor(short, o.ResourceVersion); !errors.Is(err, context.DeadlineExceeded) {
		e.Errorf("a wait for all namespaces: %v", err)
	}
	e.must(inf.SetScope(kinform.Scope{Namespaces: []string{ns[0].ns, ns[1].ns}}), "changing the scope")
	for range waits {
		receive(e, ended, "the end of a wait")
	}
	e.wantHeld(inf, o)
	// A wait that begins before a namespace comes is for that one, too.
	o = ns[1].labelledAs(e, "one", "yes", "2")
	e.must(inf.WaitForObject(e.ctx, o), "waiting for an object of the new namespace")
	e.wantHeld(inf, o)
}

func (e *env) mustWaitFor(what string, err error) {
	if err != nil {
		e.Errorf("waiting for %s: %v", what, err)
	}
}

func scopeLateJoiner(e *env) {
	ns := e.spaces(3)
	inf, first, _ := e.scoped(e.within(ns[0]))
	e.must(inf.SetScope(e.within(ns[1], ns[2])), "changing the scope")
	late := e.subscribe(inf, "late", subscribed{})
	e.await(late.sub.Synced(), "the sync of the late joiner")
	if n := late.mark(); n != 4 {
		e.Errorf("it was synced after %d events, want 4", n)
	}
	e.wantScope(inf, late, e.within(ns[1], ns[2]))
	e.wantScope(inf, first, e.within(ns[1], ns[2]))
}

func scopeShared(e *env) {
	ns := e.spaces(2)
	f, err := kinform.NewFactory(e.config(), e.options(kinform.Options{Namespaces: []string{ns[0].ns}}))
	e.must(err, "making a factory")
	e.must(f.Start(e.ctx), "starting it")
	e.Cleanup(f.Shutdown)
	shared, err := kinform.For[object](f, kinform.Options{})
	e.must(err, "asking for an informer")
	own, err := kinform.For[object](f, kinform.Options{OwnScope: true})
	e.must(err, "asking for one of its own")
	lease, err := kinform.Acquire[object](f, kinform.Options{OwnScope: true})
	e.must(err, "acquiring one of its own")
	e.must(f.Start(e.ctx), "starting them")
	if err := shared.SetScope(e.within(ns[1])); !errors.Is(err, kinform.ErrSharedScope) {
		e.Errorf("changing the scope of a shared informer: %v", err)
	}
	e.rescope(own, e.within(ns[1]))
	e.must(lease.SetScope(kinform.Scope{Nothing: true}), "changing the scope of a lease")
	e.must(f.WaitSynced(e.ctx), "waiting for all")
	for inf, want := range map[*informer]kinform.Scope{
		shared: {Namespaces: []string{ns[0].ns}}, own: e.within(ns[1]), lease.Informer: {Nothing: true},
	} {
		e.wantStore(inf, e.selected(want))
	}
	lease.Release()
}

func scopeFollows(e *env) {
	ns := e.spaces(3)
	label := func(space *env, labelled bool) {
		e.Helper()
		patch := `{"metadata":{"labels":{"follow":null}}}`
		if labelled {
			patch = `{"metadata":{"labels":{"follow":"` + e.ns + `"}}}`
		}
		_, err := e.kube.CoreV1().Namespaces().Patch(e.ctx, space.ns, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		e.must(err, "labelling a namespace")
	}
	label(ns[0], true)
	label(ns[1], true)
	labelled := informerOf[*metav1.PartialObjectMetadata](e, e.config(), kinform.Options{
		Resource:      corev1.SchemeGroupVersion.WithResource("namespaces"),
		LabelSelector: "follow=" + e.ns,
	})
	inf := e.informer(e.config(), kinform.Options{})
	w := e.subscribe(inf, "witness", subscribed{})
	sub, err := kinform.FollowNamespaces(labelled, e.within(), inf)
	e.must(err, "following")
	e.run(inf)
	if !inf.Scope().Nothing {
		e.Errorf("before the namespaces are known the scope is %s", inf.Scope())
	}
	e.sync(labelled)
	e.await(sub.Synced(), "the namespaces")
	e.must(inf.WaitSynced(e.ctx), "waiting for their objects")
	e.wantScope(inf, w, e.within(ns[0], ns[1]))
	label(ns[2], true)
	w.until("the objects of the third", func() bool { return len(w.state) == 6 })
	for _, space := range ns {
		label(space, false)
	}
	w.until("the end of all", func() bool { return len(w.state) == 0 })
	label(ns[1], true)
	w.until("the objects of the second", func() bool { return len(w.state) == 2 })
	e.wantScope(inf, w, e.within(ns[1]))
	if _, err := kinform.FollowNamespaces(labelled, e.within(ns[0]), inf); err == nil {
		e.Error("a scope with namespaces was followed")
	}
}
