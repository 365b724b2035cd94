package ctrlcache_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSecretsAreNotTold: what fails over a Secret, such as a transform, quotes nothing of
// it, in errors and in what is logged.
func TestSecretsAreNotTold(t *testing.T) {
	const password = "hunter2 of ctrlcache"
	crash := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	t.Cleanup(func() { utilruntime.ReallyCrash = crash })
	for name, transform := range map[string]toolscache.TransformFunc{
		"fails":  func(obj any) (any, error) { return nil, errors.New(string(obj.(*corev1.Secret).Data["password"])) },
		"panics": func(obj any) (any, error) { panic(obj.(*corev1.Secret).Data["password"]) },
		"passes": nil,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string][]byte{"password": []byte(password)}})
			c := e.cache(cache.Options{DefaultTransform: transform})
			e.start(c)
			i := e.informer(c, &corev1.Secret{})
			h, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
				panic(string(obj.(*corev1.Secret).Data["password"]))
			}})
			if err != nil {
				t.Fatal(err)
			}
			await(e, "the handler", h.HasSyncedChecker().Done())
			err = c.Get(e.ctx, client.ObjectKey{Namespace: "default", Name: "a"}, &corev1.Secret{})
			if (err == nil) != (transform == nil) || strings.Contains(fmt.Sprint(err), password) {
				t.Errorf("Get: %v", err)
			}
			logged.Range(func(line, _ any) bool {
				if strings.Contains(line.(string), password) {
					t.Errorf("logged: %s", line)
				}
				return true
			})
		})
	}
}
