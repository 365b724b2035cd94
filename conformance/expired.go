package conformance

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// What a server answers about a past that it has forgotten. These cases share
// one compaction, see env.compact.

var expiredCases = []Case{
	{Name: "expired/a watch from a forgotten version gets 410", needs: compaction, run: watchExpired},
	{Name: "expired/a watch in protobuf gets 410 in protobuf", needs: compaction, run: protobufExpired},
	{Name: "expired/a watch of metadata only gets 410, too", needs: compaction, run: metadataExpired},
	{Name: "expired/a watch with initial events does not mind a forgotten version", needs: compaction, run: initialEventsExpired},
	{Name: "expired/a watch without initial events from a forgotten version gets 410", needs: compaction, run: noInitialEventsExpired},
	{Name: "expired/a list of exactly a forgotten version is gone", needs: compaction, run: exactExpired},
	{Name: "expired/a list not older than a forgotten version is served", needs: compaction, run: notOlderThanExpired},
	{Name: "expired/a continue token is gone, with a fresh one to go on inconsistently", needs: compaction, run: tokenExpired},
	{Name: "expired/a relist gives a version that can be watched", needs: compaction, run: relistAfterExpired},
	{Name: "expired/versions go on growing", needs: compaction, run: versionsAfterCompaction},
}

// forget makes a few objects, with history, and returns the version before the
// last writes once the server has forgotten it.
func (e *env) forget() string {
	e.Helper()
	old := e.createAll("a", "b")
	e.set("a", "k", "1")
	e.create("c", nil)
	e.compact()
	return old.ResourceVersion
}

func watchExpired(e *env) {
	old := e.forget()
	w := e.watch(e.configMaps(), params{"resourceVersion": old})
	w.wantError(http.StatusGone, metav1.StatusReasonExpired)
}

func protobufExpired(e *env) {
	old := e.forget()
	w := e.watchProtobuf(asProtobuf, e.configMaps(), params{"resourceVersion": old})
	status := &metav1.Status{}
	if kind := w.next(status); kind != watch.Error || status.Kind != "Status" || status.Code != http.StatusGone || status.Reason != metav1.StatusReasonExpired {
		e.Errorf("the watch said %s with %+v, want an ERROR that says expired", kind, status)
	}
	w.wantEnd()
}

func metadataExpired(e *env) {
	old := e.forget()
	w := e.watchAs(metadataWatchJSON, e.configMaps(), params{"resourceVersion": old})
	w.wantError(http.StatusGone, metav1.StatusReasonExpired)
}

func initialEventsExpired(e *env) {
	query := initial()
	query["resourceVersion"] = e.forget()
	e.watch(e.configMaps(), query).wantInitial("a", "b", "c")
}

func noInitialEventsExpired(e *env) {
	query := initial()
	query["sendInitialEvents"] = "false"
	query["resourceVersion"] = e.forget()
	e.watch(e.configMaps(), query).wantError(http.StatusGone, metav1.StatusReasonExpired)
}

func exactExpired(e *env) {
	old := e.forget()
	a := e.get(e.configMaps(), params{"resourceVersion": old, "resourceVersionMatch": "Exact"})
	e.wantFailure(a, http.StatusGone, metav1.StatusReasonExpired)
}

func notOlderThanExpired(e *env) {
	old := e.forget()
	list := e.list(e.get(e.configMaps(), params{"resourceVersion": old, "resourceVersionMatch": "NotOlderThan"}))
	e.wantNames(list, "a", "b", "c")
}

func tokenExpired(e *env) {
	e.createAll("a", "b", "c")
	page := e.list(e.get(e.configMaps(), params{"limit": "1"}))
	e.set("a", "k", "1")
	e.create("bb", nil)
	e.compact()
	status := e.wantFailure(e.get(e.configMaps(), params{"continue": page.GetContinue(), "limit": "1"}), http.StatusGone, metav1.StatusReasonExpired)
	if status.Continue == "" || status.Continue == page.GetContinue() {
		e.Fatalf("the expired answer %+v has no fresh token", status)
	}
	rest := e.list(e.get(e.configMaps(), params{"continue": status.Continue}))
	e.wantNames(rest, "b", "bb", "c")
	e.wantGrowing(page, rest)
}

func relistAfterExpired(e *env) {
	e.forget()
	for _, query := range []params{nil, {"resourceVersion": "0"}} {
		list := e.list(e.get(e.configMaps(), query))
		e.wantNames(list, "a", "b", "c")
		w := e.watch(e.configMaps(), params{"resourceVersion": list.GetResourceVersion()})
		e.set("a", "k", list.GetResourceVersion())
		w.want(watch.Modified, "a")
	}
}

func versionsAfterCompaction(e *env) {
	before := e.create("a", nil)
	e.compact()
	read := e.object(e.get(e.configMap("a"), nil))
	if read.GetResourceVersion() != before.ResourceVersion || read.GetUID() != before.UID {
		e.Errorf("forgetting history changed an object from version %s to %s", before.ResourceVersion, read.GetResourceVersion())
	}
	e.wantGrowing(before, e.create("b", nil))
}
