package conformance

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var selectorCases = []Case{
	{Name: "selectors/labels: every form of a requirement", run: labelForms},
	{Name: "selectors/fields: name and namespace on every resource", run: fieldNameAndNamespace},
	{Name: "selectors/fields: node and phase of pods", run: fieldsOfPods},
	{Name: "selectors/fields: type of secrets", run: fieldsOfSecrets},
	{Name: "selectors/fields: what an event is about", run: fieldsOfEvents},
	{Name: "selectors/labels and fields together", run: labelsAndFields},
	{Name: "selectors/a watch sees objects enter and leave the selection", run: watchSelection},
	{Name: "selectors/a watch does not send what was never in the selection", run: watchOutside},
	{Name: "selectors/what leaves is shown as it was in the selection", run: watchLeaving},
	{Name: "selectors/a watch by field sees objects enter and leave", run: watchFieldSelection},
	{Name: "selectors/a watch that resumes learns who left meanwhile", run: watchLeftMeanwhile},
	{Name: "selectors/a label selector that cannot be read is a bad request", run: badLabelSelector},
	{Name: "selectors/a field selector that cannot be read is a bad request", run: badFieldSelector},
	{Name: "selectors/a field that cannot be selected is a bad request", run: unsupportedField},
}

func labelForms(e *env) {
	e.create("a", labels{"app": "x", "tier": "front"})
	e.create("b", labels{"app": "x"})
	e.create("c", labels{"app": "y", "tier": "back"})
	e.create("d", nil)
	for selector, names := range map[string][]string{
		"":                          {"a", "b", "c", "d"},
		"app=x":                     {"a", "b"},
		"app==x":                    {"a", "b"},
		"app!=x":                    {"c", "d"},
		"app in (x, y)":             {"a", "b", "c"},
		"app notin (x)":             {"c", "d"},
		"tier":                      {"a", "c"},
		"!tier":                     {"b", "d"},
		"app=x,tier=front":          {"a"},
		"app=x,!tier":               {"b"},
		"app=nothing":               {},
		"app in (x),tier notin (b)": {"a", "b"},
	} {
		list := e.list(e.get(e.configMaps(), params{"labelSelector": selector}))
		if fmt.Sprint(namesOf(list)) != fmt.Sprint(names) {
			e.Errorf("selector %q lists %v, want %v", selector, namesOf(list), names)
		}
	}
}

func fieldNameAndNamespace(e *env) {
	e.createAll("a", "b")
	for selector, names := range map[string][]string{
		"metadata.name=a":                            {"a"},
		"metadata.name!=a":                           {"b"},
		"metadata.name==b":                           {"b"},
		"metadata.namespace=" + e.ns:                 {"a", "b"},
		"metadata.namespace=other":                   {},
		"metadata.name=a,metadata.namespace=" + e.ns: {"a"},
		"metadata.name=a,metadata.namespace=other":   {},
		"metadata.name=missing":                      {},
	} {
		list := e.list(e.get(e.configMaps(), params{"fieldSelector": selector}))
		if fmt.Sprint(namesOf(list)) != fmt.Sprint(names) {
			e.Errorf("selector %q lists %v, want %v", selector, namesOf(list), names)
		}
	}
}

// onNode puts a pod on a node from the start.
func onNode(node string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeName = node }
}

func fieldsOfPods(e *env) {
	e.newPod("a", onNode("n1"))
	e.newPod("b", onNode("n2"))
	e.newPod("c", nil)
	e.setPhase("b", corev1.PodRunning)
	for selector, names := range map[string][]string{
		"spec.nodeName=n1":                      {"a"},
		"spec.nodeName=":                        {"c"},
		"spec.nodeName!=":                       {"a", "b"},
		"status.phase=Running":                  {"b"},
		"status.phase!=Running":                 {"a", "c"},
		"status.phase=Pending,spec.nodeName=n1": {"a"},
		"spec.restartPolicy=Always":             {"a", "b", "c"},
		"spec.schedulerName=default-scheduler":  {"a", "b", "c"},
	} {
		list := e.list(e.get(e.path(core, "pods"), params{"fieldSelector": selector}))
		if fmt.Sprint(namesOf(list)) != fmt.Sprint(names) {
			e.Errorf("selector %q lists %v, want %v", selector, namesOf(list), names)
		}
	}
}

// setPhase writes a pod's status, as a node does.
func (e *env) setPhase(pod string, phase corev1.PodPhase) {
	e.Helper()
	e.object(e.patch(e.path(core, "pods", pod, "status"), mergePatch, fmt.Sprintf(`{"status":{"phase":%q}}`, phase)))
}

func fieldsOfSecrets(e *env) {
	for name, kind := range map[string]corev1.SecretType{"a": "", "b": "example.com/other"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind}
		_, err := e.kube.CoreV1().Secrets(e.ns).Create(e.ctx, secret, metav1.CreateOptions{})
		must(e, err, "creating a secret")
	}
	e.wantNames(e.list(e.get(e.path(core, "secrets"), params{"fieldSelector": "type=Opaque"})), "a")
	e.wantNames(e.list(e.get(e.path(core, "secrets"), params{"fieldSelector": "type=example.com/other"})), "b")
}

