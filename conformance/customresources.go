package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

var customResourceCases = []Case{
	{Name: "custom resources/a definition serves them, its deletion ends them", run: customLifecycle},
	{Name: "custom resources/the deletion of a definition deletes its objects first", run: customDeletion},
	{Name: "custom resources/a definition may come back", run: customAgain},
	{Name: "custom resources/before their definition they are not found", run: customUndefined},
	{Name: "custom resources/a definition under a wrong name is invalid", run: customInvalidDefinition},
	{Name: "custom resources/the items of a list name their kind", run: customItems},
	{Name: "custom resources/a list gives its items before its version", run: customListOrder},
	{Name: "custom resources/share the growing version with all others", run: customVersions},
	{Name: "custom resources/a watch delivers what follows", run: customWatch},
	{Name: "custom resources/initial events and their bookmark", run: customInitialEvents},
	{Name: "custom resources/a bookmark carries kind and version", run: customBookmark},
	{Name: "custom resources/pages cover everything", run: customPages},
	{Name: "custom resources/every served version shows the same objects", run: customServedVersions},
	{Name: "custom resources/an update must name its version", run: customUpdate},
	{Name: "custom resources/JSON and merge patches, no strategic ones", run: customPatch},
	{Name: "custom resources/a body must name its kind", run: customKind},
	{Name: "custom resources/status and generation", run: customStatus},
	{Name: "custom resources/scale", run: customScale},
	{Name: "custom resources/finalizers", run: customFinalizers},
	{Name: "custom resources/a collection is deleted by selection", run: customDeleteCollection},
	{Name: "custom resources/fields of the definition can be selected", run: customFields},
	{Name: "custom resources/have no protobuf form, clients fall back", run: customProtobuf},
	{Name: "custom resources/their metadata has a protobuf form", run: customMetadata},
	{Name: "custom resources/tables have the columns of the definition", run: customTable},
	{Name: "custom resources/outside of namespaces", run: customClusterScoped},
	{Name: "custom resources/discovery lists them", run: customDiscovery},
	{Name: "custom resources/at wrong addresses are not found", run: customWrongAddress},
}

func customLifecycle(e *env) {
	g := e.define()
	list := e.list(e.get(g.all(), nil))
	if list.GetKind() != "GadgetList" || list.GetAPIVersion() != g.group+"/v1" || len(list.Items) != 0 {
		e.Errorf("the first list is %v", list.Object)
	}
	w := g.watchFrom(list)
	g.create("a", "red")
	w.want(watch.Added, "a")
	g.undefine()
	w.want(watch.Deleted, "a")
	w.wantEnd()
	g.awaitServed("v1", http.StatusNotFound)
}

func customDeletion(e *env) {
	g := e.define()
	g.create("a", "red")
	last := g.create("b", "red")
	w := g.watchFrom(last)
	g.undefine()
	gone := map[string]bool{}
	versions := []versioned{last}
	for _, ev := range w.take(2) {
		if ev.kind != watch.Deleted {
			e.Fatalf("the watch said %s, want DELETED", ev.frame)
		}
		gone[ev.object.GetName()] = true
		versions = append(versions, ev.object)
	}
	if !gone["a"] || !gone["b"] {
		e.Errorf("deleted were %v, want a and b", gone)
	}
	e.wantGrowing(versions...)
}

func customAgain(e *env) {
	g := e.define()
	first := g.create("a", "red")
	g.undefine()
	g = e.define()
	list := e.list(e.get(g.all(), nil))
	e.wantNames(list)
	e.wantGrowing(first, list, g.create("a", "red"))
}

func customUndefined(e *env) {
	e.want(e.get(e.path("/apis/"+e.ns+".example.com/v1", "gadgets"), nil), http.StatusNotFound)
	e.want(e.get(e.path("/apis/"+e.ns+".example.com/v1", "gadgets"), params{"watch": "true"}), http.StatusNotFound)
}

