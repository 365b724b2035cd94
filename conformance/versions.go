package conformance

import (
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var versionCases = []Case{
	{Name: "versions/one version grows over all resources and namespaces", run: versionGrowsOverResources},
	{Name: "versions/each write to an object gives it a greater version", run: versionGrowsOverWrites},
	{Name: "versions/a get shows the version that the write returned", run: getShowsWrittenVersion},
	{Name: "versions/a list is not older than the last write", run: listNotOlderThanWrite},
	{Name: "versions/a list is not older than a write to another resource", run: listNotOlderThanOtherResource},
	{Name: "versions/an update that changes nothing keeps the version", run: sameUpdateKeepsVersion},
	{Name: "versions/a patch that changes nothing keeps the version", run: samePatchKeepsVersion},
	{Name: "versions/a write that changes nothing is no event", run: sameUpdateIsNoEvent},
	{Name: "versions/a created object may not bring a version", run: createWithVersion},
	{Name: "versions/the uid stays through updates and is new after a re-creation", run: uidIsAnIdentity},
	{Name: "versions/the generation follows the spec and nothing else", run: generationFollowsSpec},
	{Name: "versions/metadata that is the server's own cannot be written", run: serverOwnedMetadata},
}

func versionGrowsOverResources(e *env) {
	other := e.newNamespace()
	first := e.create("a", nil)
	second, err := e.kube.CoreV1().Secrets(other).Create(e.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
	must(e, err, "creating a secret")
	third := e.newClusterRole(nil)
	fourth := e.create("b", nil)
	e.wantGrowing(first, second, third, fourth)
}

// newClusterRole creates an object that is in no namespace.
func (e *env) newClusterRole(ls labels) *rbacv1.ClusterRole {
	e.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: e.ns + "-", Labels: ls}}
	created, err := e.kube.RbacV1().ClusterRoles().Create(e.ctx, role, metav1.CreateOptions{})
	must(e, err, "creating a cluster role")
	e.Cleanup(func() { e.removeLater(rbac + "/clusterroles/" + created.Name) })
	return created
}

func versionGrowsOverWrites(e *env) {
	created := e.create("a", nil)
	patched := e.set("a", "k", "1")
	updated := created.DeepCopy()
	updated.ResourceVersion = ""
	updated.Data = map[string]string{"k": "2"}
	updated, err := e.kube.CoreV1().ConfigMaps(e.ns).Update(e.ctx, updated, metav1.UpdateOptions{})
	must(e, err, "updating")
	e.wantGrowing(created, patched, updated)
}

func getShowsWrittenVersion(e *env) {
	e.create("a", nil)
	written := e.set("a", "k", "1")
	read := e.object(e.get(e.configMap("a"), nil))
	if read.GetResourceVersion() != written.GetResourceVersion() {
		e.Errorf("get shows version %s, the write said %s", read.GetResourceVersion(), written.GetResourceVersion())
	}
}

func listNotOlderThanWrite(e *env) {
	for i := range 20 {
		name := fmt.Sprintf("c%02d", i)
		written := e.create(name, nil)
		list := e.list(e.get(e.configMaps(), nil))
		if e.version(list) < e.version(written) {
			e.Fatalf("a list is of version %s after a write of version %s", list.GetResourceVersion(), written.ResourceVersion)
		}
		if len(list.Items) != i+1 {
			e.Fatalf("a list holds %v after %s was written", namesOf(list), name)
		}
	}
}

func listNotOlderThanOtherResource(e *env) {
	written := e.create("a", nil)
	list := e.list(e.get(e.path(core, "secrets"), nil))
	if e.version(list) < e.version(written) {
		e.Errorf("a list of secrets is of version %s after a write to configmaps of version %s", list.GetResourceVersion(), written.ResourceVersion)
	}
}

func sameUpdateKeepsVersion(e *env) {
	created := e.create("a", labels{"x": "y"})
	again, err := e.kube.CoreV1().ConfigMaps(e.ns).Update(e.ctx, created, metav1.UpdateOptions{})
	must(e, err, "updating")
	if again.ResourceVersion != created.ResourceVersion {
		e.Errorf("an update without a change moved the version from %s to %s", created.ResourceVersion, again.ResourceVersion)
	}
}

