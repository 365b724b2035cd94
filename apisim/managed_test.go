package apisim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
)

// TestManagedFields: what one manager writes, the others no longer own.
func TestManagedFields(t *testing.T) {
	s, err := apisim.Start(apisim.Options{ManagedFields: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cfg := s.Config()
	cfg.UserAgent = "maker/v1 (test)"
	deployments := kubernetes.NewForConfigOrDie(cfg).AppsV1().Deployments("default")
	labels := map[string]string{"app": "web"}
	one := int32(1)
	_, err = deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(manager, body string, sub ...string) string {
		t.Helper()
		d, err := deployments.Patch(t.Context(), "web", types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager}, sub...)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, e := range d.ManagedFields {
			owned := "other things"
			for _, field := range []string{"f:replicas", "f:paused", "f:observedGeneration"} {
				if strings.Contains(string(e.FieldsV1.Raw), `"`+field+`":{}`) {
					owned = field
				}
			}
			all = append(all, fmt.Sprintf("%s%s has %s", e.Manager, e.Subresource, owned))
		}
		return strings.Join(all, ", ")
	}
	for _, tt := range []struct{ got, want string }{
		{patch("scaler", `{"spec": {"replicas": 2}}`), "maker has other things, scaler has f:replicas"},
		{patch("gitops", `{"spec": {"replicas": 1}}`), "gitops has f:replicas, maker has other things"},
		{patch("gitops", `{"spec": {"replicas": 1}}`), "gitops has f:replicas, maker has other things"},
		{patch("scaler", `{"spec": {"paused": true}}`), "gitops has f:replicas, maker has other things, scaler has f:paused"},
		{patch("gitops", `{"status": {"observedGeneration": 3}}`, "status"),
			"gitops has f:replicas, gitopsstatus has f:observedGeneration, maker has other things, scaler has f:paused"},
		{patch("scaler", `{"spec": {"paused": null}}`), "gitops has f:replicas, gitopsstatus has f:observedGeneration, maker has other things"},
	} {
		if got, want := sorted(tt.got), sorted(tt.want); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func sorted(list string) string {
	parts := strings.Split(list, ", ")
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
