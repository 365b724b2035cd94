package contract

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kinform/kinform"
)

// badEverywhere makes the victim unreadable while its value is "bad", in every
// list and every event.
func (s *sick) badEverywhere() {
	bad := func(o fields) {
		if bytes.Contains(o["data"], []byte(`"bad"`)) {
			noMetadata(o)
		}
	}
	s.badFrames(often, subject(bad))
	s.m.lists(isList, item(bad))
}

func lastGoodState(e *env) {
	s := newSick(e, kinform.Options{JSON: true})
	s.badEverywhere()
	s.sync()
	e.update("victim", "bad")
	e.awaitLine(0, "rejected", nil) // by the list that was to get past the event
	s.w.receives(e.update("a", "meanwhile"))
	if o, err := s.inf.Lister().Get(e.key("victim")); err != nil || o.Data[value] != "1" {
		e.Errorf("the store has %v (%v), want the last good state", o, err)
	}
	if s.inf.Status().Rejected == 0 {
		e.Error("Status counts no rejected object")
	}
	s.wantWell()
}

// vanishedMeanwhile deletes an object in the moment between the last event and a
// list that does not show whether the unreadable object is the missing one.
func vanishedMeanwhile(e *env) {
	s := newSick(e, kinform.Options{JSON: true})
	s.badEverywhere()
	s.sync()
	held, deleted := make(chan struct{}), make(chan struct{})
	s.m.before(once(isList), func(r *http.Request) *http.Response {
		close(held)
		select {
		case <-deleted:
		case <-r.Context().Done():
		}
		return nil
	})
	e.update("victim", "bad")
	e.await(held, "the list that is to get past the event")
	e.delete("b")
	close(deleted)
	e.awaitLine(0, "rejected", nil)
	s.w.receives(e.update("victim", "well"))
	s.w.until("the end of what vanished", func() bool { return s.w.state[e.key("b")].kind == "" })
	server := e.onServer()
	e.wantStore(s.inf, server)
	s.w.wantServer(server)
}

// misfit sends the victim, once, with a number where its type has a string.
func misfit(e *env) {
	s := newSick(e, kinform.Options{JSON: true})
	s.badFrames(often, subject(badData))
	got, undecodable := make(chan string, 20), make(chan error, 20)
	s.inf.Subscribe(func(_ context.Context, ev eventOf) {
		now, err := ev.New()
		if err != nil {
			undecodable <- err
			return
		}
		if old, err := ev.Old(); now.Data[value] == "well" && (old != nil || err == nil) {
			e.Errorf("the state before, which does not fit, is %v (%v)", old, err)
		}
		got <- now.Data[value]
	}, kinform.SubscribeOptions{})
	s.w.sub.Stop() // it expects to get every state
	e.sync(s.inf)
	for range 3 {
		receive(e, got, "the initial objects")
	}
	e.update("victim", "bad")
	var decodeErr *kinform.DecodeError
	if err := receive(e, undecodable, "what cannot be decoded"); !errors.As(err, &decodeErr) || decodeErr.Key != e.key("victim") {
		e.Errorf("New returns %v, want a *DecodeError of the victim", err)
	}
	if o, err := s.inf.Lister().Get(e.key("victim")); !errors.As(err, &decodeErr) {
		e.Errorf("Get returns %v, %v, want a *DecodeError", o, err)
	}
	for key := range s.inf.Lister().All() {
		if key == e.key("victim") {
			e.Error("All yields an object that does not fit")
		}
	}
	e.wantRejected(s.inf, 1)
	e.update("a", "2")
	e.update("victim", "well")
	for _, want := range []string{"2", "well"} {
		if got := receive(e, got, want); got != want {
			e.Errorf("the handler gets %q, want %q", got, want)
		}
	}
	e.wantStore(s.inf, e.onServer())
}

