package apisim_test

import (
	"testing"

	"github.com/kinform/kinform/apisim"
)

func TestNamespaceTakesItsContentAlong(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	c.object(201, "POST", "/api/v1/namespaces", `{"metadata":{"name":"team"}}`)
	c.object(201, "POST", "/api/v1/namespaces/team/configmaps", configMap("a"))
	c.object(201, "POST", "/apis/apps/v1/namespaces/team/deployments", `{"metadata":{"name":"d"}}`)
	c.object(201, "POST", configMaps, configMap("elsewhere"))
	w := c.watch("/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Dteam")
	w.want("ADDED", "team")
	c.object(200, "DELETE", "/api/v1/namespaces/team", "")
	if marked := w.want("MODIFIED", "team"); marked.GetDeletionTimestamp() == nil {
		t.Errorf("marked as %v", marked.Object)
	}
	w.want("DELETED", "team")
	c.refused(404, "NotFound", "GET", "/api/v1/namespaces/team/configmaps/a", "")
	c.refused(404, "NotFound", "GET", "/apis/apps/v1/namespaces/team/deployments/d", "")
	c.object(200, "GET", configMaps+"/elsewhere", "")
}

func TestNamespaceWaitsForFinalizers(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	const held = "/api/v1/namespaces/team/configmaps"
	c.object(201, "POST", "/api/v1/namespaces", `{"metadata":{"name":"team"}}`)
	c.object(201, "POST", held, `{"metadata":{"name":"a","finalizers":["example.com/hold"]}}`)
	c.object(200, "DELETE", "/api/v1/namespaces/team", "")
	if a := c.object(200, "GET", held+"/a", ""); a.GetDeletionTimestamp() == nil {
		t.Errorf("not marked: %v", a.Object)
	}
	c.refused(403, "Forbidden", "POST", held, configMap("late"))
	c.object(200, "PATCH", held+"/a", `{"metadata":{"finalizers":null}}`, "Content-Type", "application/merge-patch+json")
	c.refused(404, "NotFound", "GET", "/api/v1/namespaces/team", "")
	c.refused(404, "NotFound", "POST", held, configMap("later"))
}
