package conformance

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var permissionCases = []Case{
	{Name: "permissions/a list that is not allowed is forbidden", needs: powerless, run: forbiddenList},
	{Name: "permissions/a watch that is not allowed is forbidden, not an event", needs: powerless, run: forbiddenWatch},
	{Name: "permissions/a get does not show whether the object exists", needs: powerless, run: forbiddenGet},
	{Name: "permissions/a write that is not allowed changes nothing", needs: powerless, run: forbiddenWrite},
	{Name: "permissions/a stranger is unauthorized", needs: powerless, run: unauthorized},
}

// wantForbidden checks that the powerless user is refused.
func (e *env) wantForbidden(method, path string, query params, hs headers, body string) *metav1.Status {
	e.Helper()
	return e.wantFailure(e.do(e.powerless, method, path, query, hs, []byte(body)), http.StatusForbidden, metav1.StatusReasonForbidden)
}

func forbiddenList(e *env) {
	status := e.wantForbidden(http.MethodGet, e.configMaps(), nil, nil, "")
	if status.Details == nil || status.Details.Kind != "configmaps" {
		e.Errorf("details %+v, want the resource", status.Details)
	}
	e.wantForbidden(http.MethodGet, core+"/configmaps", params{"limit": "1"}, nil, "")
	// Who may do nothing does not learn what there is.
	e.wantForbidden(http.MethodGet, e.path(core, "gadgets"), nil, nil, "")
}

func forbiddenWatch(e *env) {
	e.wantForbidden(http.MethodGet, e.configMaps(), params{"watch": "true"}, nil, "")
	e.wantForbidden(http.MethodGet, e.configMaps(), params{"watch": "true", "resourceVersion": "nonsense"}, nil, "")
}

func forbiddenGet(e *env) {
	e.create("a", nil)
	for _, name := range []string{"a", "missing"} {
		status := e.wantForbidden(http.MethodGet, e.configMap(name), nil, nil, "")
		if status.Details == nil || status.Details.Name != name {
			e.Errorf("details %+v, want the name %s", status.Details, name)
		}
	}
}

func forbiddenWrite(e *env) {
	created := e.create("a", nil)
	text := headers{"Content-Type": asJSON}
	e.wantForbidden(http.MethodPost, e.configMaps(), nil, text, `{"metadata":{"name":"b"}}`)
	e.wantForbidden(http.MethodPut, e.configMap("a"), nil, text, `{"metadata":{"name":"a"},"data":{"k":"1"}}`)
	e.wantForbidden(http.MethodPatch, e.configMap("a"), nil, headers{"Content-Type": mergePatch}, `{"data":{"k":"1"}}`)
	e.wantForbidden(http.MethodDelete, e.configMap("a"), nil, nil, "")
	e.wantForbidden(http.MethodDelete, e.configMaps(), nil, nil, "")
	list := e.list(e.get(e.configMaps(), nil))
	e.wantNames(list, "a")
	if got := list.Items[0].GetResourceVersion(); got != created.ResourceVersion {
		e.Errorf("a forbidden write moved the version from %s to %s", created.ResourceVersion, got)
	}
}

func unauthorized(e *env) {
	for _, query := range []params{nil, {"watch": "true"}} {
		a := e.do(e.stranger, http.MethodGet, e.configMaps(), query, nil, nil)
		e.wantFailure(a, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	}
}
