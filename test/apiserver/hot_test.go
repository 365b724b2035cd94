package apiserver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/diff"
	"github.com/kinform/kinform/internal/hot"
)

// TestFightIsFound has managers fight over a number and over a container's image, and
// another one write a status in a loop, all within the second that managed fields count
// in.
func TestFightIsFound(t *testing.T) {
	ctx, s := limited(t), Shared(t)
	cfg := s.Config()
	cfg.QPS = -1
	deployments := connect(t, cfg).AppsV1().Deployments("default")
	labels := map[string]string{"app": "fought"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "fought"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "a:0"}}},
		},
	}}
	if _, err := deployments.Create(ctx, d, metav1.CreateOptions{FieldManager: "maker"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deployments.Delete(context.Background(), "fought", metav1.DeleteOptions{}) })

	tracker, versions := hot.NewTracker(time.Now(), 0), make(chan string, 1024)
	follow(t, ctx, kinform.Options{
		Resource: appsv1.SchemeGroupVersion.WithResource("deployments"), Namespaces: []string{"default"}, FieldSelector: "metadata.name=fought",
	}, tracker, versions)
	patch := func(manager, body string, sub ...string) (version string) {
		got, err := deployments.Patch(ctx, "fought", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager}, sub...)
		if err != nil {
			t.Fatal(err)
		}
		return got.ResourceVersion
	}
	last := ""
	for i := range 30 {
		manager := []string{"scaler", "gitops"}[i%2]
		patch(manager, fmt.Sprintf(`{"spec":{"replicas":%d,"template":{"spec":{"containers":[{"name":"web","image":"a:%d"}]}}}}`, 2+i%2, 1+i%2)) // one replica is the default
		last = patch("looper", fmt.Sprintf(`{"status":{"collisionCount":%d}}`, 1+i), "status")
	}
	for version := ""; version != last; {
		select {
		case version = <-versions:
		case <-ctx.Done():
			t.Fatalf("version %s does not come", last)
		}
	}
	var found []string
	for _, f := range tracker.Report(time.Now(), 10).Findings {
		found = append(found, f.Text)
	}
	text := strings.Join(found, "\n")
	for _, field := range []string{"spec.replicas", "spec.template.spec.containers[web].image"} {
		if want := "deployments default/fought: managers gitops and scaler change " + field + " in turn, 29 times in "; !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	managers := map[string]uint64{}
	for _, row := range tracker.Report(time.Now(), 10).Managers {
		managers[row.Name] = row.Changes
	}
	if managers["looper"] != 30 || managers["scaler"] != 15 || managers["gitops"] != 15 {
		t.Errorf("got the managers %v, want 30 of looper, and 15 of scaler and gitops", managers)
	}
}

// follow runs an informer that counts changes, and tells the versions that it has seen.
func follow(t *testing.T, ctx context.Context, o kinform.Options, tracker *hot.Tracker, versions chan<- string) {
	t.Helper()
	inf, err := kinform.New[*unstructured.Unstructured](Shared(t).Config(), o)
	if err != nil {
		t.Fatal(err)
	}
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*unstructured.Unstructured]) {
		before, _ := ev.Old()
		after, err := ev.New()
		if err != nil || before == nil {
			return
		}
		managed := func(u *unstructured.Unstructured) any {
			fields, _, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
			return fields
		}
		var major []diff.Change
		for _, c := range diff.Compare(before.Object, after.Object) {
			if !c.Minor() {
				major = append(major, c)
			}
		}
		tracker.Add(hot.Change{
			Time: time.Now(), Type: string(ev.Type), Resource: "deployments", Key: ev.Key,
			Fields: hot.Writers(managed(before), managed(after), major),
		})
		versions <- ev.ResourceVersion()
	}, kinform.SubscribeOptions{})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if err := inf.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
}
