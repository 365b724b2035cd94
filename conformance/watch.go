package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var watchCases = []Case{
	{Name: "watch/from a list's version delivers exactly what follows, in order", run: watchFromList},
	{Name: "watch/from a version in the past replays everything since", run: watchFromPast},
	{Name: "watch/events carry versions that grow", run: watchVersionsGrow},
	{Name: "watch/a deletion carries the last state, with a newer version", run: watchDeletion},
	{Name: "watch/a re-creation is a deletion and an addition", run: watchRecreation},
	{Name: "watch/all watchers see the same sequence", run: watchersAgree},
	{Name: "watch/no write is lost while watches come and go", run: watchResumes},
	{Name: "watch/without a version begins with what exists, then goes on", run: watchWithoutVersion},
	{Name: "watch/from version 0 begins with what exists, then goes on", run: watchFromZero},
	{Name: "watch/of one namespace does not see another", run: watchOneNamespace},
	{Name: "watch/over all namespaces", run: watchAllNamespaces},
	{Name: "watch/of resources outside namespaces", run: watchClusterScoped},
	{Name: "watch/of a namespace that does not exist waits", run: watchUnknownNamespace},
	{Name: "watch/of one object by its name", run: watchOneObject},
	{Name: "watch/is accepted at once, before anything happens", run: watchAcceptedAtOnce},
	{Name: "watch/an event names kind and version of its object", run: watchEventsNameKind},
	{Name: "watch/the object of an event is what the write returned", run: watchShowsWhatWasWritten},
	{Name: "watch/a time-out ends it cleanly", run: watchTimeout},
	{Name: "watch/one that nobody reads does not hold up another", run: watchUnread},
	{Name: "watch/a version that is no number is refused", run: watchBadVersion},
	{Name: "watch/from a version of the future waits in silence", run: watchFuture},
	{Name: "watch/of a resource that does not exist is not found", run: watchUnknownResource},
	{Name: "watch/watch=false is a list", run: watchFalse},
	{Name: "watch/is never compressed", run: watchNotCompressed},
}

func watchFromList(e *env) {
	e.createAll("before", "gone")
	e.remove("gone")
	list := e.list(e.get(e.configMaps(), nil))
	w := e.watch(e.configMaps(), params{"resourceVersion": list.GetResourceVersion()})
	e.create("a", nil)
	e.create("b", nil)
	e.set("a", "k", "1")
	e.set("before", "k", "1")
	e.remove("b")
	w.want(watch.Added, "a")
	w.want(watch.Added, "b")
	w.want(watch.Modified, "a")
	w.want(watch.Modified, "before")
	w.want(watch.Deleted, "b")
	e.create("last", nil)
	w.want(watch.Added, "last")
}

func watchFromPast(e *env) {
	first := e.create("a", nil)
	for i := range 5 {
		e.set("a", "k", fmt.Sprint(i))
	}
	e.remove("a")
	w := e.watch(e.configMaps(), params{"resourceVersion": first.ResourceVersion})
	for i := range 5 {
		ev := w.want(watch.Modified, "a")
		if got := ev.object.Object["data"].(map[string]any)["k"]; got != fmt.Sprint(i) {
			e.Fatalf("event %d shows k=%v: history is not sent in order", i, got)
		}
	}
	w.want(watch.Deleted, "a")
}

func watchVersionsGrow(e *env) {
	list := e.list(e.get(e.configMaps(), nil))
	w := e.watch(e.configMaps(), params{"resourceVersion": list.GetResourceVersion()})
	for i := range 10 {
		name := fmt.Sprintf("c%d", i%3)
		switch i / 3 {
		case 0:
			e.create(name, nil)
		case 1:
			e.set(name, "k", "1")
		default:
			if i < 9 {
				e.remove(name)
			} else {
				e.create(name, nil)
			}
		}
	}
	versions := []versioned{list}
	for _, ev := range w.take(10) {
		versions = append(versions, ev.object)
	}
	e.wantGrowing(versions...)
}

func watchDeletion(e *env) {
	e.create("a", labels{"x": "y"})
	last := e.set("a", "k", "1")
	w := e.watch(e.configMaps(), params{"resourceVersion": last.GetResourceVersion()})
	e.remove("a")
	deleted := w.want(watch.Deleted, "a").object
	e.wantGrowing(last, deleted)
	last.SetResourceVersion(deleted.GetResourceVersion())
	e.wantSame(deleted.Object, last.Object)
	if list := e.list(e.get(e.configMaps(), nil)); e.version(list) < e.version(deleted) {
		e.Errorf("a list after the deletion is of version %s, the deletion of %s", list.GetResourceVersion(), deleted.GetResourceVersion())
	}
}

