package apisim_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/apisim"
)

func TestFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *apisim.Follower
		s, err := apisim.Start(apisim.Options{InMemory: true, Front: func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.ServeHTTP(w, r) })
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f = s.Follow()
		maps := kubernetes.NewForConfigOrDie(s.Config()).CoreV1().ConfigMaps("default")
		create := func(name string) string {
			made, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return made.ResourceVersion
		}
		listed := func(version string) string {
			list, err := maps.List(t.Context(), metav1.ListOptions{ResourceVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, o := range list.Items {
				names = append(names, o.Name)
			}
			return strings.Join(names, " ")
		}
		before := create("a")
		f.Hold()
		after := create("b")
		if got := listed("0"); got != "a" {
			t.Errorf("the cache has %q", got)
		}
		if got := listed(""); got != "a b" {
			t.Errorf("the storage has %q", got)
		}
		_, err = maps.List(t.Context(), metav1.ListOptions{ResourceVersion: after})
		if !apierrors.IsTimeout(err) {
			t.Errorf("a version that is to come: %v", err)
		}
		w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: before})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		held := time.Now()
		time.AfterFunc(time.Minute, f.Release)
		if got := (<-w.ResultChan()).Object.(*corev1.ConfigMap); got.Name != "b" || got.ResourceVersion != after {
			t.Errorf("the watch sent %s @%s", got.Name, got.ResourceVersion)
		}
		if took := time.Since(held); took < time.Minute {
			t.Errorf("it was seen after %v", took)
		}
		if got := listed(after); got != "a b" {
			t.Errorf("the cache has %q", got)
		}
	})
}
