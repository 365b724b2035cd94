package apisim_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/kinform/kinform/apisim"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	gadgets     = "/apis/example.com/v1/namespaces/default/gadgets"
)

const gadgetDefinition = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "gadgets.example.com"},
	"spec": {
		"group": "example.com", "scope": "Namespaced",
		"names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"], "categories": ["all"]},
		"versions": [
			{"name": "v1", "served": true, "storage": true,
				"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
				"selectableFields": [{"jsonPath": ".spec.color"}],
				"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
			{"name": "v2", "served": true, "storage": false,
				"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
			{"name": "v3", "served": false, "storage": false,
				"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}
		]
	}
}`

func define(c *conversation) {
	c.Helper()
	c.object(201, "POST", definitions, gadgetDefinition)
}

func gadget(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":%q},"spec":{%s}}`, name, spec)
}

func TestCustomResource(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	c.do("GET", gadgets, "")
	define(c)
	w := c.watch(gadgets + "?watch=1&fieldSelector=spec.color%3Dred")
	c.object(201, "POST", gadgets, gadget("a", `"color":"red","replicas":2`))
	w.want("ADDED", "a")
	v2 := c.object(200, "GET", "/apis/example.com/v2/namespaces/default/gadgets/a", "")
	if v2.GetAPIVersion() != "example.com/v2" {
		t.Errorf("in v2 it is of %s", v2.GetAPIVersion())
	}
	if code, _ := c.do("GET", "/apis/example.com/v3/namespaces/default/gadgets", ""); code != 404 {
		t.Errorf("the version that is not served answered %d", code)
	}
	scale := c.object(200, "PATCH", gadgets+"/a/scale", `{"spec":{"replicas":7}}`, "Content-Type", "application/merge-patch+json")
	if got := fmt.Sprint(scale.Object["spec"]); got != "map[replicas:7]" {
		t.Errorf("scaled to %s", got)
	}
	w.want("MODIFIED", "a")
	c.object(200, "PATCH", gadgets+"/a", `{"spec":{"color":"blue"}}`, "Content-Type", "application/merge-patch+json")
	if gone := w.want("DELETED", "a"); fmt.Sprint(gone.Object["spec"]) != "map[color:red replicas:7]" {
		t.Errorf("it left the selection as %v", gone.Object)
	}
}

func TestSchema(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	c.object(201, "POST", definitions, `{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced",
		"names":{"plural":"gadgets","kind":"Gadget"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{
		"type":"object","properties":{"spec":{"type":"object","required":["color"],"properties":{
			"color":{"type":"string","enum":["red","blue"]},
			"size":{"type":"integer","minimum":1,"maximum":9,"default":3},
			"port":{"x-kubernetes-int-or-string":true},
			"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true},
			"tags":{"type":"object","additionalProperties":{"type":"string","maxLength":3}},
			"parts":{"type":"array","maxItems":2,"items":{"type":"object","properties":{"name":{"type":"string","pattern":"^[a-z]+$"},"n":{"type":"integer","default":1}}}},
			"none":{"type":"string","nullable":true}
		}}}}}}]}}`)
	for name, c2 := range map[string]struct{ spec, want string }{
		"defaults":  {`"color":"red"`, "map[color:red size:3]"},
		"pruned":    {`"color":"red","size":1,"other":{"a":1}`, "map[color:red size:1]"},
		"kept":      {`"color":"red","size":1,"free":{"a":{"b":[1]}}`, "map[color:red free:map[a:map[b:[1]]] size:1]"},
		"items":     {`"color":"red","size":1,"parts":[{"name":"a","x":1},{"n":2}]`, "map[color:red parts:[map[n:1 name:a] map[n:2]] size:1]"},
		"either":    {`"color":"red","size":1,"port":"http","tags":{"a":"b"}`, "map[color:red port:http size:1 tags:map[a:b]]"},
		"otherwise": {`"color":"red","size":1,"port":80,"none":null`, "map[color:red none:<nil> port:80 size:1]"},
	} {
		got := c.object(201, "POST", gadgets, gadget(name, c2.spec))
		if got := fmt.Sprint(got.Object["spec"]); got != c2.want {
			t.Errorf("%s: %s, want %s", name, got, c2.want)
		}
	}
	for _, spec := range []string{
		``, `"color":"green"`, `"color":1`, `"color":null`, `"color":"red","size":0`, `"color":"red","size":10`, `"color":"red","size":1.5`,
		`"color":"red","size":"1"`, `"color":"red","port":1.5`, `"color":"red","tags":{"a":1}`, `"color":"red","tags":{"a":"long"}`,
		`"color":"red","parts":[{},{},{}]`, `"color":"red","parts":{}`, `"color":"red","parts":[{"name":"A"}]`, `"color":"red","free":1`,
	} {
		c.refused(422, "Invalid", "POST", gadgets, gadget("bad", spec))
	}
	c.refused(400, "BadRequest", "POST", gadgets+"?fieldValidation=Strict", gadget("bad", `"color":"red","other":1`))
}

func TestDefinitionGone(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	define(c)
	c.object(201, "POST", gadgets, gadget("a", ""))
	w := c.watch(gadgets + "?watch=1")
	w.want("ADDED", "a")
	c.object(200, "DELETE", definitions+"/gadgets.example.com", "")
	w.want("DELETED", "a")
	if e, err := w.next(); err != io.EOF {
		t.Errorf("the watch went on with %v, %v", e, err)
	}
	if code, _ := c.do("GET", gadgets, ""); code != 404 {
		t.Errorf("the objects of no definition answered %d", code)
	}
	define(c)
	if list := c.object(200, "GET", gadgets, ""); len(list.Object["items"].([]any)) != 0 {
		t.Errorf("defined again, there are %v", list.Object)
	}
}

func TestDefinitionRefused(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	for _, body := range []string{
		`{"metadata":{"name":"x"}}`,
		`{"metadata":{"name":"other.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},"versions":[{"name":"v1","served":true,"storage":true}]}}`,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Everywhere","names":{"plural":"gadgets","kind":"Gadget"},"versions":[{"name":"v1","served":true,"storage":true}]}}`,
		`{"metadata":{"name":"gadgets.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"gadgets","kind":"Gadget"},"versions":[{"name":"v1","served":true}]}}`,
	} {
		c.refused(422, "Invalid", "POST", definitions, body)
	}
	define(c)
	for _, patch := range []string{`{"spec":{"scope":"Cluster"}}`, `{"spec":{"group":"other.com"}}`, `{"spec":{"names":{"plural":"things"}}}`} {
		c.refused(422, "Invalid", "PATCH", definitions+"/gadgets.example.com", patch, "Content-Type", "application/merge-patch+json")
	}
}
