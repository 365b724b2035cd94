package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"

	"github.com/kinform/kinform"
)

// The story of point 8 in which a resource goes and comes back.

type custom = *unstructured.Unstructured

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// definer defines the story's own resource.
type definer struct {
	e        *env
	client   dynamic.Interface
	resource schema.GroupVersionResource
	ready    chan string // uids of definitions that are established
	gone     chan string // uids of definitions that are gone
}

func (e *env) definer() *definer {
	e.Helper()
	client, err := dynamic.NewForConfig(e.config())
	e.must(err, "making a client")
	d := &definer{e: e, client: client, ready: make(chan string, 100), gone: make(chan string, 100),
		resource: schema.GroupVersionResource{Group: e.ns + ".example.com", Version: "v1", Resource: "gizmos"}}
	all := informerOf[custom](e, e.config(), kinform.Options{Resource: definitions, LabelSelector: "contract=" + e.ns})
	all.Subscribe(func(_ context.Context, ev kinform.Event[custom]) {
		if crd, err := ev.New(); err == nil && established(crd) && ev.Type != kinform.EventDeleted {
			d.ready <- string(crd.GetUID())
		}
		if ev.Type == kinform.EventDeleted {
			d.gone <- ev.UID()
		}
	}, subscribed{})
	e.sync(all)
	return d
}

func established(crd custom) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

// define defines the resource in its version, with a field of a type, and waits until it is
// served.
func (d *definer) define(fieldType string) { d.defineVersions(fieldType, d.resource.Version) }

// defineVersions defines the resource in some versions, of which the last is stored.
func (d *definer) defineVersions(fieldType string, versions ...string) {
	d.e.Helper()
	names := map[string]any{"plural": "gizmos", "singular": "gizmo", "kind": "Gizmo", "listKind": "GizmoList"}
	shape := map[string]any{"type": "object", "properties": map[string]any{
		"spec": map[string]any{"type": "object", "properties": map[string]any{"field": map[string]any{"type": fieldType}}}}}
	var served []any
	for i, v := range versions {
		served = append(served, map[string]any{"name": v, "served": true, "storage": i == len(versions)-1,
			"schema": map[string]any{"openAPIV3Schema": shape}})
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gizmos." + d.resource.Group, "labels": map[string]any{"contract": d.e.ns}},
		"spec":     map[string]any{"group": d.resource.Group, "scope": "Namespaced", "names": names, "versions": served},
	}}
	made, err := d.client.Resource(definitions).Create(d.e.ctx, crd, metav1.CreateOptions{})
	d.e.must(err, "defining a resource")
	for receive(d.e, d.ready, "the resource to be served") != string(made.GetUID()) {
	}
}

func (d *definer) undefine() {
	d.e.Helper()
	d.e.must(d.client.Resource(definitions).Delete(d.e.ctx, "gizmos."+d.resource.Group, metav1.DeleteOptions{}), "deleting the definition")
}

// create makes an object, which a server that serves it since a moment may not know yet.
func (d *definer) create(name string, field any) {
	d.e.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": d.resource.GroupVersion().String(), "kind": "Gizmo",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"field": field}}}
	d.e.must(retry.OnError(retry.DefaultBackoff, apierrors.IsNotFound, func() error {
		_, err := d.client.Resource(d.resource).Namespace(d.e.ns).Create(d.e.ctx, o, metav1.CreateOptions{})
		return err
	}), "creating "+name)
}

// definitionGone: a definition is deleted while its objects are watched, twice, and comes
// back with another schema. Nobody has called the resource optional.
func definitionGone(e *env) {
	d := e.definer()
	d.define("string")
	d.create("a", "text")
	failures := 0 // of the goroutine that lists; read when it is over
	inf := informerOf[custom](e, e.config(), kinform.Options{Resource: d.resource, OnFailure: func(error) { failures++ }})
	heard := make(chan string, 100)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[custom]) { heard <- fmt.Sprint(ev.Type, " ", ev.Key) }, subscribed{})
	stop := e.sync(inf)
	next := func(want string) {
		e.Helper()
		if got := receive(e, heard, want); got != want {
			e.Errorf("delivered: %s, want %s", got, want)
		}
	}
	next("added " + e.key("a"))
	for round, field := range []any{int64(1), true} {
		mark := e.log.mark()
		d.undefine()
		next("deleted " + e.key([]string{"a", "b"}[round]))
		e.awaitLine(mark, "not served", nil)
		if n, synced := inf.Lister().Len(), inf.HasSynced(); n != 0 || !synced {
			e.Errorf("%d objects, synced %v, while the resource is not served", n, synced)
		}
		d.define([]string{"integer", "boolean"}[round])
		name := []string{"b", "c"}[round]
		d.create(name, field)
		next("added " + e.key(name))
		o, err := inf.Lister().Get(e.key(name))
		if err != nil {
			e.Errorf("reading %s: %v", name, err)
		} else if got, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "field"); got != field {
			e.Errorf("the field is %v, want %v", got, field)
		}
		if lines := e.log.mark() - mark; lines > 5 {
			e.Errorf("%d lines in the log for one resource that went and came", lines)
		}
	}
	stop()
	if failures > 30 {
		e.Errorf("%d failures are reported for a resource that went twice", failures)
	}
	d.undefine()
}