func watchRecreation(e *env) {
	first := e.create("a", nil)
	w := e.watch(e.configMaps(), params{"resourceVersion": first.ResourceVersion})
	e.remove("a")
	second := e.create("a", nil)
	if got := w.want(watch.Deleted, "a").object.GetUID(); got != first.UID {
		e.Errorf("the deletion is of uid %s, want %s", got, first.UID)
	}
	if got := w.want(watch.Added, "a").object.GetUID(); got != second.UID {
		e.Errorf("the addition is of uid %s, want %s", got, second.UID)
	}
}

func watchersAgree(e *env) {
	const watchers, writers, writes = 5, 4, 10
	list := e.list(e.get(e.configMaps(), nil))
	streams := make([]*stream, watchers)
	for i := range streams {
		streams[i] = e.watch(e.configMaps(), params{"resourceVersion": list.GetResourceVersion()})
	}
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			name := fmt.Sprintf("w%d", i)
			e.create(name, nil)
			for j := range writes - 1 {
				e.set(name, "k", fmt.Sprint(j))
			}
		})
	}
	all.Wait()
	var first []string
	for i, w := range streams {
		var frames []string
		for _, ev := range w.take(writers * writes) {
			frames = append(frames, string(ev.frame))
		}
		if i == 0 {
			first = frames
		} else if !slices.Equal(frames, first) {
			e.Fatalf("watcher %d saw another sequence than watcher 0", i)
		}
	}
}

// watchResumes reads a few events from each watch and continues with a new one
// from the last version seen, as a client does after a lost connection.
func watchResumes(e *env) {
	const writes = 60
	version := e.list(e.get(e.configMaps(), nil)).GetResourceVersion()
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range writes {
			e.create(fmt.Sprintf("c%02d", i), nil)
		}
	})
	defer writer.Wait()
	for seen := 0; seen < writes; {
		w := e.watch(e.configMaps(), params{"resourceVersion": version})
		for range min(7, writes-seen) {
			ev := w.want(watch.Added, fmt.Sprintf("c%02d", seen))
			version = ev.object.GetResourceVersion()
			seen++
		}
		w.stop()
	}
}

func watchWithoutVersion(e *env) { e.watchSynthetic(nil) }

func watchFromZero(e *env) { e.watchSynthetic(params{"resourceVersion": "0"}) }

// watchSynthetic checks a watch that first sends what there is.
func (e *env) watchSynthetic(query params) {
	e.Helper()
	last := e.createAll("a", "b", "c")
	// Any state will do for such a watch; after this list there is no older one.
	e.list(e.get(e.configMaps(), params{"resourceVersion": last.ResourceVersion}))
	w := e.watch(e.configMaps(), query)
	var names []string
	for _, ev := range w.take(3) {
		if ev.kind != watch.Added {
			e.Fatalf("the watch began with %s, want what exists as ADDED", ev.frame)
		}
		names = append(names, ev.object.GetName())
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		e.Fatalf("the watch began with %v, want a, b, c, each once", names)
	}
	e.set("b", "k", "1")
	w.want(watch.Modified, "b")
	e.remove("a")
	w.want(watch.Deleted, "a")
}

func watchOneNamespace(e *env) {
	here := e.ns
	version := e.list(e.get(e.configMaps(), nil)).GetResourceVersion()
	w := e.watch(e.configMaps(), params{"resourceVersion": version})
	e.ns = e.newNamespace()
	e.create("elsewhere", nil)
	e.ns = here
	e.create("here", nil)
	w.want(watch.Added, "here")
}

func watchAllNamespaces(e *env) {
	mark := labels{"case": e.ns}
	list := e.list(e.get(core+"/configmaps", nil))
	w := e.watch(core+"/configmaps", params{"resourceVersion": list.GetResourceVersion(), "labelSelector": "case=" + e.ns})
	e.create("a", mark)
	e.ns = e.newNamespace()
	e.create("b", mark)
	w.want(watch.Added, "a")
	if ev := w.want(watch.Added, "b"); ev.object.GetNamespace() != e.ns {
		e.Errorf("the event names namespace %q, want %q", ev.object.GetNamespace(), e.ns)
	}
}

