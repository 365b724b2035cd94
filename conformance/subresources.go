package conformance

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

var subresourceCases = []Case{
	{Name: "subresources/a write to the status changes nothing else", run: statusOnly},
	{Name: "subresources/a write to the object leaves the status", run: statusKept},
	{Name: "subresources/a status is not taken at creation", run: statusNotCreated},
	{Name: "subresources/a status can be read and replaced", run: statusReplaced},
	{Name: "subresources/a write to the status is an event with the whole object", run: statusEvent},
	{Name: "subresources/a status from an old version is a conflict", run: statusConflict},
	{Name: "subresources/a scale is read, patched and replaced", run: scaleWritten},
	{Name: "subresources/a write to the scale is an event of the object", run: scaleEvent},
	{Name: "subresources/a scale from an old version is a conflict", run: scaleConflict},
	{Name: "subresources/a scale below zero is invalid", run: scaleInvalid},
	{Name: "subresources/a binding puts a pod on a node", run: bindingEvent},
	{Name: "subresources/one that does not exist is not found", run: unknownSubresource},
	{Name: "subresources/one that cannot be created is not allowed", run: subresourceNotAllowed},
}

// deployment is the address of a deployment or of a part of it.
func (e *env) deployment(parts ...string) string {
	return e.path(apps, append([]string{"deployments"}, parts...)...)
}

// field reads a nested value of an object; nil if it is not there.
func field(o *unstructured.Unstructured, names ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, names...)
	return value
}

// wantField checks a nested value of an object.
func (e *env) wantField(o *unstructured.Unstructured, want any, names ...string) {
	e.Helper()
	if got := field(o, names...); fmt.Sprint(got) != fmt.Sprint(want) {
		e.Errorf("%v is %v, want %v", names, got, want)
	}
}

func statusOnly(e *env) {
	created := e.newDeployment("a")
	patched := e.object(e.patch(e.deployment("a", "status"), mergePatch, `{"spec":{"replicas":9},"status":{"replicas":3,"observedGeneration":1}}`))
	e.wantField(patched, 3, "status", "replicas")
	e.wantField(patched, 1, "spec", "replicas")
	e.wantGrowing(created, patched)
	e.wantSame(e.object(e.get(e.deployment("a"), nil)).Object, patched.Object)
}

func statusKept(e *env) {
	e.newDeployment("a")
	e.want(e.patch(e.deployment("a", "status"), mergePatch, `{"status":{"replicas":3}}`), http.StatusOK)
	patched := e.object(e.patch(e.deployment("a"), mergePatch, `{"spec":{"replicas":2},"status":{"replicas":7}}`))
	e.wantField(patched, 3, "status", "replicas")
	e.wantField(patched, 2, "spec", "replicas")
	body := e.text(patched.Object)
	patched.Object["status"] = map[string]any{}
	replaced := e.object(e.put(e.deployment("a"), e.text(patched.Object)))
	e.wantField(replaced, 3, "status", "replicas")
	e.wantSame(replaced.Object, e.decode([]byte(body)).Object)
}

func statusNotCreated(e *env) {
	created := e.newPod("a", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning; p.Status.Message = "mine" })
	if created.Status.Phase != corev1.PodPending || created.Status.Message != "" {
		e.Errorf("a new pod has status %+v, want it pending", created.Status)
	}
}

func statusReplaced(e *env) {
	e.newDeployment("a")
	read := e.object(e.get(e.deployment("a", "status"), nil))
	if read.GetKind() != "Deployment" {
		e.Fatalf("the status is read as a %s, want the deployment", read.GetKind())
	}
	read.Object["status"] = map[string]any{"replicas": 2}
	replaced := e.object(e.put(e.deployment("a", "status"), e.text(read.Object)))
	e.wantField(replaced, 2, "status", "replicas")
}

func statusEvent(e *env) {
	created := e.newDeployment("a")
	w := e.watch(e.deployment(), params{"resourceVersion": created.ResourceVersion})
	patched := e.object(e.patch(e.deployment("a", "status"), mergePatch, `{"status":{"replicas":3}}`))
	e.wantSame(w.want(watch.Modified, "a").object.Object, patched.Object)
}