func samePatchKeepsVersion(e *env) {
	e.create("a", nil)
	first, second := e.set("a", "k", "1"), e.set("a", "k", "1")
	if first.GetResourceVersion() != second.GetResourceVersion() {
		e.Errorf("a patch without a change moved the version from %s to %s", first.GetResourceVersion(), second.GetResourceVersion())
	}
}

func sameUpdateIsNoEvent(e *env) {
	e.create("a", nil)
	set := e.set("a", "k", "1")
	w := e.watch(e.configMaps(), params{"resourceVersion": set.GetResourceVersion()})
	e.set("a", "k", "1")
	e.set("a", "k", "2")
	ev := w.want(watch.Modified, "a")
	if got := ev.object.Object["data"].(map[string]any)["k"]; got != "2" {
		e.Errorf("the first event shows k=%v, want the first change, 2", got)
	}
}

func createWithVersion(e *env) {
	a := e.post(e.configMaps(), `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}}`)
	e.wantFailure(a, http.StatusInternalServerError, "")
	e.wantFailure(e.get(e.configMap("a"), nil), http.StatusNotFound, metav1.StatusReasonNotFound)
}

func uidIsAnIdentity(e *env) {
	created := e.create("a", nil)
	updated := e.set("a", "k", "1")
	if created.UID == "" || created.UID != updated.GetUID() {
		e.Errorf("uid %q became %q by an update", created.UID, updated.GetUID())
	}
	e.remove("a")
	if again := e.create("a", nil); again.UID == created.UID {
		e.Errorf("a new object of an old name has the old uid %s", again.UID)
	}
}

func generationFollowsSpec(e *env) {
	created := e.newDeployment("a")
	if created.Generation != 1 {
		e.Errorf("a new deployment has generation %d, want 1", created.Generation)
	}
	address := e.path(apps, "deployments", "a")
	wantGeneration := func(a *answer, want int64) {
		e.Helper()
		if got := e.object(a).GetGeneration(); got != want {
			e.Errorf("%s: generation %d, want %d", a.request, got, want)
		}
	}
	wantGeneration(e.patch(address, mergePatch, `{"metadata":{"labels":{"x":"y"}}}`), 1)
	wantGeneration(e.patch(address, mergePatch, `{"spec":{"paused":true}}`), 2)
	wantGeneration(e.patch(address+"/status", mergePatch, `{"status":{"replicas":1}}`), 2)
	wantGeneration(e.patch(address, mergePatch, `{"spec":{"paused":true}}`), 2)
}

// newDeployment creates a deployment of one replica.
func (e *env) newDeployment(name string) *appsv1.Deployment {
	e.Helper()
	ls := labels{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: ls},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: ls},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: ls},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}}},
			},
		},
	}
	created, err := e.kube.AppsV1().Deployments(e.ns).Create(e.ctx, deployment, metav1.CreateOptions{})
	must(e, err, "creating deployment "+name)
	return created
}

func serverOwnedMetadata(e *env) {
	a := e.post(e.configMaps(), `{"metadata":{"name":"a","uid":"mine","creationTimestamp":"2001-02-03T04:05:06Z","selfLink":"/x","generation":7}}`)
	created := e.object(a)
	if created.GetUID() == "mine" || created.GetCreationTimestamp().Year() == 2001 || created.GetSelfLink() != "" {
		e.Errorf("the server took metadata that is its own from the client: %v", created.Object["metadata"])
	}
	set := e.object(e.patch(e.configMap("a"), mergePatch, `{"metadata":{"creationTimestamp":"2001-02-03T04:05:06Z"},"data":{"k":"1"}}`))
	if set.GetCreationTimestamp() != created.GetCreationTimestamp() {
		e.Errorf("a patch moved the creation time to %v", set.GetCreationTimestamp())
	}
}