// readElsewhere hands events to other goroutines, which read them after the handler
// has returned, among them one of an object that does not fit. That is an error for
// who reads it, and nothing else happens.
func readElsewhere(e *env) {
	s := newSick(e, kinform.Options{JSON: true})
	s.badFrames(often, subject(badData))
	s.w.sub.Stop() // it expects to get every state
	handed := make(chan eventOf, 20)
	sub := s.inf.Subscribe(func(_ context.Context, ev eventOf) { handed <- ev }, kinform.SubscribeOptions{})
	e.sync(s.inf)
	e.update("victim", "bad")
	e.update("victim", "well")
	type reading struct {
		ev       eventOf
		now, old object
		err      error
		oldErr   error
	}
	read := make(chan reading)
	next := func(what string) reading {
		e.Helper()
		ev := receive(e, handed, what)
		go func() { // a panic here would end the process
			r := reading{ev: ev}
			r.now, r.err = ev.New()
			r.old, r.oldErr = ev.Old()
			read <- r
		}()
		return receive(e, read, what+", read")
	}
	for range 3 {
		if r := next("an initial object"); r.err != nil || r.oldErr != nil || r.old != nil {
			e.Errorf("%s: New fails with %v; Old gives %v, %v", r.ev.Key, r.err, r.old, r.oldErr)
		}
	}
	var misfit *kinform.DecodeError
	if r := next("the object that does not fit"); !errors.As(r.err, &misfit) || r.now != nil || r.oldErr != nil || r.old == nil {
		e.Errorf("of an object that does not fit, New gives %v, %v; Old gives %v, %v", r.now, r.err, r.old, r.oldErr)
	}
	if r := next("the object that fits again"); r.err != nil || r.now.Data[value] != "well" || !errors.As(r.oldErr, &misfit) {
		e.Errorf("of the object that fits again, New gives %v, %v; Old gives %v, %v", r.now, r.err, r.old, r.oldErr)
	}
	sub.Stop()
	for _, st := range s.inf.Status().Subscribers {
		if st.Panics > 0 {
			e.Errorf("%d panics of %s", st.Panics, st.Name)
		}
	}
}

// gadget is how the story's custom resource is read.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Replicas int `json:"replicas"`
	} `json:"spec"`
}

// wrongField creates a custom resource with "many" where its readers expect a
// number; its definition does not mind.
func wrongField(e *env) {
	resource := schema.GroupVersionResource{Group: e.ns + ".example.com", Version: "v1", Resource: "gadgets"}
	inf := informerOf[*gadget](e, e.config(), kinform.Options{Resource: resource})
	got := make(chan string, 20)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*gadget]) {
		if g, err := ev.New(); err == nil {
			got <- ev.Name() + " has " + string(rune('0'+g.Spec.Replicas))
		}
	}, kinform.SubscribeOptions{})
	e.run(inf)
	e.awaitFailure(0, kinform.ReasonNoResource)
	gadgets := e.define(resource)
	// The definition is established at some time; the informer notices.
	e.must(inf.WaitSynced(e.ctx), "waiting for the custom resource")

	write := func(name string, replicas any) {
		e.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": resource.GroupVersion().String(), "kind": "Gadget",
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"replicas": replicas},
		}}
		_, err := gadgets.Create(e.ctx, o, metav1.CreateOptions{})
		e.must(err, "creating the gadget "+name)
	}
	write("good", int64(3))
	write("bad", "many")
	write("after", int64(1))
	for _, want := range []string{"good has 3", "after has 1"} {
		if got := receive(e, got, want); got != want {
			e.Errorf("the handler gets that %s, want %s", got, want)
		}
	}
	var decodeErr *kinform.DecodeError
	if o, err := inf.Lister().Get(e.key("bad")); !errors.As(err, &decodeErr) {
		e.Errorf("Get returns %v, %v, want a *DecodeError", o, err)
	}
	e.wantRejected(inf, 1)

	patch := []byte(`{"spec":{"replicas":5}}`)
	_, err := gadgets.Patch(e.ctx, "bad", "application/merge-patch+json", patch, metav1.PatchOptions{})
	e.must(err, "correcting the gadget")
	if got := receive(e, got, "the correction"); got != "bad has 5" {
		e.Errorf("the handler gets that %s, want bad has 5", got)
	}
	replicas := 0
	for _, o := range inf.Lister().All() {
		replicas += o.Spec.Replicas
	}
	if replicas != 9 || inf.Lister().Len() != 3 {
		e.Errorf("%d gadgets with %d replicas, want 3 with 9", inf.Lister().Len(), replicas)
	}
}

