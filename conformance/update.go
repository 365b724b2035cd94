package conformance

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var updateCases = []Case{
	{Name: "update/replaces the object", run: updateReplaces},
	{Name: "update/from an old version is a conflict and changes nothing", run: updateConflict},
	{Name: "update/without a version wins", run: updateWithoutVersion},
	{Name: "update/many writers that retry on conflict lose nothing", run: updateRace},
	{Name: "update/of another uid is a conflict", run: updateOtherUID},
	{Name: "update/of what does not exist is not found", run: updateMissing},
	{Name: "update/of another name than the address is a bad request", run: updateOtherName},
	{Name: "update/of another namespace than the address is a bad request", run: updateOtherNamespace},
	{Name: "update/a version that is no number is refused", run: updateBadVersion},
	{Name: "update/what must not change is invalid", run: updateImmutable},
	{Name: "update/a dry run changes nothing", run: updateDryRun},
}

func updateReplaces(e *env) {
	created := e.create("a", labels{"x": "y"})
	body := fmt.Sprintf(`{"metadata":{"name":"a","resourceVersion":%q},"data":{"k":"1"}}`, created.ResourceVersion)
	updated := e.object(e.want(e.put(e.configMap("a"), body), http.StatusOK))
	if updated.GetLabels() != nil || updated.GetUID() != created.UID {
		e.Errorf("updated to %v, want labels gone and the uid kept", updated.Object)
	}
	e.wantGrowing(created, updated)
	e.wantSame(e.object(e.get(e.configMap("a"), nil)).Object, updated.Object)
}

func updateConflict(e *env) {
	old := e.create("a", nil)
	last := e.set("a", "k", "1")
	body := fmt.Sprintf(`{"metadata":{"name":"a","resourceVersion":%q},"data":{"k":"2"}}`, old.ResourceVersion)
	status := e.wantFailure(e.put(e.configMap("a"), body), http.StatusConflict, metav1.StatusReasonConflict)
	if status.Details == nil || status.Details.Name != "a" || status.Details.Kind != "configmaps" {
		e.Errorf("details %+v, want the name and the resource", status.Details)
	}
	e.wantSame(e.object(e.get(e.configMap("a"), nil)).Object, last.Object)
}

func updateWithoutVersion(e *env) {
	e.create("a", nil)
	last := e.set("a", "k", "1")
	updated := e.object(e.put(e.configMap("a"), `{"metadata":{"name":"a"},"data":{"k":"2"}}`))
	e.wantGrowing(last, updated)
	e.wantSame(updated.Object["data"], map[string]string{"k": "2"})
}

// updateRace lets many read, add one, and write. A refused writer reads again.
func updateRace(e *env) {
	const writers, each = 4, 5
	e.create("a", nil)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				for !e.increment("a") {
				}
			}
		})
	}
	all.Wait()
	data := e.object(e.get(e.configMap("a"), nil)).Object["data"]
	e.wantSame(data, map[string]string{"n": strconv.Itoa(writers * each)})
}

// increment adds one to a ConfigMap's entry and reports whether nobody interfered.
func (e *env) increment(name string) bool {
	cm := &corev1.ConfigMap{}
	if err := fromUnstructured(e.object(e.get(e.configMap(name), nil)), cm); err != nil {
		e.Errorf("reading %s: %v", name, err)
		return true
	}
	n, _ := strconv.Atoi(cm.Data["n"]) // absent at first
	cm.Data = map[string]string{"n": strconv.Itoa(n + 1)}
	a := e.put(e.configMap(name), e.text(cm))
	if a.code != http.StatusOK && a.code != http.StatusConflict {
		e.Errorf("%s, want 200 or 409", a)
	}
	return a.code != http.StatusConflict
}

func updateOtherUID(e *env) {
	e.create("a", nil)
	a := e.put(e.configMap("a"), `{"metadata":{"name":"a","uid":"another"},"data":{"k":"1"}}`)
	e.wantFailure(a, http.StatusConflict, metav1.StatusReasonConflict)
}

func updateMissing(e *env) {
	status := e.wantFailure(e.put(e.configMap("a"), `{"metadata":{"name":"a"}}`), http.StatusNotFound, metav1.StatusReasonNotFound)
	if status.Details == nil || status.Details.Name != "a" || status.Details.Kind != "configmaps" {
		e.Errorf("details %+v, want the name and the resource", status.Details)
	}
}

func updateOtherName(e *env) {
	e.create("a", nil)
	for _, body := range []string{`{"metadata":{"name":"b"}}`, `{"metadata":{}}`} {
		e.wantFailure(e.put(e.configMap("a"), body), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	}
}

func updateOtherNamespace(e *env) {
	e.create("a", nil)
	a := e.put(e.configMap("a"), `{"metadata":{"name":"a","namespace":"other"}}`)
	e.wantFailure(a, http.StatusBadRequest, metav1.StatusReasonBadRequest)
}

func updateBadVersion(e *env) {
	e.create("a", nil)
	a := e.put(e.configMap("a"), `{"metadata":{"name":"a","resourceVersion":"latest"}}`)
	e.wantFailure(a, http.StatusInternalServerError, "")
}

func updateImmutable(e *env) {
	e.create("a", nil)
	e.object(e.patch(e.configMap("a"), mergePatch, `{"immutable":true,"data":{"k":"1"}}`))
	a := e.patch(e.configMap("a"), mergePatch, `{"data":{"k":"2"}}`)
	e.wantFailure(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
}

func updateDryRun(e *env) {
	created := e.create("a", nil)
	a := e.do(e.admin, http.MethodPut, e.configMap("a"), params{"dryRun": "All"}, headers{"Content-Type": asJSON}, []byte(`{"metadata":{"name":"a"},"data":{"k":"1"}}`))
	e.wantSame(e.object(a).Object["data"], map[string]string{"k": "1"})
	if read := e.object(e.get(e.configMap("a"), nil)); read.GetResourceVersion() != created.ResourceVersion || read.Object["data"] != nil {
		e.Errorf("a dry run changed the object to %v", read.Object)
	}
}
