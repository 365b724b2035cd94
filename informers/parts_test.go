package informers_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin/dropintest"
	"github.com/kinform/kinform/internal/objects"
)

type change struct{ before, after *corev1.ConfigMap }

// TestStatesShareWhatDidNotChange: the old and the new object of an update have one
// map where the map did not change; but not where a transform alters objects, even if
// it has its watch in common with an informer that has none.
func TestStatesShareWhatDidNotChange(t *testing.T) {
	server := dropintest.Server(t)
	client := connect(t, server.Config())
	cm := configMap("default", "first", "web")
	create(t, client, cm)
	straight, altering := make(chan change, 10), make(chan change, 10)
	for _, f := range []struct {
		told    chan change
		options []informers.SharedInformerOption
	}{
		{straight, nil},
		{altering, []informers.SharedInformerOption{informers.WithTransform(func(obj any) (any, error) {
			obj.(*corev1.ConfigMap).Data["of"] = "altered"
			return obj, nil
		})}},
	} {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, f.options...)
		if _, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			UpdateFunc: func(before, after any) {
				f.told <- change{before.(*corev1.ConfigMap), after.(*corev1.ConfigMap)}
			},
		}); err != nil {
			t.Fatal(err)
		}
		factory.Start(t.Context().Done())
		factory.WaitForCacheSync(t.Context().Done())
		t.Cleanup(factory.Shutdown)
	}
	for _, app := range []string{"two", "three", "four"} {
		cm.Labels["app"] = app
		if _, err := client.CoreV1().ConfigMaps("default").Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		one, other := <-straight, <-altering
		if reflect.ValueOf(one.before.Data).Pointer() != reflect.ValueOf(one.after.Data).Pointer() {
			t.Errorf("%s: the data was decoded again", app)
		}
		if one.after.Labels["app"] != app || one.before.Labels["app"] == app {
			t.Errorf("labels: %v, then %v", one.before.Labels, one.after.Labels)
		}
		if one.before.Data["of"] != "first" || one.after.Data["of"] != "first" {
			t.Errorf("%s: one informer's transform shows in another's objects", app)
		}
		if other.before.Data["of"] != "altered" || other.after.Data["of"] != "altered" {
			t.Errorf("%s: not altered", app)
		}
		if reflect.ValueOf(other.before.Data).Pointer() == reflect.ValueOf(other.after.Data).Pointer() {
			t.Errorf("%s: altered objects have a map in common", app)
		}
	}
}

// TestTransformedObjectsShare: pods of one workload have parts in common after a transform,
// however deep it writes; what it makes of each is what it makes of the pod alone. More
// pods are read than stay decoded from when they were indexed, which share nothing.
func TestTransformedObjectsShare(t *testing.T) {
	client := connect(t, dropintest.Server(t).Config())
	deep := func(obj any) (any, error) {
		pod := obj.(*corev1.Pod)
		pod.ManagedFields = nil
		for i := range pod.Spec.Containers {
			for j := range pod.Spec.Containers[i].Env {
				pod.Spec.Containers[i].Env[j].Value += "+" // twice would show
			}
		}
		return obj, nil
	}
	want := map[string]*corev1.Pod{}
	for pod := range objects.New(objects.Options{Seed: 1, Workloads: 1}).Pods(300) {
		pod.Namespace, pod.ResourceVersion = "default", ""
		made, err := client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := deep(made); err != nil {
			t.Fatal(err)
		}
		want[made.Name] = made
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(deep))
	lister := factory.Core().V1().Pods().Lister()
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	env := map[*corev1.EnvVar]int{}
	for range 2 {
		pods, err := lister.List(labels.Everything())
		if err != nil || len(pods) != len(want) {
			t.Fatalf("%d pods, %v", len(pods), err)
		}
		for _, pod := range pods {
			if !equality.Semantic.DeepEqual(pod.Spec, want[pod.Name].Spec) || pod.ManagedFields != nil {
				t.Fatalf("%s is not what the transform makes of it", pod.Name)
			}
			for _, c := range pod.Spec.Containers {
				if len(c.Env) > 0 {
					env[&c.Env[0]]++
				}
			}
		}
	}
	for _, n := range env {
		if n > 10 {
			return
		}
	}
	t.Errorf("no pods have their environment in common: %d of them", len(env))
}
