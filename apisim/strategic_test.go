package apisim_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
)

func TestStrategicMergePatch(t *testing.T) {
	s := start(t, apisim.Options{})
	client := kubernetes.NewForConfigOrDie(s.Config()).AppsV1().Deployments("default")
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "d", Labels: map[string]string{"keep": "1", "drop": "2"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{
					{Name: "main", Image: "m:1", Env: []corev1.EnvVar{{Name: "X", Value: "1"}}}, {Name: "side", Image: "s:1"},
				}},
			},
		},
	}
	if _, err := client.Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Each patch changes what the one before has left.
	for _, step := range []struct{ name, patch, want string }{
		{"a list is merged by its key", `{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s:2"}]}}}}`, "main=m:1[X=1] side=s:2[]"},
		{"so is a list inside", `{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"Y","value":"2"}]}]}}}}`, "main=m:1[Y=2 X=1] side=s:2[]"},
		{"an item can be deleted", `{"spec":{"template":{"spec":{"containers":[{"name":"side","$patch":"delete"}]}}}}`, "main=m:1[Y=2 X=1]"},
		{"new items come first", `{"spec":{"template":{"spec":{"containers":[{"name":"new","image":"n"}]}}}}`, "new=n[] main=m:1[Y=2 X=1]"},
		{"the order can be set", `{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"main"},{"name":"new"}]}}}}`, "main=m:1[Y=2 X=1] new=n[]"},
		{"a list can be replaced", `{"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"name":"only","image":"o"}]}}}}`, "only=o[]"},
	} {
		got, err := client.Patch(t.Context(), "d", types.StrategicMergePatchType, []byte(step.patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if text := containersOf(got); text != step.want {
			t.Errorf("%s: %s, want %s", step.name, text, step.want)
		}
	}
	got, err := client.Patch(t.Context(), "d", types.StrategicMergePatchType, []byte(`{"metadata":{"labels":{"drop":null,"add":"3"}}}`), metav1.PatchOptions{})
	if err != nil || len(got.Labels) != 2 || got.Labels["keep"] != "1" || got.Labels["add"] != "3" {
		t.Errorf("labels %v, %v", got.Labels, err)
	}
	if before := got.ResourceVersion; before != "" {
		again, err := client.Patch(t.Context(), "d", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
		if err != nil || again.ResourceVersion != before {
			t.Errorf("an empty patch made version %s of %s, %v", again.ResourceVersion, before, err)
		}
	}
}

func containersOf(d *appsv1.Deployment) string {
	var out []string
	for _, c := range d.Spec.Template.Spec.Containers {
		var env []string
		for _, e := range c.Env {
			env = append(env, e.Name+"="+e.Value)
		}
		out = append(out, c.Name+"="+c.Image+"["+strings.Join(env, " ")+"]")
	}
	return strings.Join(out, " ")
}

func TestStrategicMergePatchRefusals(t *testing.T) {
	s := start(t, apisim.Options{})
	client := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().Pods("default")
	if _, err := client.Create(t.Context(), newPod("p"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, patch, want string
		is                func(error) bool
	}{
		{"no JSON", `{broken`, "invalid character", apierrors.IsBadRequest},
		{"no object", `[1]`, "cannot unmarshal array", apierrors.IsBadRequest},
		{"wrong type", `{"spec":{"priority":"high"}}`, "patch: Invalid value", apierrors.IsInvalid},
		{"wrong type in a list", `{"spec":{"containers":[{"name":"c","image":7}]}}`, "patch: Invalid value", apierrors.IsInvalid},
		{"unknown directive", `{"spec":{"$patch":"dance"}}`, "patch", func(err error) bool { return err != nil }},
		{"another version", `{"metadata":{"resourceVersion":"1"}}`, "the object has been modified", apierrors.IsConflict},
	} {
		_, err := client.Patch(t.Context(), "p", types.StrategicMergePatchType, []byte(c.patch), metav1.PatchOptions{})
		if !c.is(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	_, err := client.Patch(t.Context(), "nope", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("patch of an object that is not there: %v", err)
	}
}
