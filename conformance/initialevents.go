package conformance

import (
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var initialEventsCases = []Case{
	{Name: "initial events/what exists, then a bookmark that says so, then what follows", run: initialEvents},
	{Name: "initial events/of nothing are one bookmark", run: initialEventsOfNothing},
	{Name: "initial events/at version 0", run: initialEventsAtZero},
	{Name: "initial events/not older than a version", run: initialEventsNotOlderThan},
	{Name: "initial events/of a selection", run: initialEventsSelected},
	{Name: "initial events/of resources outside namespaces", run: initialEventsClusterScoped},
	{Name: "initial events/without bookmarks have no closing one", run: initialEventsWithoutBookmarks},
	{Name: "initial events/only one bookmark closes them", run: initialEventsClosedOnce},
	{Name: "initial events/not wanted, from a version: what follows only", run: noInitialEvents},
	{Name: "initial events/not wanted, without a version: from now on", run: noInitialEventsFromNow},
	{Name: "initial events/without the match they need are invalid", run: initialEventsInvalid},
	{Name: "initial events/not older than a version of the future is a time-out that names its cause", run: initialEventsFuture},
}

// initial is the query that asks for what exists as events.
func initial() params {
	return params{"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
}

// wantInitial reads what exists, in any order, and the bookmark that closes it.
func (s *stream) wantInitial(names ...string) event {
	s.e.Helper()
	var got []string
	for _, ev := range s.take(len(names)) {
		if ev.kind != watch.Added {
			s.e.Fatalf("an initial event is %s, want ADDED", ev.frame)
		}
		got = append(got, ev.object.GetName())
	}
	slices.Sort(got)
	if !slices.Equal(got, names) {
		s.e.Fatalf("the initial events are of %v, want %v", got, names)
	}
	mark := s.wantBookmark()
	s.e.wantSame(mark.object.Object["metadata"], map[string]any{
		"resourceVersion": mark.object.GetResourceVersion(),
		"annotations":     map[string]any{metav1.InitialEventsAnnotationKey: "true"},
	})
	return mark
}

func initialEvents(e *env) {
	last := e.createAll("a", "b", "c")
	w := e.watch(e.configMaps(), initial())
	mark := w.wantInitial("a", "b", "c")
	if e.version(mark.object) < e.version(last) {
		e.Errorf("the closing bookmark is of version %s, the last write of %s", mark.object.GetResourceVersion(), last.ResourceVersion)
	}
	if kind := mark.object.GetKind(); kind != "ConfigMap" {
		e.Errorf("the closing bookmark is of kind %q", kind)
	}
	e.set("b", "k", "1")
	w.want(watch.Modified, "b")
	e.remove("a")
	w.want(watch.Deleted, "a")
}

func initialEventsOfNothing(e *env) {
	w := e.watch(e.configMaps(), initial())
	w.wantInitial()
	e.create("a", nil)
	w.want(watch.Added, "a")
}

func initialEventsAtZero(e *env) {
	last := e.createAll("a", "b")
	e.list(e.get(e.configMaps(), params{"resourceVersion": last.ResourceVersion}))
	query := initial()
	query["resourceVersion"] = "0"
	e.watch(e.configMaps(), query).wantInitial("a", "b")
}

func initialEventsNotOlderThan(e *env) {
	last := e.createAll("a", "b")
	query := initial()
	query["resourceVersion"] = last.ResourceVersion
	mark := e.watch(e.configMaps(), query).wantInitial("a", "b")
	if e.version(mark.object) < e.version(last) {
		e.Errorf("the closing bookmark is of version %s, want %s or later", mark.object.GetResourceVersion(), last.ResourceVersion)
	}
}

func initialEventsSelected(e *env) {
	e.create("a", labels{"x": "y"})
	e.create("b", nil)
	query := initial()
	query["labelSelector"] = "x=y"
	w := e.watch(e.configMaps(), query)
	w.wantInitial("a")
	e.label("b", "x", "y")
	w.want(watch.Added, "b")
}

func initialEventsClusterScoped(e *env) {
	role := e.newClusterRole(labels{"case": e.ns})
	query := initial()
	query["labelSelector"] = "case=" + e.ns
	e.watch(rbac+"/clusterroles", query).wantInitial(role.Name)
}

func initialEventsWithoutBookmarks(e *env) {
	e.createAll("a")
	query := initial()
	delete(query, "allowWatchBookmarks")
	w := e.watch(e.configMaps(), query)
	w.want(watch.Added, "a")
	e.create("b", nil)
	w.want(watch.Added, "b")
}

func initialEventsClosedOnce(e *env) {
	query := initial()
	query["timeoutSeconds"] = "6"
	w := e.watch(e.configMaps(), query)
	w.wantInitial()
	e.create("a", nil)
	w.want(watch.Added, "a")
	if later := w.wantBookmark(); later.object.GetAnnotations() != nil {
		e.Errorf("a later bookmark %s closes the initial events again", later.frame)
	}
}

func noInitialEvents(e *env) {
	first := e.create("a", nil)
	e.create("b", nil)
	query := initial()
	query["sendInitialEvents"] = "false"
	query["resourceVersion"] = first.ResourceVersion
	w := e.watch(e.configMaps(), query)
	w.want(watch.Added, "b")
	e.create("c", nil)
	w.want(watch.Added, "c")
}

func noInitialEventsFromNow(e *env) {
	e.createAll("a", "b")
	query := initial()
	query["sendInitialEvents"] = "false"
	w := e.watch(e.configMaps(), query)
	e.create("c", nil)
	w.want(watch.Added, "c")
}

func initialEventsInvalid(e *env) {
	at := e.create("a", nil).ResourceVersion
	for _, query := range []params{
		{"sendInitialEvents": "true"},
		{"sendInitialEvents": "false"},
		{"sendInitialEvents": "true", "resourceVersion": at},
		{"sendInitialEvents": "true", "resourceVersion": at, "resourceVersionMatch": "Exact"},
		{"resourceVersionMatch": "NotOlderThan", "resourceVersion": at},
		{"resourceVersionMatch": "Exact", "resourceVersion": at},
		{"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "continue": "x"},
	} {
		query["watch"] = "true"
		e.wantFailure(e.get(e.configMaps(), query), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	}
}

func initialEventsFuture(e *env) {
	query := initial()
	query["resourceVersion"] = e.future()
	status := e.watch(e.configMaps(), query).wantError(http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
	if status.Details == nil || len(status.Details.Causes) != 1 || status.Details.Causes[0].Type != metav1.CauseTypeResourceVersionTooLarge {
		e.Errorf("the watch said %+v, want the cause %s", status, metav1.CauseTypeResourceVersionTooLarge)
	}
}
