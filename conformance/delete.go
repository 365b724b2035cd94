package conformance

import (
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

var deleteCases = []Case{
	{Name: "delete/answers with success and the uid", run: deleteAnswers},
	{Name: "delete/of what does not exist is not found", run: deleteMissing},
	{Name: "delete/preconditions that do not hold are a conflict", run: deletePreconditions},
	{Name: "delete/preconditions that hold let it pass", run: deletePreconditionsHold},
	{Name: "delete/options that cannot be read are a bad request", run: deleteBadOptions},
	{Name: "delete/options that make no sense are invalid", run: deleteInvalidOptions},
	{Name: "delete/a dry run changes nothing", run: deleteDryRun},
	{Name: "delete/a pod on a node is first marked, then gone", run: deletePodGracefully},
	{Name: "delete/a pod on no node is marked and gone at once", run: deletePodAtOnce},
	{Name: "delete/a collection, each object with its own event", run: deleteCollection},
	{Name: "delete/a selected part of a collection", run: deleteSelected},
	{Name: "delete/a collection that is empty", run: deleteEmptyCollection},
}

func deleteAnswers(e *env) {
	created := e.create("a", nil)
	status := &metav1.Status{}
	must(e, fromUnstructured(e.object(e.want(e.delete(e.configMap("a"), ""), http.StatusOK)), status), "decoding the answer")
	if status.Kind != "Status" || status.Status != metav1.StatusSuccess || status.Details == nil || status.Details.UID != created.UID || status.Details.Name != "a" {
		e.Errorf("the answer is %+v, want a success of uid %s", status, created.UID)
	}
	e.wantFailure(e.get(e.configMap("a"), nil), http.StatusNotFound, metav1.StatusReasonNotFound)
	e.wantNames(e.list(e.get(e.configMaps(), nil)))
}

func deleteMissing(e *env) {
	status := e.wantFailure(e.delete(e.configMap("a"), ""), http.StatusNotFound, metav1.StatusReasonNotFound)
	if status.Details == nil || status.Details.Name != "a" || status.Details.Kind != "configmaps" {
		e.Errorf("details %+v, want the name and the resource", status.Details)
	}
}

func deletePreconditions(e *env) {
	old := e.create("a", nil)
	e.set("a", "k", "1")
	for _, precondition := range []string{
		`{"uid":"another"}`,
		fmt.Sprintf(`{"resourceVersion":%q}`, old.ResourceVersion),
		fmt.Sprintf(`{"uid":%q,"resourceVersion":%q}`, old.UID, old.ResourceVersion),
	} {
		a := e.delete(e.configMap("a"), `{"preconditions":`+precondition+`}`)
		e.wantFailure(a, http.StatusConflict, metav1.StatusReasonConflict)
	}
	e.want(e.get(e.configMap("a"), nil), http.StatusOK)
}

func deletePreconditionsHold(e *env) {
	created := e.create("a", nil)
	e.want(e.delete(e.configMap("a"), fmt.Sprintf(`{"preconditions":{"uid":%q,"resourceVersion":%q}}`, created.UID, created.ResourceVersion)), http.StatusOK)
}

func deleteBadOptions(e *env) {
	e.create("a", nil)
	for _, options := range []string{`{"gr`, `{"gracePeriodSeconds":"x"}`, `[]`} {
		e.wantFailure(e.delete(e.configMap("a"), options), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func deleteInvalidOptions(e *env) {
	e.create("a", nil)
	for _, options := range []string{`{"propagationPolicy":"Sideways"}`, `{"dryRun":["Some"]}`, `{"orphanDependents":true,"propagationPolicy":"Background"}`} {
		e.wantFailure(e.delete(e.configMap("a"), options), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	}
}

func deleteDryRun(e *env) {
	created := e.create("a", nil)
	e.want(e.delete(e.configMap("a"), `{"dryRun":["All"]}`), http.StatusOK)
	if got := e.object(e.get(e.configMap("a"), nil)).GetResourceVersion(); got != created.ResourceVersion {
		e.Errorf("a dry run moved the version to %s", got)
	}
}

func deletePodGracefully(e *env) {
	pod := e.newPod("a", onNode("n"))
	w := e.watch(e.path(core, "pods"), params{"resourceVersion": pod.ResourceVersion})
	marked := e.object(e.want(e.delete(e.path(core, "pods", "a"), ""), http.StatusOK))
	if grace := marked.GetDeletionGracePeriodSeconds(); marked.GetDeletionTimestamp() == nil || grace == nil || *grace != 30 {
		e.Errorf("the answer %v lacks deletion time and grace period", marked.Object["metadata"])
	}
	if ev := w.want(watch.Modified, "a"); ev.object.GetDeletionTimestamp() == nil {
		e.Errorf("the event %s lacks the deletion time", ev.frame)
	}
	e.want(e.delete(e.path(core, "pods", "a"), `{"gracePeriodSeconds":0}`), http.StatusOK)
	due := w.wantDue("a")
	e.wantGrowing(marked, due, w.want(watch.Deleted, "a").object)
	e.want(e.get(e.path(core, "pods", "a"), nil), http.StatusNotFound)
}

func deletePodAtOnce(e *env) {
	pod := e.newPod("a", nil)
	w := e.watch(e.path(core, "pods"), params{"resourceVersion": pod.ResourceVersion})
	deleted := e.object(e.delete(e.path(core, "pods", "a"), ""))
	if deleted.GetKind() != "Pod" {
		e.Errorf("the answer is a %s, want the pod", deleted.GetKind())
	}
	e.wantGrowing(pod, w.wantDue("a"), w.want(watch.Deleted, "a").object)
}

// wantDue reads the event that says that a pod's grace period is over. It comes
// before the deletion, even if there was no such period.
func (s *stream) wantDue(name string) *unstructured.Unstructured {
	s.e.Helper()
	ev := s.want(watch.Modified, name)
	if grace := ev.object.GetDeletionGracePeriodSeconds(); ev.object.GetDeletionTimestamp() == nil || grace == nil || *grace != 0 {
		s.e.Errorf("the event %s lacks deletion time or a grace period of 0", ev.frame)
	}
	return ev.object
}

func deleteCollection(e *env) {
	last := e.createAll("a", "b", "c")
	w := e.watch(e.configMaps(), params{"resourceVersion": last.ResourceVersion})
	a := e.want(e.delete(e.configMaps(), ""), http.StatusOK)
	if kind := e.decode(a.body).GetKind(); kind != "ConfigMapList" {
		e.Errorf("the answer is a %s, want the list of what was deleted", kind)
	}
	e.wantNames(e.list(a), "a", "b", "c")
	names, versions := map[string]bool{}, []versioned{last}
	for _, ev := range w.take(3) {
		if ev.kind != watch.Deleted {
			e.Fatalf("the watch said %s, want DELETED", ev.frame)
		}
		names[ev.object.GetName()] = true
		versions = append(versions, ev.object)
	}
	e.wantGrowing(versions...)
	if len(names) != 3 {
		e.Errorf("events for %v, want all three", names)
	}
	e.wantNames(e.list(e.get(e.configMaps(), nil)))
}

func deleteSelected(e *env) {
	e.create("a", labels{"x": "y"})
	e.create("b", nil)
	e.create("c", labels{"x": "y"})
	a := e.do(e.admin, http.MethodDelete, e.configMaps(), params{"labelSelector": "x=y", "fieldSelector": "metadata.name!=c"}, nil, nil)
	e.want(a, http.StatusOK)
	e.wantNames(e.list(e.get(e.configMaps(), nil)), "b", "c")
	bad := e.do(e.admin, http.MethodDelete, e.configMaps(), params{"labelSelector": "=x"}, nil, nil)
	e.wantFailure(bad, http.StatusBadRequest, metav1.StatusReasonBadRequest)
	e.wantNames(e.list(e.get(e.configMaps(), nil)), "b", "c")
}

func deleteEmptyCollection(e *env) {
	e.wantNames(e.list(e.delete(e.configMaps(), "")))
}
