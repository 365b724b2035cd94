package informers_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/internal/dropin/dropintest"
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
