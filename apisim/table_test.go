package apisim_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/objects"
)

const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// ask sends a request that wants tables and returns code and body.
func ask(t *testing.T, s *apisim.Server, accept, path string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

func table(t *testing.T, s *apisim.Server, path string) metav1.Table {
	t.Helper()
	code, body := ask(t, s, asTable, path)
	if code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, code, body)
	}
	return parseTable(t, body)
}

func parseTable(t *testing.T, body []byte) metav1.Table {
	t.Helper()
	var out metav1.Table
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if out.Kind != "Table" {
		t.Fatalf("no Table: %s", body)
	}
	return out
}

// lines writes a table as text: the columns, "+" before the wide ones, then the rows.
func lines(table metav1.Table) []string {
	var head []string
	for _, c := range table.ColumnDefinitions {
		head = append(head, strings.Repeat("+", int(c.Priority))+c.Name)
	}
	out := []string{strings.Join(head, "|")}
	for _, row := range table.Rows {
		var cells []string
		for _, cell := range row.Cells {
			cells = append(cells, fmt.Sprint(cell))
		}
		out = append(out, strings.Join(cells, "|"))
	}
	return out
}

func load(t *testing.T, s *apisim.Server, objects ...runtime.Object) {
	t.Helper()
	if err := s.Load(slices.Values(objects)); err != nil {
		t.Fatal(err)
	}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-90 * time.Minute))}
}

