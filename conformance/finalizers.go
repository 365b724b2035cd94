package conformance

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

var finalizerCases = []Case{
	{Name: "finalizers/keep a deleted object until the last is removed", run: finalizersKeep},
	{Name: "finalizers/a watch sees the mark, then the end", run: finalizersWatched},
	{Name: "finalizers/a second deletion changes nothing", run: finalizersDeletedTwice},
	{Name: "finalizers/none may be added to a deleted object", run: finalizersNotAdded},
	{Name: "finalizers/a deleted object can still be changed", run: finalizersChanged},
	{Name: "finalizers/a name is taken until its object is gone", run: finalizersHoldName},
	{Name: "finalizers/deletion in the foreground waits by a finalizer", run: finalizerForeground},
	{Name: "finalizers/a selection sees the end of a kept object", run: finalizersSelected},
}

// held creates a ConfigMap that a finalizer keeps.
func (e *env) held(name string, ls labels) *unstructured.Unstructured {
	e.Helper()
	created := e.object(e.post(e.configMaps(), e.text(map[string]any{
		"metadata": map[string]any{"name": name, "labels": ls, "finalizers": []string{"example.com/one", "example.com/two"}},
	})))
	e.Cleanup(func() { e.release(name) })
	return created
}

// release removes what keeps a ConfigMap, if it is there.
func (e *env) release(name string) *answer {
	e.Helper()
	return e.finalizers(name, "[]")
}

func (e *env) finalizers(name, list string) *answer {
	e.Helper()
	return e.patch(e.configMap(name), mergePatch, `{"metadata":{"finalizers":`+list+`}}`)
}

func finalizersKeep(e *env) {
	created := e.held("a", nil)
	marked := e.object(e.want(e.delete(e.configMap("a"), ""), http.StatusOK))
	if marked.GetKind() != "ConfigMap" || marked.GetDeletionTimestamp() == nil || len(marked.GetFinalizers()) != 2 {
		e.Fatalf("the answer is %v, want the object with its deletion time", marked.Object)
	}
	if grace := marked.GetDeletionGracePeriodSeconds(); grace == nil || *grace != 0 {
		e.Errorf("grace period %v, want 0", grace)
	}
	e.wantGrowing(created, marked)
	e.wantSame(e.object(e.get(e.configMap("a"), nil)).Object, marked.Object)
	one := e.object(e.finalizers("a", `["example.com/two"]`))
	e.wantGrowing(marked, one)
	e.wantNames(e.list(e.get(e.configMaps(), nil)), "a")
	e.want(e.release("a"), http.StatusOK)
	e.wantFailure(e.get(e.configMap("a"), nil), http.StatusNotFound, metav1.StatusReasonNotFound)
}

func finalizersWatched(e *env) {
	created := e.held("a", nil)
	w := e.watch(e.configMaps(), params{"resourceVersion": created.GetResourceVersion()})
	e.want(e.delete(e.configMap("a"), ""), http.StatusOK)
	marked := w.want(watch.Modified, "a")
	if marked.object.GetDeletionTimestamp() == nil {
		e.Errorf("the mark %s lacks the deletion time", marked.frame)
	}
	e.want(e.release("a"), http.StatusOK)
	gone := w.want(watch.Deleted, "a")
	if gone.object.GetDeletionTimestamp() == nil {
		e.Errorf("the end %s lacks the deletion time", gone.frame)
	}
	e.wantGrowing(created, marked.object, gone.object)
}

func finalizersDeletedTwice(e *env) {
	e.held("a", nil)
	first := e.object(e.delete(e.configMap("a"), ""))
	second := e.object(e.delete(e.configMap("a"), ""))
	e.wantSame(second.Object, first.Object)
}

func finalizersNotAdded(e *env) {
	e.held("a", nil)
	e.want(e.delete(e.configMap("a"), ""), http.StatusOK)
	a := e.finalizers("a", `["example.com/one","example.com/two","example.com/three"]`)
	e.wantFailure(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
}

func finalizersChanged(e *env) {
	e.held("a", nil)
	marked := e.object(e.delete(e.configMap("a"), ""))
	changed := e.set("a", "k", "1")
	e.wantGrowing(marked, changed)
	if changed.GetDeletionTimestamp() == nil {
		e.Error("a change took the deletion back")
	}
	cleared := e.object(e.patch(e.configMap("a"), mergePatch, `{"metadata":{"deletionTimestamp":null}}`))
	if cleared.GetDeletionTimestamp() == nil {
		e.Error("a client took the deletion back")
	}
}

func finalizersHoldName(e *env) {
	e.held("a", nil)
	e.want(e.delete(e.configMap("a"), ""), http.StatusOK)
	a := e.post(e.configMaps(), `{"metadata":{"name":"a"}}`)
	e.wantFailure(a, http.StatusConflict, metav1.StatusReasonAlreadyExists)
	e.want(e.release("a"), http.StatusOK)
	e.want(e.post(e.configMaps(), `{"metadata":{"name":"a"}}`), http.StatusCreated)
}

func finalizerForeground(e *env) {
	e.create("a", nil)
	e.Cleanup(func() { e.release("a") })
	marked := e.object(e.delete(e.configMap("a"), `{"propagationPolicy":"Foreground"}`))
	if marked.GetDeletionTimestamp() == nil {
		e.Errorf("the answer %v lacks the deletion time", marked.Object)
	}
	e.wantSame(marked.GetFinalizers(), []string{metav1.FinalizerDeleteDependents})
	e.want(e.release("a"), http.StatusOK)
	e.want(e.get(e.configMap("a"), nil), http.StatusNotFound)
}

func finalizersSelected(e *env) {
	created := e.held("a", labels{"x": "y"})
	w := e.watch(e.configMaps(), params{"resourceVersion": created.GetResourceVersion(), "labelSelector": "x=y"})
	e.want(e.delete(e.configMap("a"), ""), http.StatusOK)
	w.want(watch.Modified, "a")
	// The write that ends the object also takes it out of the selection.
	e.want(e.patch(e.configMap("a"), mergePatch, `{"metadata":{"finalizers":null,"labels":null}}`), http.StatusOK)
	w.want(watch.Deleted, "a")
}
