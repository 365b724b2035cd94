package conformance

import (
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Addresses of API groups.
const (
	core = "/api/v1"
	apps = "/apis/apps/v1"
	rbac = "/apis/rbac.authorization.k8s.io/v1"
)

// configMaps is the address of the ConfigMaps of the case's namespace, the
// resource that most cases work with: it has no behaviour of its own.
func (e *env) configMaps() string { return e.path(core, "configmaps") }

// configMap is the address of one of them.
func (e *env) configMap(name string) string { return e.path(core, "configmaps", name) }

// versioned is anything that carries a resource version.
type versioned interface{ GetResourceVersion() string }

// version reads an object's or a list's version as the number it must be.
func (e *env) version(o versioned) uint64 {
	e.Helper()
	v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil || v == 0 {
		e.Fatalf("resource version %q, want a positive decimal number", o.GetResourceVersion())
	}
	return v
}

// wantGrowing checks that each version is greater than the one before it.
func (e *env) wantGrowing(objects ...versioned) {
	e.Helper()
	for i := 1; i < len(objects); i++ {
		if before, after := e.version(objects[i-1]), e.version(objects[i]); after <= before {
			e.Errorf("version %d comes after %d, want versions that grow", after, before)
		}
	}
}

// wantNames checks the names of a list's items, in order.
func (e *env) wantNames(list *unstructured.UnstructuredList, names ...string) {
	e.Helper()
	if got := namesOf(list); fmt.Sprint(got) != fmt.Sprint(names) {
		e.Fatalf("the list holds %v, want %v", got, names)
	}
}

func namesOf(list *unstructured.UnstructuredList) []string {
	names := []string{}
	for _, item := range list.Items {
		names = append(names, item.GetName())
	}
	return names
}

// labels are an object's labels; "a=b" would be shorter, but not as plain.
type labels = map[string]string

// create creates a ConfigMap.
func (e *env) create(name string, ls labels) *corev1.ConfigMap {
	e.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: ls}}
	created, err := e.kube.CoreV1().ConfigMaps(e.ns).Create(e.ctx, cm, metav1.CreateOptions{})
	must(e, err, "creating ConfigMap "+name)
	return created
}

// createAll creates ConfigMaps and returns the last.
func (e *env) createAll(names ...string) *corev1.ConfigMap {
	e.Helper()
	var last *corev1.ConfigMap
	for _, name := range names {
		last = e.create(name, nil)
	}
	return last
}

// set updates one entry of a ConfigMap, whatever its version is.
func (e *env) set(name, key, value string) *unstructured.Unstructured {
	e.Helper()
	return e.object(e.patch(e.configMap(name), mergePatch, fmt.Sprintf(`{"data":{%q:%q}}`, key, value)))
}

// label updates one label of a ConfigMap.
func (e *env) label(name, key, value string) *unstructured.Unstructured {
	e.Helper()
	return e.object(e.patch(e.configMap(name), mergePatch, fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)))
}

// remove deletes a ConfigMap.
func (e *env) remove(name string) {
	e.Helper()
	e.want(e.delete(e.configMap(name), ""), 200)
}

// newPod creates a pod. No token is mounted, and the service account that a
// pod needs is made first, for servers that have no controllers.
func (e *env) newPod(name string, change func(*corev1.Pod)) *corev1.Pod {
	e.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if _, err := e.kube.CoreV1().ServiceAccounts(e.ns).Create(e.ctx, account, metav1.CreateOptions{}); err != nil {
		if _, err := e.kube.CoreV1().ServiceAccounts(e.ns).Get(e.ctx, "default", metav1.GetOptions{}); err != nil {
			e.Fatalf("making a service account for pods: %v", err)
		}
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(bool),
			Containers:                   []corev1.Container{{Name: "main", Image: "example.com/main:1"}},
		},
	}
	if change != nil {
		change(pod)
	}
	created, err := e.kube.CoreV1().Pods(e.ns).Create(e.ctx, pod, metav1.CreateOptions{})
	must(e, err, "creating pod "+name)
	return created
}

// text renders an object for a request's body.
func (e *env) text(o any) string {
	e.Helper()
	data, err := json.Marshal(o)
	must(e, err, "encoding an object")
	return string(data)
}

func fromUnstructured(u *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
}

// wantSame compares two values by their JSON and shows where they part.
func (e *env) wantSame(got, want any) {
	e.Helper()
	g, w := e.text(got), e.text(want)
	if g == w {
		return
	}
	same := 0
	for same < min(len(g), len(w)) && g[same] == w[same] {
		same++
	}
	from := max(0, same-100)
	e.Errorf("not the same from byte %d on:\n got …%.300s\nwant …%.300s", same, g[from:], w[from:])
}