func TestTablesOfWorkloads(t *testing.T) {
	s := start(t, apisim.Options{})
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "i:1"}, {Name: "b", Image: "j:2"}}}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	began, ended := metav1.NewTime(time.Now().Add(-10*time.Minute)), metav1.NewTime(time.Now().Add(-5*time.Minute))
	load(t, s,
		&appsv1.Deployment{ObjectMeta: meta("d"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: selector, Template: template},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 2, UpdatedReplicas: 1, AvailableReplicas: 2}},
		&appsv1.ReplicaSet{ObjectMeta: meta("r"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Selector: selector, Template: template},
			Status: appsv1.ReplicaSetStatus{Replicas: 2, ReadyReplicas: 1}},
		&appsv1.StatefulSet{ObjectMeta: meta("s"), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), Template: template},
			Status: appsv1.StatefulSetStatus{ReadyReplicas: 2}},
		&appsv1.DaemonSet{ObjectMeta: meta("d"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template},
			Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 5, CurrentNumberScheduled: 4, NumberReady: 3, UpdatedNumberScheduled: 2, NumberAvailable: 1}},
		&batchv1.Job{ObjectMeta: meta("j"), Spec: batchv1.JobSpec{Completions: new(int32(2)), Selector: selector, Template: template},
			Status: batchv1.JobStatus{Succeeded: 2, StartTime: &began, CompletionTime: &ended, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: "True"}}}},
	)
	for path, want := range map[string][]string{
		"/apis/apps/v1/deployments":                      {"Name|Ready|Up-to-date|Available|Age|+Containers|+Images|+Selector", "d|2/3|1|2|90m|a,b|i:1,j:2|app=x"},
		"/apis/apps/v1/namespaces/default/deployments/d": {"Name|Ready|Up-to-date|Available|Age|+Containers|+Images|+Selector", "d|2/3|1|2|90m|a,b|i:1,j:2|app=x"},
		"/apis/apps/v1beta1/deployments":                 {"Name|Ready|Up-to-date|Available|Age|+Containers|+Images|+Selector", "d|2/3|1|2|90m|a,b|i:1,j:2|app=x"},
		"/apis/apps/v1/replicasets":                      {"Name|Desired|Current|Ready|Age|+Containers|+Images|+Selector", "r|3|2|1|90m|a,b|i:1,j:2|app=x"},
		"/apis/apps/v1/statefulsets":                     {"Name|Ready|Age|+Containers|+Images", "s|2/3|90m|a,b|i:1,j:2"},
		"/apis/apps/v1/daemonsets":                       {"Name|Desired|Current|Ready|Up-to-date|Available|Node Selector|Age|+Containers|+Images|+Selector", "d|5|4|3|2|1|<none>|90m|a,b|i:1,j:2|app=x"},
		"/apis/batch/v1/jobs":                            {"Name|Status|Completions|Duration|Age|+Containers|+Images|+Selector", "j|Complete|2/2|5m|90m|a,b|i:1,j:2|app=x"},
		"/apis/policy/v1/poddisruptionbudgets":           {"Name|Age"},
	} {
		if diff := cmp.Diff(want, lines(table(t, s, path))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

func TestTableOfPods(t *testing.T) {
	s := start(t, apisim.Options{})
	hour := metav1.NewTime(time.Now().Add(-time.Hour))
	one := corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "i"}}}
	status := func(state corev1.ContainerState, ready bool, restarts int32) []corev1.ContainerStatus {
		c := corev1.ContainerStatus{Name: "a", State: state, Ready: ready, RestartCount: restarts}
		if restarts > 0 {
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{FinishedAt: hour}
		}
		return []corev1.ContainerStatus{c}
	}
	load(t, s,
		&corev1.Pod{ObjectMeta: meta("crashing"), Spec: one, Status: corev1.PodStatus{Phase: corev1.PodRunning,
			ContainerStatuses: status(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, false, 7)}},
		&corev1.Pod{ObjectMeta: meta("done"), Spec: one, Status: corev1.PodStatus{Phase: corev1.PodSucceeded,
			ContainerStatuses: status(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}, false, 0)}},
		&corev1.Pod{ObjectMeta: meta("new"), Spec: one, Status: corev1.PodStatus{Phase: corev1.PodPending}},
		&corev1.Pod{ObjectMeta: meta("running"), Spec: one, Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}},
			ContainerStatuses: status(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, true, 0)}},
	)
	got := table(t, s, "/api/v1/namespaces/default/pods")
	want := []string{
		"Name|Ready|Status|Restarts|Age|+IP|+Node|+Nominated Node|+Readiness Gates",
		"crashing|0/1|CrashLoopBackOff|7 (60m ago)|90m|<none>|<none>|<none>|<none>",
		"done|0/1|Completed|0|90m|<none>|<none>|<none>|<none>",
		"new|0/1|Pending|0|90m|<none>|<none>|<none>|<none>",
		"running|1/1|Running|0|90m|10.0.0.1|<none>|<none>|<none>",
	}
	if diff := cmp.Diff(want, lines(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := got.Rows[1].Conditions; len(c) != 1 || c[0].Type != metav1.RowCompleted || len(got.Rows[0].Conditions) > 0 {
		t.Errorf("conditions of the pod that is done: %v, of one that is not: %v", c, got.Rows[0].Conditions)
	}
}

// TestEveryKindHasATable looks at varied objects of all kinds: as many cells as columns.
func TestEveryKindHasATable(t *testing.T) {
	s := start(t, apisim.Options{})
	g := objects.New(objects.Options{Seed: 1})
	paths := map[string]int{
		"/api/v1/pods": 50, "/api/v1/nodes": 5, "/api/v1/events": 20, "/apis/events.k8s.io/v1/events": 20, "/api/v1/secrets": 10,
		"/api/v1/configmaps": 10, "/apis/discovery.k8s.io/v1/endpointslices": 10, "/apis/batch/v1/jobs": 5, "/apis/apps/v1/daemonsets": 5,
	}
	load(t, s, objectsOf(g.Pods(50))...)
	load(t, s, objectsOf(g.Nodes(5))...)
	load(t, s, objectsOf(g.Events(20))...)
	load(t, s, objectsOf(g.Secrets(10))...)
	load(t, s, objectsOf(g.ConfigMaps(10))...)
	load(t, s, objectsOf(g.EndpointSlices(10))...)
	load(t, s, objectsOf(g.Jobs(5))...)
	load(t, s, objectsOf(g.DaemonSets(5))...)
	for path, n := range paths {
		got := table(t, s, path)
		if len(got.Rows) != n || got.ResourceVersion == "" {
			t.Errorf("%s: %d rows at version %q, want %d", path, len(got.Rows), got.ResourceVersion, n)
		}
		for _, row := range got.Rows {
			if len(row.Cells) != len(got.ColumnDefinitions) {
				t.Fatalf("%s: %d cells for %d columns", path, len(row.Cells), len(got.ColumnDefinitions))
			}
		}
	}
}

func objectsOf[T runtime.Object](all func(func(T) bool)) []runtime.Object {
	var out []runtime.Object
	for obj := range all {
		out = append(out, obj)
	}
	return out
}

func TestTableOptions(t *testing.T) {
	s := start(t, apisim.Options{})
	load(t, s, newPodIn("default", "a"), newPodIn("default", "b"))
	const path = "/api/v1/namespaces/default/pods"
	for query, want := range map[string]string{
		"":                        `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`,
		"?includeObject=Metadata": `"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1"`,
		"?includeObject=Object":   `"kind":"Pod","apiVersion":"v1"`,
		"?includeObject=None":     `"object":null`,
	} {
		if code, body := ask(t, s, asTable, path+query); code != http.StatusOK || strings.Count(string(body), want) != 2 {
			t.Errorf("%q: %d %s; want %s twice", query, code, body, want)
		}
	}
	if code, body := ask(t, s, asTable, path+"?includeObject=All"); code != http.StatusBadRequest || !strings.Contains(string(body), "Unable to convert to Table") {
		t.Errorf("bad option: %d %s", code, body)
	}
	first := table(t, s, path+"?limit=1")
	if len(first.Rows) != 1 || first.Continue == "" || first.RemainingItemCount == nil || *first.RemainingItemCount != 1 {
		t.Errorf("first page: %d rows, %+v", len(first.Rows), first.ListMeta)
	}
	if second := table(t, s, path+"?limit=1&continue="+first.Continue); len(second.Rows) != 1 || second.Rows[0].Cells[0] != "b" {
		t.Errorf("second page: %v", lines(second))
	}
	if _, body := ask(t, s, "application/json;as=Table;v=v1beta1;g=meta.k8s.io", path); parseTable(t, body).APIVersion != "meta.k8s.io/v1beta1" {
		t.Errorf("the old version: %s", body)
	}
	if code, body := ask(t, s, "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", path); code != http.StatusNotAcceptable {
		t.Errorf("in protobuf: %d %s", code, body)
	}
	if code, body := ask(t, s, asTable, path+"/nope"); code != http.StatusNotFound || !strings.Contains(string(body), `pods \"nope\" not found`) {
		t.Errorf("an object that is not there: %d %s", code, body)
	}
}

func newPodIn(namespace, name string) *corev1.Pod {
	pod := newPod(name)
	pod.Namespace = namespace
	return pod
}

func TestTablesInAWatch(t *testing.T) {
	s := start(t, apisim.Options{})
	load(t, s, newPodIn("default", "a"))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+"/api/v1/namespaces/default/pods?watch=1&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", asTable)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	frames := bufio.NewReader(resp.Body)
	next := func() (string, metav1.Table) {
		t.Helper()
		line, err := frames.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var event struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		return event.Type, parseTable(t, event.Object)
	}
	kind, first := next()
	if kind != "ADDED" || len(first.ColumnDefinitions) == 0 || len(first.Rows) != 1 || first.Rows[0].Cells[0] != "a" {
		t.Errorf("first event: %s %v", kind, lines(first))
	}
	if kind, mark := next(); kind != "BOOKMARK" || !strings.Contains(string(mark.Rows[0].Object.Raw), "k8s.io/initial-events-end") {
		t.Errorf("end of the initial events: %s %s", kind, mark.Rows[0].Object.Raw)
	}
	load(t, s, newPodIn("default", "b"))
	kind, second := next()
	if kind != "ADDED" || len(second.ColumnDefinitions) != 0 || second.Rows[0].Cells[0] != "b" || second.ResourceVersion == "" {
		t.Errorf("next event: %s %v at version %q", kind, lines(second), second.ResourceVersion)
	}
}

func TestTableOfCustomResources(t *testing.T) {
	s := start(t, apisim.Options{})
	crd := objects.CustomResourceDefinition()
	load(t, s, crd)
	database := func(name string, spec map[string]any) runtime.Object {
		obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		obj.SetGroupVersionKind(objects.CustomResourceKind)
		obj.SetNamespace("default")
		obj.SetName(name)
		return obj
	}
	load(t, s,
		database("a", map[string]any{"engine": map[string]any{"name": "postgres"}, "replicas": int64(3)}),
		database("b", map[string]any{"engine": map[string]any{"name": int64(7)}, "replicas": "many"}),
	)
	want := []string{"Name|Engine|Replicas|Phase|Age", "a|postgres|3|<nil>|0s", "b|7|<nil>|<nil>|0s"}
	got := lines(table(t, s, "/apis/data.example.com/v1/namespaces/default/databases"))
	for i := range got {
		if i > 0 {
			got[i] = got[i][:strings.LastIndex(got[i], "|")] + "|0s" // however slow the machine
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := lines(table(t, s, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")); len(got) != 2 || got[0] != "Name|Created At" {
		t.Errorf("definitions: %v", got)
	}
}