// define defines a custom resource that takes any fields.
func (e *env) define(r schema.GroupVersionResource) dynamic.ResourceInterface {
	e.Helper()
	client, err := dynamic.NewForConfig(e.config())
	e.must(err, "making a dynamic client")
	type object = map[string]any
	definition := &unstructured.Unstructured{Object: object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": r.Resource + "." + r.Group},
		"spec": object{
			"group": r.Group, "scope": "Namespaced",
			"names": object{"plural": r.Resource, "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{object{
				"name": r.Version, "served": true, "storage": true,
				"schema": object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_, err = client.Resource(definitions).Create(e.ctx, definition, metav1.CreateOptions{})
	e.must(err, "defining a custom resource")
	return client.Resource(r).Namespace(e.ns)
}

func panickingIndex(e *env) {
	s := newSick(e, kinform.Options{})
	ix := e.index(s.inf, "value", explosive)
	s.sync()
	e.update("victim", "panic")
	e.create("new", "panic")
	s.w.receives(e.update("a", "after")) // the rest goes on
	e.wantRejected(s.inf, 2)
	if o, err := s.inf.Lister().Get(e.key("victim")); err != nil || o.Data[value] != "1" {
		e.Errorf("the store has %v (%v), want the last good state", o, err)
	}
	if o, err := s.inf.Lister().Get(e.key("new")); !errors.Is(err, kinform.ErrNotFound) {
		e.Errorf("the store has %v (%v), which never had a good state", o, err)
	}
	if keys := slices.Sorted(ix.Keys("1")); !slices.Equal(keys, []string{e.key("b"), e.key("victim")}) {
		e.Errorf("the index has %v, want b and the victim in its last good state", keys)
	}
	s.w.receives(e.update("new", "good"))
	if keys := slices.Collect(ix.Keys("good")); !slices.Equal(keys, []string{e.key("new")}) {
		e.Errorf("the index has %v, want the new one", keys)
	}
	s.wantWell()
}

// explosive panics for some values; the others it is found under.
func explosive(o object) []string {
	if o.Data[value] == "panic" {
		panic("an index function that panics")
	}
	return []string{o.Data[value]}
}

func panickingLateIndex(e *env) {
	s := newSick(e, kinform.Options{})
	s.sync()
	s.w.receives(e.update("victim", "panic"))
	ix := e.index(s.inf, "value", explosive)
	e.wantRejected(s.inf, 1)
	e.wantStore(s.inf, e.onServer()) // only this index does not have it
	if got := slices.Sorted(slices.Values(ix.Values())); !slices.Equal(got, []string{"1", "watched"}) {
		e.Errorf("the index has the values %v, want those of the others", got)
	}
	s.w.receives(e.update("victim", "good"))
	if keys := slices.Collect(ix.Keys("good")); !slices.Equal(keys, []string{e.key("victim")}) {
		e.Errorf("the index has %v, want the victim", keys)
	}
	s.wantWell()
}

// panickingReborn hides the end of an object: the last good state under its name is
// not one of the object that took it.
func panickingReborn(e *env) {
	s := newSick(e, kinform.Options{JSON: true})
	s.m.frames(isWatch, func(frame []byte) []byte {
		if eventType(frame) == "DELETED" && bytes.Contains(frame, []byte(`"name":"victim"`)) {
			return nil
		}
		return frame
	})
	e.index(s.inf, "value", explosive)
	s.sync()
	e.recreate("victim", "panic")
	s.w.until("the end of the first victim", func() bool { return s.w.state[e.key("victim")].kind == "" })
	if o, err := s.inf.Lister().Get(e.key("victim")); !errors.Is(err, kinform.ErrNotFound) {
		e.Errorf("the store has %v (%v), which is gone", o, err)
	}
	e.wantRejected(s.inf, 1)
	s.wantWell()
}
