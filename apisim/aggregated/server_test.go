package aggregated_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/apisim/aggregated"
)

// serve plays a story on a server, as a client sees it.
func serve(t *testing.T, o aggregated.Options, story func(*testing.T, *aggregated.Server, typed.ConfigMapInterface)) {
	synctest.Test(t, func(t *testing.T) {
		s := aggregated.New(o)
		sim, err := apisim.Start(apisim.Options{InMemory: true, Front: s.Front})
		if err != nil {
			t.Fatal(err)
		}
		defer sim.Close()
		story(t, s, kubernetes.NewForConfigOrDie(sim.Config()).CoreV1().ConfigMaps("default"))
	})
}

func put(t *testing.T, s *aggregated.Server, name, value string) {
	t.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"k": value}}
	if err := s.Put(o); err != nil {
		t.Fatal(err)
	}
}

// events reads n events as "TYPE name=value@version".
func events(t *testing.T, w watch.Interface, n int) []string {
	t.Helper()
	var out []string
	for range n {
		e, open := <-w.ResultChan()
		if !open {
			t.Fatalf("the watch ended after %q", out)
		}
		o := e.Object.(*corev1.ConfigMap)
		out = append(out, string(e.Type)+" "+o.Name+"="+o.Data["k"]+"@"+o.ResourceVersion)
	}
	return out
}

func TestStory(t *testing.T) {
	for _, c := range []struct {
		name    string
		options aggregated.Options
		want    string
	}{
		{"ordered", aggregated.Options{}, "ADDED b=1@2, MODIFIED a=2@3, DELETED a=2@4, ADDED a=3@5"},
		{"deleted as stored", aggregated.Options{StoredVersionOnDelete: true}, "ADDED b=1@2, MODIFIED a=2@3, DELETED a=2@3, ADDED a=3@5"},
		{"per object", aggregated.Options{Versions: aggregated.PerObject()}, "ADDED b=1@1, MODIFIED a=2@2, DELETED a=2@3, ADDED a=3@1"},
		{"constant", aggregated.Options{Versions: aggregated.Constant()}, "ADDED b=1@1, MODIFIED a=2@1, DELETED a=2@1, ADDED a=3@1"},
		{"absent", aggregated.Options{Versions: aggregated.Absent()}, "ADDED b=1@, MODIFIED a=2@, DELETED a=2@, ADDED a=3@"},
		{"opaque", aggregated.Options{Versions: aggregated.Opaque()},
			"ADDED b=1@v-3c6ef362, MODIFIED a=2@v-daa66d13, DELETED a=2@v-78dde6c4, ADDED a=3@v-17156075"},
	} {
		t.Run(c.name, func(t *testing.T) {
			serve(t, c.options, func(t *testing.T, s *aggregated.Server, maps typed.ConfigMapInterface) {
				put(t, s, "a", "1")
				list, err := maps.List(t.Context(), metav1.ListOptions{})
				if err != nil || len(list.Items) != 1 || list.Items[0].UID == "" {
					t.Fatalf("%v, %v", list, err)
				}
				w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Stop()
				if list.ResourceVersion == "" { // then a watch begins with what there is
					events(t, w, 1)
				}
				put(t, s, "b", "1")
				put(t, s, "a", "2")
				s.Delete("default", "a")
				put(t, s, "a", "3")
				if got := strings.Join(events(t, w, 4), ", "); got != c.want {
					t.Errorf("\n%s, want\n%s", got, c.want)
				}
			})
		})
	}
}

func TestVersionsThatSayNothing(t *testing.T) {
	for name, v := range map[string]aggregated.Versions{"unordered": aggregated.Unordered(), "across": aggregated.UnorderedAcross()} {
		serve(t, aggregated.Options{Versions: v}, func(t *testing.T, s *aggregated.Server, maps typed.ConfigMapInterface) {
			var versions []string
			for _, object := range []string{"m", "c", "x", "a", "k"} {
				put(t, s, object, "1")
				list := s.List().Items
				i := slices.IndexFunc(list, func(u unstructured.Unstructured) bool { return u.GetName() == object })
				versions = append(versions, list[i].GetResourceVersion())
			}
			if slices.IsSortedFunc(versions, func(a, b string) int { return len(a)*10 - len(b)*10 + strings.Compare(a, b) }) {
				t.Errorf("%s: %q are in order", name, versions)
			}
		})
	}
}

func TestRightsComeAndGo(t *testing.T) {
	serve(t, aggregated.Options{}, func(t *testing.T, s *aggregated.Server, maps typed.ConfigMapInterface) {
		put(t, s, "a", "1")
		put(t, s, "b", "1")
		w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: s.List().GetResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		s.Hide("default", "a")
		if n := len(s.List().Items); n != 1 {
			t.Errorf("%d objects are seen, want 1", n)
		}
		put(t, s, "b", "2")
		s.Show("default", "a")
		const want = "DELETED a=1@1, MODIFIED b=2@4, ADDED a=1@1"
		if got := strings.Join(events(t, w, 3), ", "); got != want {
			t.Errorf("\n%s, want\n%s", got, want)
		}
	})
}

func TestForget(t *testing.T) {
	serve(t, aggregated.Options{}, func(t *testing.T, s *aggregated.Server, maps typed.ConfigMapInterface) {
		put(t, s, "a", "1")
		old := metav1.ListOptions{ResourceVersion: s.List().GetResourceVersion()}
		w, err := maps.Watch(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		s.Forget()
		if e, open := <-w.ResultChan(); open {
			t.Errorf("a watch goes on with %v", e)
		}
		if w, err = maps.Watch(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		if e := <-w.ResultChan(); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Errorf("a watch from a forgotten version says %v", e)
		}
		w.Stop()
		put(t, s, "b", "1")
		if w, err = maps.Watch(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(events(t, w, 2), ", "); got != "ADDED a=1@1, ADDED b=1@3" {
			t.Error(got)
		}
		w.Stop()
	})
}

func TestOnlyReads(t *testing.T) {
	serve(t, aggregated.Options{}, func(t *testing.T, s *aggregated.Server, maps typed.ConfigMapInterface) {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		if !apierrors.IsMethodNotSupported(err) {
			t.Errorf("create: %v", err)
		}
		yes := true
		if _, err := maps.Watch(t.Context(), metav1.ListOptions{SendInitialEvents: &yes}); !apierrors.IsInvalid(err) {
			t.Errorf("sendInitialEvents: %v", err)
		}
	})
}
