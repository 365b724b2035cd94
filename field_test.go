package kinform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

// TestChanged: an event says which fields it has changed, without a decoded object.
func TestChanged(t *testing.T) {
	for name, o := range map[string]kinform.Options{"protobuf": {}, "JSON": {JSON: true}} {
		t.Run(name, func(t *testing.T) {
			server := startSim(t, apisim.Options{})
			maps, err := kinform.New[*corev1.ConfigMap](server.Config(), o)
			if err != nil {
				t.Fatal(err)
			}
			field := func(path string) kinform.Field {
				f, err := maps.Field(path)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			data, key, labels := field("data"), field("data['a']"), field("metadata.labels")
			told := make(chan string, 100)
			maps.Subscribe(func(_ context.Context, e kinform.Event[*corev1.ConfigMap]) {
				told <- fmt.Sprint(e.Type, " data ", e.Changed(data), " a ", e.Changed(key), " labels ", e.Changed(labels),
					" any ", e.Changed(key, labels), " decoded ", maps.Status().Memory.Passing)
			}, kinform.SubscribeOptions{})
			ctx, cancel := context.WithCancel(within(t))
			done := make(chan error, 1)
			go func() { done <- maps.Run(ctx) }()
			client := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().ConfigMaps("default")
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"a": "1"}}
			var was *corev1.ConfigMap
			step := func(want string, do func() error) {
				t.Helper()
				if err := do(); err != nil {
					t.Fatal(err)
				}
				select {
				case got := <-told:
					if got != want+" decoded 0" {
						t.Errorf("%s\nwant %s", got, want)
					}
				case <-ctx.Done():
					t.Fatal(ctx.Err())
				}
			}
			update := func(change func(*corev1.ConfigMap)) func() error {
				return func() (err error) {
					change(was)
					was, err = client.Update(ctx, was, metav1.UpdateOptions{})
					return err
				}
			}
			step("added data true a true labels true any true", func() (err error) {
				was, err = client.Create(ctx, m, metav1.CreateOptions{})
				return err
			})
			step("updated data false a false labels true any true", update(func(m *corev1.ConfigMap) { m.Labels = map[string]string{"l": ""} }))
			step("updated data true a false labels false any false", update(func(m *corev1.ConfigMap) { m.Data["b"] = "2" }))
			step("updated data true a true labels false any true", update(func(m *corev1.ConfigMap) { m.Data["a"] = "3" }))
			step("updated data false a false labels false any false", update(func(m *corev1.ConfigMap) { m.Annotations = map[string]string{"x": ""} }))
			step("deleted data true a true labels true any true", func() error { return client.Delete(ctx, "m", metav1.DeleteOptions{}) })
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFieldThatIsNot: paths are checked.
func TestFieldThatIsNot(t *testing.T) {
	maps, err := kinform.New[*corev1.ConfigMap](startSim(t, apisim.Options{}).Config(), kinform.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Field("date"); err == nil || !strings.Contains(err.Error(), `has no field "date"`) {
		t.Errorf("%v", err)
	}
}
