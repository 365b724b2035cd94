package contract

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/check"
)

// ScopeChanges changes the scope of an informer many times while everything is written,
// and logs what that costs next to an informer that is made anew for each scope.
func ScopeChanges(t *testing.T, cfg *rest.Config, changes int) {
	for what, next := range map[string]func(*env, *rand.Rand, []string) kinform.Scope{
		"anything": (*env).randomScope, "namespaces": (*env).randomNamespaces,
	} {
		t.Run(what, func(t *testing.T) {
			e := newEnv(t, Server{Config: cfg})
			e.clock.Reset(serverPatience)
			e.scopeLoad(changes, next)
		})
	}
}

// scopeLoad changes a scope at random under load. Package check sees every event.
func (e *env) scopeLoad(changes int, next func(*env, *rand.Rand, []string) kinform.Scope) {
	e.Helper()
	const namespaces, objects = 5, 40
	random := rand.New(rand.NewPCG(16, uint64(changes)))
	spaces := []string{}
	for range namespaces {
		spaces = append(spaces, e.newNamespace())
	}
	for _, ns := range spaces {
		each(names("load", objects), func(name string) { e.mustWaitFor("a first object", e.writeLabelled(ns, name, "0")) })
	}
	e.stopIfFailed()
	var scoped, restarted traffic
	inf := e.informer(e.counted(&scoped), kinform.Options{LabelSelector: "story=" + e.ns})
	checker := check.New(inf, check.Options{Rescoped: true, List: func(ctx context.Context) (runtime.Object, error) {
		return e.listScope(ctx, inf.Scope())
	}})
	checker.Subscribe(check.Subscriber{Name: "every"})
	checker.Subscribe(check.Subscriber{Name: "merging", Limit: 8})
	checker.Subscribe(check.Subscriber{Name: "latest", Latest: true})
	e.sync(inf)
	var writers sync.WaitGroup
	ctx, quiet := context.WithCancel(e.ctx)
	defer quiet()
	for i := range 3 {
		writers.Go(func() { e.writeScopes(ctx, spaces, objects, uint64(i)) })
	}
	var scopes []kinform.Scope
	for n := range changes {
		s := next(e, random, spaces)
		scopes = append(scopes, s)
		e.must(inf.SetScope(s), "changing the scope to "+s.String())
		if n%3 > 0 { // else the next one comes before this one is there
			e.must(inf.WaitSynced(e.ctx), "waiting for the scope "+s.String())
		}
	}
	quiet()
	writers.Wait()
	last := kinform.Scope{Namespaces: spaces[1:3], LabelSelector: "story=" + e.ns}
	e.must(inf.SetScope(last), "changing the scope for the last time")
	e.must(inf.WaitSynced(e.ctx), "waiting for the last scope")
	e.must(checker.Compare(e.ctx), "comparing with the server")
	checker.Stop()
	e.must(checker.Err(), "checking the events")
	for _, s := range scopes {
		e.restart(&restarted, s)
	}
	e.Logf("%d scope changes under load: %d lists, %d watches, %d bytes, %d events; restarted for each, without load: %d lists, %d watches, %d bytes",
		changes, scoped.lists.Load(), scoped.watches.Load(), scoped.bytes.Load(), checker.Delivered().Total(),
		restarted.lists.Load(), restarted.watches.Load(), restarted.bytes.Load())
}

// restart does for a scope what programs do whose informers cannot change theirs.
func (e *env) restart(t *traffic, s kinform.Scope) {
	e.Helper()
	if s.Nothing {
		return
	}
	inf := e.informer(e.counted(t), kinform.Options{
		Namespaces: s.Namespaces, LabelSelector: s.LabelSelector, FieldSelector: s.FieldSelector,
	})
	e.sync(inf)()
}

// randomScope is one of many: all namespaces, some, none; one of several selectors.
func (e *env) randomScope(random *rand.Rand, spaces []string) kinform.Scope {
	s := kinform.Scope{LabelSelector: "story=" + e.ns}
	switch random.IntN(8) {
	case 0:
		return kinform.Scope{Nothing: true}
	case 1, 2: // all
	default:
		for _, i := range random.Perm(len(spaces))[:1+random.IntN(len(spaces))] {
			s.Namespaces = append(s.Namespaces, spaces[i])
		}
	}
	switch random.IntN(8) {
	case 0:
		s.LabelSelector += ",is=yes"
	case 1:
		s.LabelSelector += ",is in (no,maybe)"
	case 2:
		s.FieldSelector = "metadata.name!=load-001"
	}
	return s
}

// randomNamespaces is all namespaces but one or two.
func (e *env) randomNamespaces(random *rand.Rand, spaces []string) kinform.Scope {
	i := random.IntN(len(spaces))
	left := slices.Delete(slices.Clone(spaces), i, i+1)
	if random.IntN(2) == 0 {
		left = left[1:]
	}
	return kinform.Scope{Namespaces: left, LabelSelector: "story=" + e.ns}
}

// writeScopes writes objects of all namespaces until ctx ends.
func (e *env) writeScopes(ctx context.Context, spaces []string, objects int, seed uint64) {
	random := rand.New(rand.NewPCG(17, seed))
	for n := 0; ctx.Err() == nil; n++ {
		ns, name := spaces[random.IntN(len(spaces))], fmt.Sprintf("load-%03d", random.IntN(objects))
		if random.IntN(6) == 0 {
			err := e.in(ns).maps().Delete(e.ctx, name, metav1.DeleteOptions{})
			e.mustWaitFor("a deletion", leaveOut(err, isGone))
			continue
		}
		e.mustWaitFor("a write", e.writeLabelled(ns, name, fmt.Sprint(n)))
	}
}

// writeLabelled writes an object, with a label that depends on what is written.
func (e *env) writeLabelled(ns, name, v string) error {
	o := configMap(name, v+strings.Repeat(" ", 200))
	o.Labels = map[string]string{"story": e.ns, "is": []string{"yes", "no", "maybe"}[len(v+name)%3]}
	_, err := e.in(ns).maps().Update(e.ctx, o, metav1.UpdateOptions{})
	if err != nil && isGone(err) {
		_, err = e.in(ns).maps().Create(e.ctx, o, metav1.CreateOptions{})
	}
	return leaveOut(err, elsewhere, isGone)
}

// listScope lists what the server has in a scope.
func (e *env) listScope(ctx context.Context, s kinform.Scope) (runtime.Object, error) {
	all := &corev1.ConfigMapList{}
	if len(s.Namespaces) == 0 {
		s.Namespaces = []string{""}
	}
	for _, ns := range s.Namespaces {
		l, err := e.in(ns).maps().List(ctx, metav1.ListOptions{LabelSelector: s.LabelSelector, FieldSelector: s.FieldSelector})
		if err != nil {
			return nil, err
		}
		all.Items = append(all.Items, l.Items...)
	}
	return all, nil
}
