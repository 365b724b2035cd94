package conformance

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var patchCases = []Case{
	{Name: "patch/JSON: operations in order", run: patchJSON},
	{Name: "patch/JSON: a test that fails changes nothing", run: patchJSONTest},
	{Name: "patch/merge: null removes, the rest is merged", run: patchMerge},
	{Name: "patch/strategic: lists are merged by key", run: patchStrategic},
	{Name: "patch/strategic: directives delete and replace", run: patchStrategicDirectives},
	{Name: "patch/from an old version is a conflict", run: patchConflict},
	{Name: "patch/a type that is not known is unsupported", run: patchUnsupported},
	{Name: "patch/a body that is no patch is a bad request", run: patchMalformed},
	{Name: "patch/of what does not exist is not found", run: patchMissing},
	{Name: "patch/of name and namespace is a bad request", run: patchIdentity},
	{Name: "patch/a result of the wrong type is invalid", run: patchWrongType},
}

func patchJSON(e *env) {
	e.create("a", nil)
	e.set("a", "k", "1")
	patched := e.object(e.patch(e.configMap("a"), jsonPatch, `[
		{"op":"test","path":"/data/k","value":"1"},
		{"op":"add","path":"/data/l","value":"2"},
		{"op":"replace","path":"/data/k","value":"3"},
		{"op":"copy","from":"/data/k","path":"/data/m"},
		{"op":"move","from":"/data/l","path":"/data/n"},
		{"op":"add","path":"/metadata/labels","value":{"x":"y"}}
	]`))
	e.wantSame(patched.Object["data"], map[string]string{"k": "3", "m": "3", "n": "2"})
	e.wantSame(patched.GetLabels(), labels{"x": "y"})
	e.wantSame(e.object(e.get(e.configMap("a"), nil)).Object, patched.Object)
}

func patchJSONTest(e *env) {
	e.create("a", nil)
	last := e.set("a", "k", "1")
	for _, patch := range []string{
		`[{"op":"add","path":"/data/l","value":"2"},{"op":"test","path":"/data/k","value":"2"}]`,
		`[{"op":"remove","path":"/data/missing"}]`,
		`[{"op":"explode","path":"/data"}]`,
	} {
		e.wantFailure(e.patch(e.configMap("a"), jsonPatch, patch), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	}
	e.wantSame(e.object(e.get(e.configMap("a"), nil)).Object, last.Object)
}

func patchMerge(e *env) {
	e.create("a", labels{"x": "y", "z": "z"})
	e.set("a", "k", "1")
	patched := e.object(e.patch(e.configMap("a"), mergePatch, `{"metadata":{"labels":{"x":null}},"data":{"k":null,"l":"2"}}`))
	e.wantSame(patched.Object["data"], map[string]string{"l": "2"})
	e.wantSame(patched.GetLabels(), labels{"z": "z"})
}

// containers reads names and images of a deployment's containers.
func (e *env) containers(a *answer) []string {
	e.Helper()
	spec := e.object(a).Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	var found []string
	for _, c := range spec["containers"].([]any) {
		container := c.(map[string]any)
		found = append(found, fmt.Sprintf("%v %v", container["name"], container["image"]))
	}
	return found
}

func patchStrategic(e *env) {
	e.newDeployment("a")
	a := e.patch(e.path(apps, "deployments", "a"), strategicPatch,
		`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/main:2"},{"name":"side","image":"example.com/side:1"}]}}}}`)
	e.wantSame(e.containers(a), []string{"main example.com/main:2", "side example.com/side:1"})
	a = e.patch(e.path(apps, "deployments", "a"), strategicPatch,
		`{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example.com/side:2"}]}}}}`)
	e.wantSame(e.containers(a), []string{"main example.com/main:2", "side example.com/side:2"})
}

func patchStrategicDirectives(e *env) {
	e.newDeployment("a")
	address := e.path(apps, "deployments", "a")
	e.want(e.patch(address, strategicPatch, `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"example.com/side:1"}]}}}}`), http.StatusOK)
	a := e.patch(address, strategicPatch, `{"spec":{"template":{"spec":{"containers":[{"name":"main","$patch":"delete"}]}}}}`)
	e.wantSame(e.containers(a), []string{"side example.com/side:1"})
	a = e.patch(address, strategicPatch, `{"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"name":"only","image":"example.com/only:1"}]}}}}`)
	e.wantSame(e.containers(a), []string{"only example.com/only:1"})
}

func patchConflict(e *env) {
	old := e.create("a", nil)
	e.set("a", "k", "1")
	for _, form := range []string{mergePatch, strategicPatch} {
		a := e.patch(e.configMap("a"), form, fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"data":{"k":"2"}}`, old.ResourceVersion))
		e.wantFailure(a, http.StatusConflict, metav1.StatusReasonConflict)
	}
	a := e.patch(e.configMap("a"), jsonPatch, fmt.Sprintf(`[{"op":"replace","path":"/metadata/resourceVersion","value":%q},{"op":"add","path":"/data/k","value":"2"}]`, old.ResourceVersion))
	e.wantFailure(a, http.StatusConflict, metav1.StatusReasonConflict)
}

func patchUnsupported(e *env) {
	e.create("a", nil)
	for _, form := range []string{asJSON, "text/plain", asProtobuf} {
		a := e.patch(e.configMap("a"), form, `{"data":{"k":"1"}}`)
		e.wantFailure(a, http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType)
	}
}

func patchMalformed(e *env) {
	e.create("a", nil)
	for _, patch := range []struct{ form, body string }{
		{jsonPatch, `{"op":"remove"}`},
		{jsonPatch, `[{"op`},
		{jsonPatch, ``},
		{mergePatch, `{"data`},
		{mergePatch, `[]`},
		{mergePatch, `"x"`},
		{strategicPatch, `{"data`},
		{strategicPatch, `[]`},
	} {
		e.wantFailure(e.patch(e.configMap("a"), patch.form, patch.body), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func patchMissing(e *env) {
	for _, form := range []string{mergePatch, strategicPatch} {
		e.wantFailure(e.patch(e.configMap("a"), form, `{"data":{"k":"1"}}`), http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

func patchIdentity(e *env) {
	e.create("a", nil)
	for _, patch := range []string{`{"metadata":{"name":"b"}}`, `{"metadata":{"namespace":"other"}}`} {
		e.wantFailure(e.patch(e.configMap("a"), mergePatch, patch), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func patchWrongType(e *env) {
	e.create("a", nil)
	a := e.patch(e.configMap("a"), mergePatch, `{"data":{"k":1}}`)
	e.wantFailure(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
}