func customInvalidDefinition(e *env) {
	g := &gadgets{e: e, group: e.ns + ".example.com", scope: "Namespaced"}
	definition := g.definition()
	definition["metadata"] = map[string]any{"name": "widgets." + g.group}
	e.wantFailure(e.post(definitions, e.text(definition)), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	g.scope = "Galactic"
	e.wantFailure(e.post(definitions, e.text(g.definition())), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
}

func customItems(e *env) {
	g := e.define()
	created := g.create("a", "red")
	list := e.list(e.get(g.all(), nil))
	e.wantNames(list, "a")
	if item := list.Items[0]; item.GetKind() != "Gadget" || item.GetAPIVersion() != g.group+"/v1" {
		e.Errorf("an item names kind %q of %q, want Gadget of %s/v1", item.GetKind(), item.GetAPIVersion(), g.group)
	}
	e.wantSame(list.Items[0].Object, created.Object)
}

// customListOrder is not a promise, but what every client meets: who reads a
// list as it arrives does not know its version until the end.
func customListOrder(e *env) {
	g := e.define()
	g.create("a", "red")
	body := e.want(e.get(g.all(), nil), http.StatusOK).body
	items := bytes.Index(body, []byte(`"items":[`))
	metadata := bytes.LastIndex(body, []byte(`"metadata":{"continue":"","resourceVersion":`))
	if items < 0 || metadata < items {
		e.Errorf("the list %.400s has its items at %d, its metadata at %d, want the items first", body, items, metadata)
	}
}

func customVersions(e *env) {
	g := e.define()
	before := e.create("before", nil)
	created := g.create("a", "red")
	after := e.create("after", nil)
	painted := g.paint("a", "blue")
	e.wantGrowing(before, created, after, painted)
	if again := g.paint("a", "blue"); again.GetResourceVersion() != painted.GetResourceVersion() {
		e.Errorf("a patch without a change moved the version from %s to %s", painted.GetResourceVersion(), again.GetResourceVersion())
	}
}

func customWatch(e *env) {
	g := e.define()
	first := g.create("a", "red")
	w := g.watchFrom(first)
	painted := g.paint("a", "blue")
	g.create("b", "red")
	e.want(e.delete(g.one("a"), ""), http.StatusOK)
	e.wantSame(w.want(watch.Modified, "a").object.Object, painted.Object)
	w.want(watch.Added, "b")
	gone := w.want(watch.Deleted, "a").object
	e.wantField(gone, "blue", "spec", "color")
	e.wantGrowing(painted, gone)
}

func customInitialEvents(e *env) {
	g := e.define()
	g.create("a", "red")
	last := g.create("b", "red")
	w := e.watch(g.all(), initial())
	mark := w.wantInitial("a", "b")
	if e.version(mark.object) < e.version(last) {
		e.Errorf("the closing bookmark is of version %s, the last write of %s", mark.object.GetResourceVersion(), last.GetResourceVersion())
	}
	g.paint("a", "blue")
	w.want(watch.Modified, "a")
}

func customBookmark(e *env) {
	g := e.define()
	w := e.watch(g.all(), soon(g.create("a", "red").GetResourceVersion()))
	g.create("b", "red")
	w.want(watch.Added, "b")
	mark := w.wantBookmark().object
	if mark.GetKind() != "Gadget" || mark.GetAPIVersion() != g.group+"/v1" || mark.Object["spec"] != nil {
		e.Errorf("the bookmark is %v", mark.Object)
	}
}

func customPages(e *env) {
	g := e.define()
	for _, name := range strings.Split("abcde", "") {
		g.create(name, "red")
	}
	pages := e.pages(g.all(), params{"limit": "2"})
	if len(pages) != 3 {
		e.Fatalf("%d pages, want 3", len(pages))
	}
	e.wantNames(pages[0], "a", "b")
	e.wantNames(pages[1], "c", "d")
	e.wantNames(pages[2], "e")
	if count := pages[0].GetRemainingItemCount(); count == nil || *count != 3 {
		e.Errorf("remaining %v, want 3", count)
	}
}

func customServedVersions(e *env) {
	g := e.define()
	created := g.create("a", "red")
	list := e.list(e.get(g.collection("v2"), nil))
	e.wantNames(list, "a")
	if list.GetAPIVersion() != g.group+"/v2" || list.Items[0].GetAPIVersion() != g.group+"/v2" {
		e.Errorf("a list of v2 is of %s with items of %s", list.GetAPIVersion(), list.Items[0].GetAPIVersion())
	}
	if list.Items[0].GetResourceVersion() != created.GetResourceVersion() || list.Items[0].GetUID() != created.GetUID() {
		e.Error("the versions show different objects")
	}
	w := e.watch(g.collection("v2"), params{"resourceVersion": created.GetResourceVersion()})
	g.paint("a", "blue")
	if ev := w.want(watch.Modified, "a"); ev.object.GetAPIVersion() != g.group+"/v2" {
		e.Errorf("an event of v2 is of %s", ev.object.GetAPIVersion())
	}
	e.want(e.get(g.collection("v0"), nil), http.StatusNotFound)
	e.want(e.get(g.collection("v9"), nil), http.StatusNotFound)
}

func customUpdate(e *env) {
	g := e.define()
	created := g.create("a", "red")
	a := e.put(g.one("a"), g.body("a", `,"spec":{"color":"blue"}`))
	e.wantFailure(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	g.paint("a", "green")
	a = e.put(g.one("a"), e.text(created.Object))
	e.wantFailure(a, http.StatusConflict, metav1.StatusReasonConflict)
	current := e.object(e.get(g.one("a"), nil))
	current.Object["spec"] = map[string]any{"color": "blue"}
	updated := e.object(e.put(g.one("a"), e.text(current.Object)))
	e.wantSame(updated.Object["spec"], map[string]any{"color": "blue"})
	e.wantGrowing(current, updated)
}

func customPatch(e *env) {
	g := e.define()
	g.create("a", "red")
	e.wantField(g.paint("a", "blue"), "blue", "spec", "color")
	patched := e.object(e.patch(g.one("a"), jsonPatch, `[{"op":"replace","path":"/spec/color","value":"green"}]`))
	e.wantField(patched, "green", "spec", "color")
	a := e.patch(g.one("a"), strategicPatch, `{"spec":{"color":"black"}}`)
	e.wantFailure(a, http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType)
}

func customKind(e *env) {
	g := e.define()
	e.wantFailure(e.post(g.all(), `{"metadata":{"name":"a"}}`), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	other := strings.Replace(g.body("a", ""), "Gadget", "Widget", 1)
	e.wantFailure(e.post(g.all(), other), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
}

func customStatus(e *env) {
	g := e.define()
	created := e.object(e.post(g.all(), g.body("a", `,"spec":{"color":"red"},"status":{"ready":true}`)))
	if created.Object["status"] != nil || created.GetGeneration() != 1 {
		e.Errorf("created with status %v and generation %d, want none and 1", created.Object["status"], created.GetGeneration())
	}
	status := e.object(e.patch(g.one("a")+"/status", mergePatch, `{"spec":{"color":"blue"},"status":{"ready":true}}`))
	e.wantField(status, true, "status", "ready")
	e.wantField(status, "red", "spec", "color")
	if status.GetGeneration() != 1 {
		e.Errorf("a status write made generation %d", status.GetGeneration())
	}
	labelled := e.object(e.patch(g.one("a"), mergePatch, `{"metadata":{"labels":{"x":"y"}},"status":{"ready":false}}`))
	e.wantField(labelled, true, "status", "ready")
	if labelled.GetGeneration() != 1 {
		e.Errorf("a label made generation %d", labelled.GetGeneration())
	}
	if painted := g.paint("a", "blue"); painted.GetGeneration() != 2 {
		e.Errorf("a change of the spec made generation %d, want 2", painted.GetGeneration())
	}
}

func customScale(e *env) {
	g := e.define()
	created := g.create("a", "red")
	scale := e.object(e.get(g.one("a")+"/scale", nil))
	if scale.GetKind() != "Scale" || scale.GetAPIVersion() != "autoscaling/v1" {
		e.Errorf("the scale is %v", scale.Object)
	}
	w := g.watchFrom(created)
	scale = e.object(e.patch(g.one("a")+"/scale", mergePatch, `{"spec":{"replicas":5}}`))
	e.wantField(scale, 5, "spec", "replicas")
	e.wantField(w.want(watch.Modified, "a").object, 5, "spec", "replicas")
}

func customFinalizers(e *env) {
	g := e.define()
	g.create("a", "red")
	held := e.object(e.patch(g.one("a"), mergePatch, `{"metadata":{"finalizers":["example.com/one"]}}`))
	w := g.watchFrom(held)
	marked := e.object(e.delete(g.one("a"), ""))
	if marked.GetDeletionTimestamp() == nil || w.want(watch.Modified, "a").object.GetDeletionTimestamp() == nil {
		e.Error("a deletion that waits has no deletion time")
	}
	e.want(e.patch(g.one("a"), mergePatch, `{"metadata":{"finalizers":null}}`), http.StatusOK)
	e.wantGrowing(marked, w.want(watch.Deleted, "a").object)
}

func customDeleteCollection(e *env) {
	g := e.define()
	g.create("a", "red")
	g.create("b", "blue")
	e.object(e.patch(g.one("a"), mergePatch, `{"metadata":{"labels":{"x":"y"}}}`))
	e.want(e.do(e.admin, http.MethodDelete, g.all(), params{"labelSelector": "x=y"}, nil, nil), http.StatusOK)
	e.wantNames(e.list(e.get(g.all(), nil)), "b")
}

func customFields(e *env) {
	g := e.define()
	g.create("a", "red")
	last := g.create("b", "blue")
	e.wantNames(e.list(e.get(g.all(), params{"fieldSelector": "spec.color=red"})), "a")
	e.wantNames(e.list(e.get(g.all(), params{"fieldSelector": "metadata.name=b"})), "b")
	w := e.watch(g.all(), params{"fieldSelector": "spec.color=green", "resourceVersion": last.GetResourceVersion()})
	g.paint("a", "green")
	w.want(watch.Added, "a")
	g.paint("a", "red")
	w.want(watch.Deleted, "a")
	a := e.get(g.all(), params{"fieldSelector": "spec.size=1"})
	e.wantFailure(a, http.StatusBadRequest, metav1.StatusReasonBadRequest)
}

func customProtobuf(e *env) {
	g := e.define()
	created := g.create("a", "red")
	e.want(e.getAs(asProtobuf, g.all(), nil), http.StatusNotAcceptable)
	e.want(e.getAs(asProtobuf, g.all(), params{"watch": "true"}), http.StatusNotAcceptable)
	both := asProtobuf + "," + asJSON
	a := e.getAs(both, g.all(), nil)
	if got := a.header.Get("Content-Type"); got != asJSON {
		e.Errorf("Content-Type %q, want %q", got, asJSON)
	}
	e.wantNames(e.list(a), "a")
	w := e.watchAs(both, g.all(), params{"resourceVersion": created.GetResourceVersion()})
	g.paint("a", "blue")
	w.want(watch.Modified, "a")
}

func customMetadata(e *env) {
	g := e.define()
	created := g.create("a", "red")
	list := &metav1.PartialObjectMetadataList{}
	e.unprotobuf(e.want(e.getAs(asProtobuf+metadataListOf, g.all(), nil), http.StatusOK), list)
	if len(list.Items) != 1 || list.Items[0].UID != created.GetUID() || list.Kind != "PartialObjectMetadataList" {
		e.Errorf("the list is %+v", list)
	}
	w := e.watchProtobuf(metadataWatchProto, g.all(), params{"resourceVersion": created.GetResourceVersion()})
	g.paint("a", "blue")
	partial := &metav1.PartialObjectMetadata{}
	if kind := w.next(partial); kind != watch.Modified || partial.Name != "a" || partial.Generation != 2 {
		e.Errorf("the watch said %s of %+v", kind, partial)
	}
	e.wantMetadata(e.list(e.getAs(asJSON+metadataListOf, g.all(), nil)).Items[0].Object, "a")
}

func customTable(e *env) {
	g := e.define()
	g.create("a", "red")
	table := e.table(e.getAs(asTable, g.all(), nil))
	if len(table.ColumnDefinitions) != 2 || table.ColumnDefinitions[1].Name != "Color" || len(table.Rows) != 1 {
		e.Fatalf("columns %v, %d rows, want Name and Color, and one row", table.ColumnDefinitions, len(table.Rows))
	}
	e.wantSame(table.Rows[0].Cells, []string{"a", "red"})
	e.wantRow(table.Rows[0], table.ColumnDefinitions, "a", "PartialObjectMetadata")
}

func customClusterScoped(e *env) {
	g := e.defineAs("Cluster")
	w := e.watch(g.all(), nil)
	created := g.create("a", "red")
	if created.GetNamespace() != "" {
		e.Errorf("created in namespace %q", created.GetNamespace())
	}
	w.want(watch.Added, "a")
	e.wantNames(e.list(e.get(g.all(), nil)), "a")
	e.want(e.get(e.path("/apis/"+g.group+"/v1", "gadgets"), nil), http.StatusNotFound)
}

func customDiscovery(e *env) {
	g := e.define()
	resources := e.object(e.get("/apis/"+g.group+"/v1", nil))
	list, _, _ := unstructured.NestedSlice(resources.Object, "resources")
	found := map[string]string{}
	for _, r := range list {
		r := r.(map[string]any)
		found[fmt.Sprint(r["name"])] = fmt.Sprint(r["kind"], r["namespaced"])
	}
	e.wantSame(found, map[string]string{"gadgets": "Gadgettrue", "gadgets/status": "Gadgettrue", "gadgets/scale": "Scaletrue"})
	group := e.object(e.get("/apis/"+g.group, nil))
	e.wantField(group, g.group+"/v2", "preferredVersion", "groupVersion")
}

func customWrongAddress(e *env) {
	g := e.define()
	g.create("a", "red")
	root := "/apis/" + g.group + "/v1"
	e.want(e.post(root+"/gadgets", g.body("b", "")), http.StatusNotFound)
	e.want(e.get(root+"/gadgets/a", nil), http.StatusNotFound)
	e.want(e.get(e.path(root, "widgets"), nil), http.StatusNotFound)
	e.want(e.get(g.one("a")+"/nothing", nil), http.StatusNotFound)
	e.want(e.get(g.one("missing"), nil), http.StatusNotFound)
	e.wantNames(e.list(e.get(root+"/gadgets", params{"fieldSelector": "metadata.namespace=" + e.ns})), "a")
}
