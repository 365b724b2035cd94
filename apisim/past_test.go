package apisim_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/kinform/kinform/apisim"
)

func TestForgetHistory(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	first := c.object(201, "POST", configMaps, configMap("a")).GetResourceVersion()
	running := c.watch(configMaps + "?watch=1&resourceVersion=" + first)
	c.object(201, "POST", configMaps, configMap("b"))
	page := c.object(200, "GET", configMaps+"?limit=1", "")
	next := page.Object["metadata"].(map[string]any)["continue"].(string)

	c.object(201, "POST", configMaps, configMap("b2"))

	s.ForgetHistory()

	w := c.watch(configMaps + "?watch=1&resourceVersion=" + first)
	if e, err := w.next(); err != nil || e.Type != "ERROR" || e.Object.Object["code"] != int64(410) {
		t.Errorf("a watch of the past said %v, %v", e, err)
	}
	c.refused(410, "Expired", "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+first, "")
	status := c.refused(410, "Expired", "GET", configMaps+"?limit=1&continue="+next, "")
	rest := c.object(200, "GET", configMaps+"?limit=1&continue="+status.Continue, "")
	if items := rest.Object["items"].([]any); len(items) != 1 {
		t.Errorf("the rest is %v", items)
	}
	c.object(200, "GET", configMaps+"?resourceVersion="+first, "") // not older than

	running.want("ADDED", "b")
	running.want("ADDED", "b2")
	c.object(201, "POST", configMaps, configMap("c"))
	running.want("ADDED", "c")
}

func TestRestart(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	first := c.object(201, "POST", configMaps, configMap("a")).GetResourceVersion()
	c.object(201, "POST", configMaps, configMap("b"))
	running := c.watch(configMaps + "?watch=1&resourceVersion=" + first)
	running.want("ADDED", "b")

	s.Restart()

	if err := running.ended(); err == nil {
		t.Error("the watch was not cut")
	}
	w := c.watch(configMaps + "?watch=1&resourceVersion=" + first)
	if e, err := w.next(); err != nil || e.Type != "ERROR" {
		t.Errorf("a watch of the past said %v, %v", e, err)
	}
	now := strconv.FormatUint(s.ResourceVersion(), 10)
	w = c.watch(configMaps + "?watch=1&resourceVersion=" + now)
	c.object(200, "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+first, "")
	c.object(201, "POST", configMaps, configMap("c"))
	w.want("ADDED", "c")
}

func TestRestore(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	before := c.object(201, "POST", configMaps, configMap("a"))
	kept, version := s.Snapshot(), s.ResourceVersion()
	c.object(201, "POST", configMaps, configMap("b"))
	c.object(200, "PATCH", configMaps+"/a", `{"data":{"k":"w"}}`, "Content-Type", "application/merge-patch+json")
	after := strconv.FormatUint(s.ResourceVersion(), 10)
	running := c.watch(configMaps + "?watch=1&resourceVersion=" + after)

	for range 2 { // a snapshot can be restored again
		s.Restore(kept)
		if got := s.ResourceVersion(); got != version {
			t.Errorf("the version is %d, want %d", got, version)
		}
		if a := c.object(200, "GET", configMaps+"/a", ""); fmt.Sprint(a.Object) != fmt.Sprint(before.Object) {
			t.Errorf("restored %v, want %v", a.Object, before.Object)
		}
		c.refused(404, "NotFound", "GET", configMaps+"/b", "")
		c.object(201, "POST", configMaps, configMap("later"))
	}
	if err := running.ended(); err == nil {
		t.Error("the watch was not cut")
	}
	w := c.watch(fmt.Sprintf("%s?watch=1&resourceVersion=%d", configMaps, version-1))
	if e, err := w.next(); err != nil || e.Type != "ERROR" {
		t.Errorf("a watch of the past said %v, %v", e, err)
	}
	w = c.watch(fmt.Sprintf("%s?watch=1&resourceVersion=%d", configMaps, version))
	w.want("ADDED", "later")
}

// TestRestoreDefinitions: what is served goes back in time, too.
func TestRestoreDefinitions(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	without := s.Snapshot()
	define(c)
	c.object(201, "POST", gadgets, gadget("a", `"color":"red"`))
	with := s.Snapshot()
	s.Restore(without)
	if code, body := c.do("GET", gadgets, ""); code != 404 {
		t.Errorf("answered %d %s", code, body)
	}
	s.Restore(with)
	c.object(200, "GET", gadgets+"/a", "")
}

func TestHistoryLimit(t *testing.T) {
	s := start(t, apisim.Options{History: 5})
	c := talk(t, s)
	var versions []string
	for i := range 10 {
		versions = append(versions, c.object(201, "POST", configMaps, configMap(fmt.Sprint("c", i))).GetResourceVersion())
	}
	w := c.watch(configMaps + "?watch=1&resourceVersion=" + versions[3])
	if e, err := w.next(); err != nil || e.Type != "ERROR" {
		t.Errorf("a watch of what is forgotten said %v, %v", e, err)
	}
	w = c.watch(configMaps + "?watch=1&resourceVersion=" + versions[4])
	for i := 5; i < 10; i++ {
		w.want("ADDED", fmt.Sprint("c", i))
	}
	c.refused(410, "Expired", "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+versions[3], "")
	list := c.object(200, "GET", configMaps+"?resourceVersionMatch=Exact&resourceVersion="+versions[4], "")
	if n := len(list.Object["items"].([]any)); n != 5 {
		t.Errorf("%d objects at version %s, want 5", n, versions[4])
	}
}