// definitionMoved: a definition is deleted while its objects are watched in a version, and
// comes back in another one only, and then in both.
func definitionMoved(e *env) {
	d := e.definer()
	d.resource.Version = "v1beta1"
	d.define("string")
	d.create("a", "old")
	inf := informerOf[custom](e, e.config(), kinform.Options{Resource: d.resource})
	heard := make(chan string, 100)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[custom]) { heard <- fmt.Sprint(ev.Type, " ", ev.Key) }, subscribed{})
	e.sync(inf)
	next := func(want string) {
		e.Helper()
		if got := receive(e, heard, want); got != want {
			e.Errorf("delivered: %s, want %s", got, want)
		}
	}
	next("added " + e.key("a"))

	mark := e.log.mark()
	d.undefine()
	next("deleted " + e.key("a"))
	e.awaitLine(mark, "not served", nil)
	moved := *d
	moved.resource.Version = "v1"
	moved.defineVersions("string", "v1")
	moved.create("b", "new")
	// It is listing each time that it looks whether the version is served.
	if st := inf.Status(); st.State() != kinform.StateAbsent && st.State() != kinform.StateListing || st.Reason() != kinform.ReasonNoResource || st.Objects != 0 {
		e.Errorf("while only another version is served, the status is %s", st)
	}
	var why *kinform.VerifyError
	if _, err := inf.Verify(e.ctx); !errors.As(err, &why) || !apierrors.IsNotFound(err) {
		e.Errorf("verifying what is not served gives %v", err)
	}

	receive(e, d.gone, "the end of the first definition")
	d.undefine()
	receive(e, d.gone, "the end of the second definition") // its objects are deleted first
	d.defineVersions("string", "v1beta1", "v1")
	moved.create("c", "both")
	next("added " + e.key("c"))
	o, err := inf.Lister().Get(e.key("c"))
	e.must(err, "reading what came back")
	if o.GetAPIVersion() != d.resource.GroupVersion().String() {
		e.Errorf("the object is of %s", o.GetAPIVersion())
	}
	moved.create("d", "watched")
	next("added " + e.key("d"))
	if st := inf.Status(); st.State() != kinform.StateWatching || st.Cause() != nil {
		e.Errorf("after it is back, the status is %s", st)
	}
	if lines := e.log.mark() - mark; lines > 8 {
		e.Errorf("%d lines in the log for one resource that went and came", lines)
	}
	d.undefine()
}

// serve says in which versions a definition that exists is served.
func (d *definer) serve(versions ...string) {
	d.e.Helper()
	crds := d.client.Resource(definitions)
	d.e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		crd, err := crds.Get(d.e.ctx, "gizmos."+d.resource.Group, metav1.GetOptions{})
		if err != nil {
			return err
		}
		all, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
		if err != nil {
			return err
		}
		for _, v := range all {
			v := v.(map[string]any)
			v["served"] = slices.Contains(versions, v["name"].(string))
		}
		if err := unstructured.SetNestedSlice(crd.Object, all, "spec", "versions"); err != nil {
			return err
		}
		_, err = crds.Update(d.e.ctx, crd, metav1.UpdateOptions{})
		return err
	}), "changing which versions are served")
}

// definitionUnserved: a version is no longer served while its objects live on in another
// one. Nothing was deleted, so nothing is told; the status says what is wrong, and the
// informer goes on once the version is served again.
func definitionUnserved(e *env) {
	d := e.definer()
	d.resource.Version = "v1beta1"
	d.defineVersions("string", "v1beta1", "v1")
	d.create("a", "lives")
	cfg, proxy := e.proxied()
	inf := informerOf[custom](e, cfg, kinform.Options{Resource: d.resource})
	heard := make(chan string, 100)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[custom]) { heard <- fmt.Sprint(ev.Type, " ", ev.Key) }, subscribed{})
	e.sync(inf)
	if got, want := receive(e, heard, "the first object"), "added "+e.key("a"); got != want {
		e.Errorf("delivered: %s, want %s", got, want)
	}

	mark := e.log.mark()
	d.serve("v1")
	e.disconnect(proxy)
	e.reconnect(proxy)
	e.awaitLine(mark, "what was read is kept", nil)
	if st := inf.Status(); st.Objects != 1 || !st.Synced || st.State() == kinform.StateAbsent {
		e.Errorf("while only another version is served, the status is %s", st)
	}
	d.serve("v1beta1", "v1")
	d.create("b", "served again")
	// Nothing else was told before.
	if got, want := receive(e, heard, "the next object"), "added "+e.key("b"); got != want {
		e.Errorf("delivered: %s, want %s", got, want)
	}
	d.undefine()
}
