package conformance

import (
	"k8s.io/apimachinery/pkg/watch"
)

// Servers send a bookmark shortly before a watch runs into its timeout. The
// cases ask for short ones, so that they need not wait for the periodic ones.
// A bookmark that would only repeat the version from which a watch began need
// not come, so there is always a write after the beginning.

var bookmarkCases = []Case{
	{Name: "bookmarks/come before the time-out if they are asked for", run: bookmarksAsked},
	{Name: "bookmarks/do not come if they are not asked for", run: bookmarksNotAsked},
	{Name: "bookmarks/carry kind and version, and nothing else", run: bookmarksCarryVersion},
	{Name: "bookmarks/move past what a selector hides", run: bookmarksPassHidden},
	{Name: "bookmarks/a watch resumes from one, nothing twice and nothing lost", run: bookmarksResume},
}

// soon is the query of a watch whose bookmark comes soon.
func soon(version string) params {
	return params{"resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "6"}
}

func bookmarksAsked(e *env) {
	last := e.create("a", nil)
	w := e.watch(e.configMaps(), soon(last.ResourceVersion))
	added := e.create("b", nil)
	w.want(watch.Added, "b")
	mark := w.wantBookmark()
	if e.version(mark.object) < e.version(added) {
		e.Errorf("a bookmark of version %s after an event of %s", mark.object.GetResourceVersion(), added.ResourceVersion)
	}
	w.wantEndAfterBookmarks()
}

func bookmarksNotAsked(e *env) {
	last := e.create("a", nil)
	w := e.watch(e.configMaps(), params{"resourceVersion": last.ResourceVersion, "timeoutSeconds": "6"})
	e.create("b", nil)
	w.want(watch.Added, "b")
	w.wantEnd()
}

func bookmarksCarryVersion(e *env) {
	last := e.create("a", nil)
	w := e.watch(e.configMaps(), soon(last.ResourceVersion))
	e.create("b", nil)
	w.want(watch.Added, "b")
	mark := w.wantBookmark().object
	e.wantSame(mark.Object, map[string]any{
		"kind":       "ConfigMap",
		"apiVersion": "v1",
		"metadata":   map[string]any{"resourceVersion": mark.GetResourceVersion()},
	})
}

func bookmarksPassHidden(e *env) {
	first := e.create("a", nil)
	query := soon(first.ResourceVersion)
	query["labelSelector"] = "nobody=has"
	w := e.watch(e.configMaps(), query)
	hidden := e.create("b", nil)
	if mark := w.wantBookmark(); e.version(mark.object) < e.version(hidden) {
		e.Errorf("a bookmark of version %s does not pass the hidden write of %s", mark.object.GetResourceVersion(), hidden.ResourceVersion)
	}
}

func bookmarksResume(e *env) {
	first := e.create("a", nil)
	w := e.watch(e.configMaps(), soon(first.ResourceVersion))
	e.create("b", nil)
	w.want(watch.Added, "b")
	mark := w.wantBookmark()
	e.create("c", nil)
	next := e.watch(e.configMaps(), params{"resourceVersion": mark.object.GetResourceVersion()})
	next.want(watch.Added, "c")
}