func fieldsOfEvents(e *env) {
	for _, about := range []string{"a", "b"} {
		_, err := e.kube.CoreV1().Events(e.ns).Create(e.ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: "of-" + about},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: e.ns, Name: about},
			Reason:         "Because",
			Type:           corev1.EventTypeNormal,
		}, metav1.CreateOptions{})
		must(e, err, "creating an event")
	}
	e.wantNames(e.list(e.get(e.path(core, "events"), params{"fieldSelector": "involvedObject.name=a,involvedObject.kind=Pod"})), "of-a")
	e.wantNames(e.list(e.get(e.path(core, "events"), params{"fieldSelector": "reason=Because,type=Normal"})), "of-a", "of-b")
}

func labelsAndFields(e *env) {
	e.create("a", labels{"x": "y"})
	e.create("b", labels{"x": "y"})
	e.create("c", nil)
	query := params{"labelSelector": "x=y", "fieldSelector": "metadata.name!=b"}
	e.wantNames(e.list(e.get(e.configMaps(), query)), "a")
}

func watchSelection(e *env) {
	first := e.create("a", nil)
	w := e.watch(e.configMaps(), params{"resourceVersion": first.ResourceVersion, "labelSelector": "x=y"})
	e.label("a", "x", "y")
	w.want(watch.Added, "a")
	e.set("a", "k", "1")
	w.want(watch.Modified, "a")
	left := e.label("a", "x", "z")
	if ev := w.want(watch.Deleted, "a"); ev.object.GetResourceVersion() != left.GetResourceVersion() {
		e.Errorf("leaving has version %s, want that of the write, %s", ev.object.GetResourceVersion(), left.GetResourceVersion())
	}
	e.label("a", "x", "y")
	w.want(watch.Added, "a")
	e.remove("a")
	w.want(watch.Deleted, "a")
}

func watchOutside(e *env) {
	first := e.create("a", nil)
	w := e.watch(e.configMaps(), params{"resourceVersion": first.ResourceVersion, "labelSelector": "x=y"})
	e.set("a", "k", "1")
	e.remove("a")
	e.create("b", labels{"x": "y"})
	w.want(watch.Added, "b")
}

func watchLeaving(e *env) {
	e.create("a", labels{"x": "y"})
	last := e.set("a", "k", "inside")
	w := e.watch(e.configMaps(), params{"resourceVersion": last.GetResourceVersion(), "labelSelector": "x=y"})
	left := e.object(e.patch(e.configMap("a"), mergePatch, `{"metadata":{"labels":{"x":"z"}},"data":{"k":"outside"}}`))
	last.SetResourceVersion(left.GetResourceVersion())
	e.wantSame(w.want(watch.Deleted, "a").object.Object, last.Object)
}

func watchFieldSelection(e *env) {
	pod := e.newPod("a", onNode("n1"))
	w := e.watch(e.path(core, "pods"), params{"resourceVersion": pod.ResourceVersion, "fieldSelector": "spec.nodeName=n1,status.phase=Running"})
	e.setPhase("a", corev1.PodRunning)
	w.want(watch.Added, "a")
	e.setPhase("a", corev1.PodSucceeded)
	w.want(watch.Deleted, "a")
}

func watchLeftMeanwhile(e *env) {
	inside := e.create("a", labels{"x": "y"})
	e.label("a", "x", "z")
	e.set("a", "k", "1")
	w := e.watch(e.configMaps(), params{"resourceVersion": inside.ResourceVersion, "labelSelector": "x=y"})
	w.want(watch.Deleted, "a")
	e.create("b", labels{"x": "y"})
	w.want(watch.Added, "b")
}

// wantBadOnBoth checks that a query is refused in list and in watch.
func (e *env) wantBadOnBoth(query params) {
	e.Helper()
	e.wantFailure(e.get(e.configMaps(), query), http.StatusBadRequest, metav1.StatusReasonBadRequest)
	query["watch"] = "true"
	e.wantFailure(e.get(e.configMaps(), query), http.StatusBadRequest, metav1.StatusReasonBadRequest)
}

func badLabelSelector(e *env) {
	for _, selector := range []string{"a in b", "=x", "a=(b", "a in (b", "a b", "-a-=b", "a=b=c", "a=b c"} {
		e.wantBadOnBoth(params{"labelSelector": selector})
	}
}

func badFieldSelector(e *env) {
	for _, selector := range []string{"metadata.name", "metadata.name in (a)", "metadata.name=a\\x"} {
		e.wantBadOnBoth(params{"fieldSelector": selector})
	}
}

func unsupportedField(e *env) {
	for _, selector := range []string{"metadata.uid=x", "data.k=1", "spec.nodeName=n", "name=a"} {
		e.wantBadOnBoth(params{"fieldSelector": selector})
	}
}
