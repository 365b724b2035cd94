package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var createCases = []Case{
	{Name: "create/answers with the object and what the server added", run: createAnswers},
	{Name: "create/a body need not name its kind or namespace", run: createBare},
	{Name: "create/a generated name begins as asked", run: createGenerated},
	{Name: "create/of a name that exists is a conflict", run: createExisting},
	{Name: "create/of one name by many has one winner", run: createRace},
	{Name: "create/in a namespace that does not exist is not found", run: createWithoutNamespace},
	{Name: "create/into another namespace than the address is a bad request", run: createInWrongNamespace},
	{Name: "create/a name that is not valid is invalid", run: createInvalidName},
	{Name: "create/labels that are not valid are invalid", run: createInvalidLabels},
	{Name: "create/defaults are filled in", run: createDefaults},
	{Name: "create/an unknown field is dropped with a warning", run: createUnknownField},
	{Name: "create/an unknown field is a bad request where that is asked for", run: createUnknownFieldStrict},
	{Name: "create/a dry run changes nothing", run: createDryRun},
	{Name: "create/outside of namespaces", run: createClusterScoped},
}

func createAnswers(e *env) {
	before := time.Now().Add(-2 * time.Second)
	created := e.object(e.want(e.post(e.configMaps(), `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"x":"y"}},"data":{"k":"1"}}`), http.StatusCreated))
	e.version(created)
	if created.GetUID() == "" || created.GetNamespace() != e.ns || created.GetCreationTimestamp().Time.Before(before) {
		e.Errorf("metadata %v lacks what the server adds", created.Object["metadata"])
	}
	if created.GetKind() != "ConfigMap" || created.GetAPIVersion() != "v1" || created.GetLabels()["x"] != "y" {
		e.Errorf("created %v", created.Object)
	}
	e.wantSame(created.Object["data"], map[string]string{"k": "1"})
	e.wantSame(e.object(e.get(e.configMap("a"), nil)).Object, created.Object)
}

func createBare(e *env) {
	created := e.object(e.post(e.configMaps(), `{"metadata":{"name":"a"}}`))
	if created.GetKind() != "ConfigMap" || created.GetNamespace() != e.ns {
		e.Errorf("created %v", created.Object)
	}
}

func createGenerated(e *env) {
	names := map[string]bool{}
	for range 5 {
		created := e.object(e.post(e.configMaps(), `{"metadata":{"generateName":"some-"}}`))
		if name := created.GetName(); !strings.HasPrefix(name, "some-") || len(name) != len("some-")+5 || names[name] {
			e.Errorf("generated name %q after %v", name, names)
		}
		names[created.GetName()] = true
		if created.GetGenerateName() != "some-" {
			e.Errorf("generateName is %q, want it kept", created.GetGenerateName())
		}
	}
}

func createExisting(e *env) {
	e.create("a", nil)
	status := e.wantFailure(e.post(e.configMaps(), `{"metadata":{"name":"a"},"data":{"k":"2"}}`), http.StatusConflict, metav1.StatusReasonAlreadyExists)
	if status.Details == nil || status.Details.Name != "a" || status.Details.Kind != "configmaps" {
		e.Errorf("details %+v, want the name and the resource", status.Details)
	}
	if e.object(e.get(e.configMap("a"), nil)).Object["data"] != nil {
		e.Error("a refused creation changed the object")
	}
}

func createRace(e *env) {
	var winners, losers atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch a := e.post(e.configMaps(), `{"metadata":{"name":"a"}}`); a.code {
			case http.StatusCreated:
				winners.Add(1)
			case http.StatusConflict:
				losers.Add(1)
			}
		})
	}
	all.Wait()
	if winners.Load() != 1 || losers.Load() != 7 {
		e.Errorf("%d created, %d got the answer that it exists, want 1 and 7", winners.Load(), losers.Load())
	}
}

func createWithoutNamespace(e *env) {
	a := e.post(core+"/namespaces/"+e.ns+"-missing/configmaps", `{"metadata":{"name":"a"}}`)
	status := e.wantFailure(a, http.StatusNotFound, metav1.StatusReasonNotFound)
	if status.Details == nil || status.Details.Kind != "namespaces" || status.Details.Name != e.ns+"-missing" {
		e.Errorf("details %+v, want the namespace that is missing", status.Details)
	}
}

