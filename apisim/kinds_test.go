package apisim_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinform/kinform/apisim"
)

// TestEveryKind creates, reads, watches and deletes an object of every
// resource that discovery names, in every version and in both encodings.
func TestEveryKind(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(s.Config()).ServerPreferredResources()
	if err != nil || len(lists) < 20 {
		t.Fatalf("%d groups, %v", len(lists), err)
	}
	_, all, err := discovery.NewDiscoveryClientForConfigOrDie(s.Config()).ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, list := range all {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !strings.Contains(strings.Join(r.Verbs, " "), "delete") || gv.Group == "apiextensions.k8s.io" {
				continue
			}
			seen++
			t.Run(gv.String()+"/"+r.Name, func(t *testing.T) { c.TB = t; lifeOf(c, gv, r) })
		}
	}
	if seen < 100 {
		t.Errorf("only %d resources", seen)
	}
}

func lifeOf(c *conversation, gv schema.GroupVersion, r metav1.APIResource) {
	const name = "a-name"
	collection := "/apis/" + gv.String() + "/"
	if gv.Group == "" {
		collection = "/api/v1/"
	}
	if r.Namespaced {
		collection += "namespaces/default/"
	}
	collection += r.Name
	w := c.watch(fmt.Sprintf("%s?watch=1&resourceVersion=%d", collection, c.server.ResourceVersion()))
	c.object(http.StatusCreated, "POST", collection, `{"metadata":{"name":"`+name+`"}}`)
	if added := w.want("ADDED", name); added.GetKind() != r.Kind || added.GetAPIVersion() != gv.String() {
		c.Errorf("the watch shows a %s of %s", added.GetKind(), added.GetAPIVersion())
	}
	code, data := c.do("GET", collection+"/"+name, "", "Accept", "application/vnd.kubernetes.protobuf")
	obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if code != http.StatusOK || err != nil || *gvk != gv.WithKind(r.Kind) {
		c.Fatalf("in protobuf: %d, %v, %v", code, gvk, err)
	}
	if got := obj.(metav1.Object).GetName(); got != name {
		c.Errorf("in protobuf it is %q", got)
	}
	_, data = c.do("GET", collection, "", "Accept", "application/vnd.kubernetes.protobuf")
	if _, gvk, err = scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil); err != nil || *gvk != gv.WithKind(r.Kind+"List") {
		c.Errorf("the list in protobuf: %v, %v", gvk, err)
	}
	labelled := c.object(http.StatusOK, "PATCH", collection+"/"+name, `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json")
	if labelled.GetLabels()["a"] != "b" {
		c.Errorf("patched to %v", labelled.Object)
	}
	c.object(http.StatusOK, "DELETE", collection+"/"+name, "")
	for {
		e, err := w.next()
		if err != nil {
			c.Fatal("the deletion was not seen:", err)
		}
		if e.Type == "DELETED" {
			break
		}
	}
	w.stop()
}

// TestEventsOfBothGroups: one event is seen through both groups, under the
// names that each has for its fields.
func TestEventsOfBothGroups(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	const core, group = "/api/v1/namespaces/default/events", "/apis/events.k8s.io/v1/namespaces/default/events"
	c.object(201, "POST", core, `{"metadata":{"name":"a"},"message":"m","involvedObject":{"kind":"Pod","name":"p"},"count":2,"type":"Normal"}`)
	c.object(201, "POST", group, `{"metadata":{"name":"b"},"note":"m","regarding":{"kind":"Pod","name":"q"},"deprecatedCount":3,"type":"Normal"}`)
	for name, object := range map[string]string{"a": "p", "b": "q"} {
		old, new := c.object(200, "GET", core+"/"+name, ""), c.object(200, "GET", group+"/"+name, "")
		if old.Object["message"] != "m" || new.Object["note"] != "m" || old.Object["count"] != new.Object["deprecatedCount"] {
			t.Errorf("%v\n%v", old.Object, new.Object)
		}
		for path, field := range map[string]string{core: "involvedObject.name", group: "regarding.name"} {
			list := c.object(200, "GET", path+"?fieldSelector="+field+"%3D"+object, "")
			if items := list.Object["items"].([]any); len(items) != 1 {
				t.Errorf("%s=%s selects %v", field, object, items)
			}
		}
	}
	c.refused(400, "BadRequest", "GET", core+"?fieldSelector=regarding.name%3Dp", "")
	c.refused(400, "BadRequest", "GET", group+"?fieldSelector=involvedObject.name%3Dp", "")
}

func TestReviews(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	for path, status := range map[string]string{
		"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews":               "map[allowed:true]",
		"/apis/authorization.k8s.io/v1/subjectaccessreviews":                   "map[allowed:true]",
		"/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews": "map[allowed:true]",
		"/apis/authentication.k8s.io/v1/selfsubjectreviews":                    "map[userInfo:map[groups:[system:masters system:authenticated] username:apisim]]",
	} {
		if got := c.object(201, "POST", path, `{}`); fmt.Sprint(got.Object["status"]) != status {
			t.Errorf("%s: %v", path, got.Object["status"])
		}
		c.refused(405, "MethodNotAllowed", "GET", path, "")
	}
}

func TestHealth(t *testing.T) {
	s := start(t, apisim.Options{TLS: true})
	client := http.Client{Transport: transportFor(t, s)}
	for _, path := range []string{"/healthz", "/livez", "/readyz", "/readyz/ping"} {
		response, err := client.Get(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if string(body) != "ok" || response.ProtoMajor != 2 {
			t.Errorf("%s: %s over %s", path, body, response.Proto)
		}
	}
}
