package conformance

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var badInputCases = []Case{
	{Name: "bad input/a body that is not JSON is a bad request", run: brokenBody},
	{Name: "bad input/a body nested without end is a bad request", run: nestedBody},
	{Name: "bad input/a body that is not protobuf is a bad request", run: brokenProtobuf},
	{Name: "bad input/a body of another kind is a bad request", run: otherKind},
	{Name: "bad input/a value of another type is a bad request", run: otherType},
	{Name: "bad input/a body beyond the limit is too large", run: oversizedBody},
	{Name: "bad input/an object beyond its limit is invalid", run: oversizedObject},
	{Name: "bad input/a resource that does not exist is not found", run: unknownResource},
	{Name: "bad input/a namespaced resource without a namespace is not found", run: withoutNamespace},
	{Name: "bad input/a resource of the cluster in a namespace is not found", run: clusterInNamespace},
	{Name: "bad input/a method that does not fit is not allowed", run: methodNotAllowed},
	{Name: "bad input/numbers that are none are bad requests", run: badNumbers},
	{Name: "bad input/odd booleans mean yes", run: oddBooleans},
	{Name: "bad input/parameters that nobody knows mean nothing", run: unknownParameters},
	{Name: "bad input/names with odd characters are only not found", run: oddNames},
	{Name: "bad input/a dry run of an unknown sort is invalid", run: oddDryRun},
}

func brokenBody(e *env) {
	for _, body := range []string{``, `{`, `{"metadata":`, `nonsense`, `[]`, `"x"`, `1`, `{"metadata":{"name":"a"}} trailing`, "\x00\xff\xfe", `{"metadata":{"name":"a"}`} {
		e.wantFailure(e.post(e.configMaps(), body), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
	e.create("a", nil)
	e.wantFailure(e.put(e.configMap("a"), `{"metadata":`), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	e.wantNames(e.list(e.get(e.configMaps(), nil)), "a")
}

func nestedBody(e *env) {
	const depth = 200_000
	for _, body := range []string{
		strings.Repeat("[", depth),
		strings.Repeat(`{"a":`, depth),
		`{"metadata":{"name":"a"},"data":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`,
	} {
		e.wantFailure(e.post(e.configMaps(), body), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func brokenProtobuf(e *env) {
	whole := string(e.protobuf(e.create("whole", nil)))
	for _, body := range []string{"k8s\x00", "k8s\x00\xff\xff\xff\xff", "nonsense", whole[:len(whole)/2], `{"metadata":{"name":"a"}}`} {
		e.wantFailure(e.send(http.MethodPost, e.configMaps(), asProtobuf, body), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func otherKind(e *env) {
	for _, body := range []string{
		`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"}}`,
		`{"kind":"Gadget","apiVersion":"v1","metadata":{"name":"a"}}`,
		`{"kind":"ConfigMap","apiVersion":"v9","metadata":{"name":"a"}}`,
		`{"kind":"ConfigMap","apiVersion":"apps/v1","metadata":{"name":"a"}}`,
	} {
		e.wantFailure(e.post(e.configMaps(), body), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func otherType(e *env) {
	for _, body := range []string{
		`{"metadata":{"name":"a"},"data":{"k":1}}`,
		`{"metadata":{"name":"a"},"data":[]}`,
		`{"metadata":{"name":1}}`,
		`{"metadata":"a"}`,
		`{"metadata":{"name":"a"},"binaryData":{"k":"not base64!"}}`,
	} {
		e.wantFailure(e.post(e.configMaps(), body), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func oversizedBody(e *env) {
	big := strings.Repeat("x", 3<<20)
	a := e.post(e.configMaps(), `{"metadata":{"name":"a"},"data":{"k":"`+big+`"}}`)
	e.wantFailure(a, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge)
	e.create("a", nil)
	for _, form := range []string{mergePatch, strategicPatch} {
		a = e.patch(e.configMap("a"), form, `{"data":{"k":"`+big+`"}}`)
		e.wantFailure(a, http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge)
	}
}

func oversizedObject(e *env) {
	big := strings.Repeat("x", 1<<20+1)
	a := e.post(e.configMaps(), `{"metadata":{"name":"a"},"data":{"k":"`+big+`"}}`)
	e.wantFailure(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
}

func unknownResource(e *env) {
	for _, path := range []string{core + "/gadgets", e.path(core, "gadgets"), e.path(core, "gadgets", "a"), e.path(apps, "gadgets")} {
		e.wantFailure(e.get(path, nil), http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	e.wantFailure(e.post(e.path(core, "gadgets"), `{"kind":"Gadget","apiVersion":"v1","metadata":{"name":"a"}}`), http.StatusNotFound, metav1.StatusReasonNotFound)
	e.want(e.get(e.path("/apis/nothing.example.com/v1", "gadgets"), nil), http.StatusNotFound)
}

func withoutNamespace(e *env) {
	e.wantFailure(e.get(core+"/configmaps/a", nil), http.StatusNotFound, metav1.StatusReasonNotFound)
	e.wantFailure(e.delete(core+"/configmaps/a", ""), http.StatusNotFound, metav1.StatusReasonNotFound)
}

func clusterInNamespace(e *env) {
	e.wantFailure(e.get(e.path(core, "nodes"), nil), http.StatusNotFound, metav1.StatusReasonNotFound)
	e.wantFailure(e.get(e.path(rbac, "clusterroles"), nil), http.StatusNotFound, metav1.StatusReasonNotFound)
}

func methodNotAllowed(e *env) {
	e.create("a", nil)
	for _, r := range []struct{ method, path string }{
		{http.MethodPost, core + "/configmaps"},
		{http.MethodDelete, core + "/limitranges"}, // nobody's, should a server do it
		{http.MethodPost, e.configMap("a")},
		{http.MethodPut, e.configMaps()},
		{http.MethodPatch, e.configMaps()},
		{http.MethodPut, rbac + "/clusterroles"},
	} {
		a := e.send(r.method, r.path, asJSON, `{"metadata":{"name":"a"}}`)
		e.wantFailure(a, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)
	}
}

func badNumbers(e *env) {
	for _, query := range []params{
		{"limit": "many"},
		{"limit": "1.5"},
		{"timeoutSeconds": "soon", "watch": "true"},
		{"timeoutSeconds": "soon"},
	} {
		e.wantFailure(e.get(e.configMaps(), query), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
	e.wantNames(e.list(e.get(e.configMaps(), params{"limit": "-1"})))
}

func oddBooleans(e *env) {
	e.create("a", nil)
	for _, yes := range []string{"1", "yes", "TRUE", "maybe"} {
		w := e.watch(e.configMaps(), params{"watch": yes})
		w.want("ADDED", "a")
		w.stop()
	}
}

func unknownParameters(e *env) {
	e.create("a", nil)
	e.wantNames(e.list(e.get(e.configMaps(), params{"nonsense": "1", "fieldManager": "x"})), "a")
}

func oddNames(e *env) {
	for _, name := range []string{"A_b", "a b", "ä", "a:b", strings.Repeat("a", 1000)} {
		e.wantFailure(e.get(e.configMap(name), nil), http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

func oddDryRun(e *env) {
	a := e.do(e.admin, http.MethodPost, e.configMaps(), params{"dryRun": "Some"}, headers{"Content-Type": asJSON}, []byte(`{"metadata":{"name":"a"}}`))
	e.wantFailure(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
}