func createInWrongNamespace(e *env) {
	a := e.post(e.configMaps(), `{"metadata":{"name":"a","namespace":"other"}}`)
	e.wantFailure(a, http.StatusBadRequest, metav1.StatusReasonBadRequest)
}

func createInvalidName(e *env) {
	for _, name := range []string{"", "A", "a_b", "-a", "a/b", "a b", ".", "..", strings.Repeat("a", 254)} {
		body := e.text(map[string]any{"metadata": map[string]any{"name": name}})
		status := e.wantFailure(e.post(e.configMaps(), body), http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		if status.Details == nil || len(status.Details.Causes) == 0 || status.Details.Causes[0].Field != "metadata.name" {
			e.Errorf("name %q: details %+v, want the field metadata.name", name, status.Details)
		}
	}
}

func createInvalidLabels(e *env) {
	for _, label := range []string{`"-":"y"`, `"x":"y z"`, `"x":"` + strings.Repeat("y", 64) + `"`} {
		a := e.post(e.configMaps(), fmt.Sprintf(`{"metadata":{"name":"a","labels":{%s}}}`, label))
		e.wantFailure(a, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	}
}

func createDefaults(e *env) {
	deployment := e.newDeployment("a")
	if deployment.Spec.Replicas == nil || *deployment.Spec.Replicas != 1 || deployment.Spec.Strategy.Type != "RollingUpdate" {
		e.Errorf("spec %+v lacks its defaults", deployment.Spec)
	}
	if pod := deployment.Spec.Template.Spec; pod.RestartPolicy != "Always" || pod.Containers[0].ImagePullPolicy != "IfNotPresent" {
		e.Errorf("template %+v lacks its defaults", pod)
	}
}

func createUnknownField(e *env) {
	a := e.want(e.post(e.configMaps(), `{"metadata":{"name":"a"},"extra":1}`), http.StatusCreated)
	if warning := a.header.Get("Warning"); !strings.Contains(warning, `unknown field \"extra\"`) {
		e.Errorf("warning %q, want the unknown field", warning)
	}
	if e.object(a).Object["extra"] != nil {
		e.Error("an unknown field was kept")
	}
}

func createUnknownFieldStrict(e *env) {
	a := e.do(e.admin, http.MethodPost, e.configMaps(), params{"fieldValidation": "Strict"}, headers{"Content-Type": asJSON}, []byte(`{"metadata":{"name":"a"},"extra":1}`))
	e.wantFailure(a, http.StatusBadRequest, metav1.StatusReasonBadRequest)
}

func createDryRun(e *env) {
	version := e.list(e.get(e.configMaps(), nil)).GetResourceVersion()
	w := e.watch(e.configMaps(), params{"resourceVersion": version})
	a := e.do(e.admin, http.MethodPost, e.configMaps(), params{"dryRun": "All"}, headers{"Content-Type": asJSON}, []byte(`{"metadata":{"name":"a"}}`))
	if created := e.object(e.want(a, http.StatusCreated)); created.GetUID() == "" || created.GetResourceVersion() != "" {
		e.Errorf("a dry run answered %v, want a uid and no version", created.Object)
	}
	e.want(e.get(e.configMap("a"), nil), http.StatusNotFound)
	e.create("b", nil)
	w.want(watch.Added, "b")
}

func createClusterScoped(e *env) {
	role := e.newClusterRole(nil)
	if role.Namespace != "" || role.UID == "" {
		e.Errorf("created %+v", role.ObjectMeta)
	}
	e.Cleanup(func() { e.removeLater(rbac + "/clusterroles/" + e.ns) })
	created := e.object(e.post(rbac+"/clusterroles", fmt.Sprintf(`{"metadata":{"name":%q,"namespace":%q}}`, e.ns, e.ns)))
	if created.GetNamespace() != "" {
		e.Errorf("created in namespace %q, want the namespace dropped", created.GetNamespace())
	}
}