func watchClusterScoped(e *env) {
	list := e.list(e.get(rbac+"/clusterroles", nil))
	w := e.watch(rbac+"/clusterroles", params{"resourceVersion": list.GetResourceVersion(), "labelSelector": "case=" + e.ns})
	role := e.newClusterRole(labels{"case": e.ns})
	w.want(watch.Added, role.Name)
	must(e, e.kube.RbacV1().ClusterRoles().Delete(e.ctx, role.Name, metav1.DeleteOptions{}), "deleting")
	w.want(watch.Deleted, role.Name)
}

func watchUnknownNamespace(e *env) {
	w := e.watch(core+"/namespaces/"+e.ns+"-missing/configmaps", params{"timeoutSeconds": "2"})
	w.wantEnd()
}

func watchOneObject(e *env) {
	e.createAll("a", "b")
	w := e.watch(e.configMaps(), params{"fieldSelector": "metadata.name=a", "resourceVersion": "0"})
	w.want(watch.Added, "a")
	e.set("b", "k", "1")
	e.set("a", "k", "1")
	w.want(watch.Modified, "a")
}

func watchAcceptedAtOnce(e *env) {
	list := e.list(e.get(e.configMaps(), nil))
	// open returns when the head of the response is here, and nothing is written.
	w := e.watch(e.configMaps(), params{"resourceVersion": list.GetResourceVersion()})
	if got := w.header.Get("Content-Type"); got != asJSON {
		e.Errorf("a watch in JSON has Content-Type %q", got)
	}
}

func watchEventsNameKind(e *env) {
	e.create("a", nil)
	w := e.watch(e.configMaps(), nil)
	e.set("a", "k", "1")
	for _, ev := range w.take(2) {
		if ev.object.GetKind() != "ConfigMap" || ev.object.GetAPIVersion() != "v1" {
			e.Errorf("an event's object is %q of %q, want ConfigMap of v1", ev.object.GetKind(), ev.object.GetAPIVersion())
		}
	}
}

func watchShowsWhatWasWritten(e *env) {
	first := e.create("a", labels{"x": "y"})
	w := e.watch(e.configMaps(), params{"resourceVersion": first.ResourceVersion})
	written := e.set("a", "k", "<&>\u2028é")
	e.wantSame(w.want(watch.Modified, "a").object.Object, written.Object)
}

func watchTimeout(e *env) {
	e.create("a", nil)
	w := e.watch(e.configMaps(), params{"timeoutSeconds": "2"})
	w.want(watch.Added, "a")
	w.wantEnd()
}

func watchUnread(e *env) {
	version := e.list(e.get(e.configMaps(), nil)).GetResourceVersion()
	e.watch(e.configMaps(), params{"resourceVersion": version}) // nobody reads it
	read := e.watch(e.configMaps(), params{"resourceVersion": version})
	big := strings.Repeat("x", 100_000)
	e.create("a", nil)
	read.want(watch.Added, "a")
	for i := range 20 {
		e.set("a", "k", fmt.Sprint(i)+big)
		read.want(watch.Modified, "a")
	}
}

// watchBadVersion holds a server to what kube-apiserver says, which is not the
// 400 that a list gets.
func watchBadVersion(e *env) {
	for _, version := range []string{"latest", "-1", "1.5"} {
		a := e.get(e.configMaps(), params{"watch": "true", "resourceVersion": version})
		e.wantFailure(a, http.StatusInternalServerError, "")
	}
}

func watchFuture(e *env) {
	version := e.future()
	w := e.watch(e.configMaps(), params{"resourceVersion": version, "timeoutSeconds": "2"})
	e.create("a", nil)
	w.wantEnd()
}

func watchUnknownResource(e *env) {
	a := e.get(e.path(core, "gadgets"), params{"watch": "true"})
	e.want(a, http.StatusNotFound)
}

func watchFalse(e *env) {
	e.create("a", nil)
	for _, no := range []string{"false", "0"} {
		e.wantNames(e.list(e.get(e.configMaps(), params{"watch": no})), "a")
	}
}

func watchNotCompressed(e *env) {
	e.create("a", nil)
	e.set("a", "k", strings.Repeat("x", 300_000))
	response, _ := e.open(e.configMaps(), params{}, headers{"Accept": asJSON, "Accept-Encoding": "gzip"})
	if got := response.Header.Get("Content-Encoding"); got != "" {
		e.Errorf("a watch has Content-Encoding %q, want none", got)
	}
}
