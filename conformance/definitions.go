package conformance

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// gadgets is a custom resource that was defined for one case, in a group of its
// own. It is stored as v1, served also as v2, and not as v0.
type gadgets struct {
	e     *env
	group string
	scope string
}

// define creates the definition of a custom resource and returns when it is served.
func (e *env) define() *gadgets { return e.defineAs("Namespaced") }

func (e *env) defineAs(scope string) *gadgets {
	e.Helper()
	g := &gadgets{e: e, group: e.ns + ".example.com", scope: scope}
	created := e.object(e.want(e.post(definitions, e.text(g.definition())), http.StatusCreated))
	e.Cleanup(func() { e.removeLater(g.address()) })
	w := e.watch(definitions, params{"fieldSelector": "metadata.name=" + g.name(), "resourceVersion": created.GetResourceVersion()})
	for condition(created, "Established") != "True" {
		created = w.next().object
	}
	g.awaitServed("v1", http.StatusOK)
	g.awaitServed("v2", http.StatusOK)
	return g
}

// awaitServed asks until the resource is served, or no longer served. A server
// says that a definition is established; when its handlers have heard of that,
// nothing tells.
func (g *gadgets) awaitServed(version string, code int) {
	g.e.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		a := g.e.get(g.collection(version), params{"limit": "1"})
		if a.code == code {
			return
		}
		select {
		case <-again.C:
		case <-g.e.ctx.Done():
			g.e.Fatalf("%s for too long, want %d", a, code)
		}
	}
}

func condition(o *unstructured.Unstructured, kind string) any {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == kind {
			return c["status"]
		}
	}
	return nil
}

func (g *gadgets) name() string { return "gadgets." + g.group }

// address is that of the definition.
func (g *gadgets) address() string { return definitions + "/" + g.name() }

// collection is the address of the objects, in the case's namespace if they
// are in namespaces.
func (g *gadgets) collection(version string) string {
	groupVersion := "/apis/" + g.group + "/" + version
	if g.scope == "Cluster" {
		return groupVersion + "/gadgets"
	}
	return g.e.path(groupVersion, "gadgets")
}

// all is the address of the stored version's objects.
func (g *gadgets) all() string { return g.collection("v1") }

// one is the address of one of them.
func (g *gadgets) one(name string) string { return g.all() + "/" + name }

// body renders a gadget: its identity, and further fields as JSON.
func (g *gadgets) body(name, fields string) string {
	return fmt.Sprintf(`{"apiVersion":"%s/v1","kind":"Gadget","metadata":{"name":%q}%s}`, g.group, name, fields)
}

// create creates a gadget with the given color.
func (g *gadgets) create(name, color string) *unstructured.Unstructured {
	g.e.Helper()
	return g.e.object(g.e.want(g.e.post(g.all(), g.body(name, fmt.Sprintf(`,"spec":{"color":%q,"replicas":1}`, color))), http.StatusCreated))
}

// paint patches a gadget's color.
func (g *gadgets) paint(name, color string) *unstructured.Unstructured {
	g.e.Helper()
	return g.e.object(g.e.patch(g.one(name), mergePatch, fmt.Sprintf(`{"spec":{"color":%q}}`, color)))
}

// watchFrom opens a watch of the gadgets from the version of an object.
func (g *gadgets) watchFrom(o versioned) *stream {
	g.e.Helper()
	return g.e.watch(g.all(), params{"resourceVersion": o.GetResourceVersion()})
}

// undefine deletes the definition and returns when it is gone.
func (g *gadgets) undefine() {
	g.e.Helper()
	last := g.e.object(g.e.get(g.address(), nil))
	w := g.e.watch(definitions, params{"fieldSelector": "metadata.name=" + g.name(), "resourceVersion": last.GetResourceVersion()})
	g.e.want(g.e.delete(g.address(), ""), http.StatusOK)
	for w.next().kind != watch.Deleted {
	}
}

// definition is what defines the gadgets.
func (g *gadgets) definition() map[string]any {
	type object = map[string]any
	open := object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
	properties := object{
		"spec": object{"type": "object", "properties": object{
			"color": object{"type": "string"}, "replicas": object{"type": "integer"}, "size": object{"type": "integer"},
		}},
		"status": object{"type": "object", "properties": object{"replicas": object{"type": "integer"}, "ready": object{"type": "boolean"}}},
	}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   object{"name": g.name()},
		"spec": object{
			"group": g.group,
			"scope": g.scope,
			"names": object{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []object{
				{
					"name": "v1", "served": true, "storage": true,
					"schema": object{"openAPIV3Schema": object{"type": "object", "properties": properties}},
					"subresources": object{
						"status": object{},
						"scale":  object{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
					},
					"selectableFields":         []object{{"jsonPath": ".spec.color"}},
					"additionalPrinterColumns": []object{{"name": "Color", "type": "string", "jsonPath": ".spec.color"}},
				},
				{"name": "v2", "served": true, "storage": false, "schema": open},
				{"name": "v0", "served": false, "storage": false, "schema": open},
			},
		},
	}
}