func statusConflict(e *env) {
	old := e.newDeployment("a")
	e.want(e.patch(e.deployment("a"), mergePatch, `{"spec":{"replicas":2}}`), http.StatusOK)
	a := e.put(e.deployment("a", "status"), e.text(old))
	e.wantFailure(a, http.StatusConflict, metav1.StatusReasonConflict)
}

func scaleWritten(e *env) {
	created := e.newDeployment("a")
	read := e.object(e.get(e.deployment("a", "scale"), nil))
	if read.GetKind() != "Scale" || read.GetAPIVersion() != "autoscaling/v1" || read.GetUID() != created.UID || read.GetResourceVersion() != created.ResourceVersion {
		e.Errorf("the scale is %v, want one of autoscaling/v1 with the deployment's metadata", read.Object)
	}
	e.wantField(read, 1, "spec", "replicas")
	e.wantField(read, "app=a", "status", "selector")
	patched := e.object(e.patch(e.deployment("a", "scale"), mergePatch, `{"spec":{"replicas":3}}`))
	e.wantField(patched, 3, "spec", "replicas")
	replaced := e.object(e.put(e.deployment("a", "scale"), fmt.Sprintf(`{"metadata":{"name":"a","namespace":%q},"spec":{"replicas":4}}`, e.ns)))
	e.wantField(replaced, 4, "spec", "replicas")
	e.wantGrowing(created, patched, replaced)
	whole := e.object(e.get(e.deployment("a"), nil))
	e.wantField(whole, 4, "spec", "replicas")
	if whole.GetGeneration() != 3 || whole.GetResourceVersion() != replaced.GetResourceVersion() {
		e.Errorf("generation %d, version %s, want 3, %s", whole.GetGeneration(), whole.GetResourceVersion(), replaced.GetResourceVersion())
	}
}

func scaleEvent(e *env) {
	created := e.newDeployment("a")
	w := e.watch(e.deployment(), params{"resourceVersion": created.ResourceVersion})
	e.want(e.patch(e.deployment("a", "scale"), mergePatch, `{"spec":{"replicas":3}}`), http.StatusOK)
	ev := w.want(watch.Modified, "a")
	if ev.object.GetKind() != "Deployment" {
		e.Errorf("the event is of a %s", ev.object.GetKind())
	}
	e.wantField(ev.object, 3, "spec", "replicas")
}

func scaleConflict(e *env) {
	old := e.newDeployment("a")
	e.want(e.patch(e.deployment("a"), mergePatch, `{"spec":{"replicas":2}}`), http.StatusOK)
	body := fmt.Sprintf(`{"metadata":{"name":"a","namespace":%q,"resourceVersion":%q},"spec":{"replicas":5}}`, e.ns, old.ResourceVersion)
	e.wantFailure(e.put(e.deployment("a", "scale"), body), http.StatusConflict, metav1.StatusReasonConflict)
}

func scaleInvalid(e *env) {
	e.newDeployment("a")
	a := e.patch(e.deployment("a", "scale"), mergePatch, `{"spec":{"replicas":-1}}`)
	e.wantFailure(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
}

func bindingEvent(e *env) {
	pod := e.newPod("a", nil)
	w := e.watch(e.path(core, "pods"), params{"resourceVersion": pod.ResourceVersion, "fieldSelector": "spec.nodeName=n"})
	a := e.post(e.path(core, "pods", "a", "binding"), `{"kind":"Binding","apiVersion":"v1","metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}}`)
	e.want(a, http.StatusCreated)
	e.wantField(w.want(watch.Added, "a").object, "n", "spec", "nodeName")
}

func unknownSubresource(e *env) {
	e.create("a", nil)
	e.newDeployment("a")
	for _, address := range []string{e.configMap("a") + "/status", e.configMap("a") + "/scale", e.deployment("a", "nothing")} {
		e.wantFailure(e.get(address, nil), http.StatusNotFound, metav1.StatusReasonNotFound)
	}
	e.wantFailure(e.get(e.deployment("missing", "status"), nil), http.StatusNotFound, metav1.StatusReasonNotFound)
	e.wantFailure(e.get(e.deployment("missing", "scale"), nil), http.StatusNotFound, metav1.StatusReasonNotFound)
}

func subresourceNotAllowed(e *env) {
	e.newDeployment("a")
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		a := e.send(method, e.deployment("a", "status"), asJSON, `{}`)
		e.wantFailure(a, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)
	}
}
