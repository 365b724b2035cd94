package ctrlcache_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinform/kinform/debug"
)

// mounted is a page under a path, as a manager would have it.
type mounted struct {
	*env
	page *debug.Handler
	mux  *http.ServeMux
}

func (e *env) mount() *mounted {
	m := &mounted{e, debug.New(debug.Options{}), http.NewServeMux()}
	m.mux.Handle("/debug/kinform/", http.StripPrefix("/debug/kinform", m.page))
	e.t.Cleanup(m.page.Close)
	return m
}

func (m *mounted) see(view string) string {
	m.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/debug/kinform/"+view, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:4711", "localhost:8080"
	answer := httptest.NewRecorder()
	m.mux.ServeHTTP(answer, r)
	if answer.Code != http.StatusOK {
		m.t.Fatalf("%s: %d: %s", view, answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// shown returns the informers on the page, as "name: resource".
func (m *mounted) shown() (all []string) {
	m.t.Helper()
	var o struct {
		Informers []struct {
			Name, Resource string
			Synced         bool
		}
	}
	if err := json.Unmarshal([]byte(m.see("overview.json")), &o); err != nil {
		m.t.Fatal(err)
	}
	for _, i := range o.Informers {
		if !i.Synced {
			m.t.Errorf("%s has not synced", i.Name)
		}
		all = append(all, i.Name+": "+i.Resource)
	}
	return all
}

// want compares what is shown, once the page has looked for new informers, as it does each
// second.
func (m *mounted) want(all ...string) {
	m.t.Helper()
	<-time.After(2 * time.Second)
	if got := m.shown(); !slices.Equal(got, all) {
		m.t.Errorf("shown are %q, want %q", got, all)
	}
}

// TestPage: the page shows all that a cache has, and what it has later, in each of its
// forms, and nothing of Secrets.
func TestPage(t *testing.T) {
	inBubble(t, func(e *env) {
		settings := configMap("default", "settings", "teal")
		settings.Data = map[string]string{"size": "large"}
		e.create(settings, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "login"}, Data: map[string][]byte{"password": []byte("hunter2")},
		})
		c := e.cache(cache.Options{})
		m := e.mount()
		if err := m.page.Add("cache", c); err != nil {
			e.t.Fatal(err)
		}
		e.informer(c, &corev1.ConfigMap{})
		e.start(c)
		m.want("cache/configmaps: configmaps")
		e.informer(c, asMetadata())
		e.informer(c, &corev1.Secret{})
		m.want("cache/configmaps: configmaps", "cache/configmaps (2): configmaps", "cache/secrets: secrets")
		if text := m.see("object.yaml?key=default/settings&i=cache/configmaps"); !strings.Contains(text, "size: large") {
			e.t.Errorf("the typed form is shown as\n%s", text)
		}
		text := m.see("object.yaml?key=default/settings&i=" + url.QueryEscape("cache/configmaps (2)"))
		if strings.Contains(text, "large") || !strings.Contains(text, "name: settings") {
			e.t.Errorf("the metadata is shown as\n%s", text)
		}
		text = m.see("object.yaml?key=default/login&i=cache/secrets")
		if strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg==") || !strings.Contains(text, "password: (hidden)") {
			e.t.Errorf("the Secret is shown as\n%s", text)
		}
		if err := c.RemoveInformer(e.ctx, asMetadata()); err != nil {
			e.t.Fatal(err)
		}
		m.want("cache/configmaps: configmaps", "cache/secrets: secrets")
	})
}

// TestPageOfSeveralNamespaces: an informer that is made of several is shown as those.
func TestPageOfSeveralNamespaces(t *testing.T) {
	inBubble(t, func(e *env) {
		e.namespaces("a", "b")
		c := e.cache(cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}})
		e.start(c)
		m := e.mount()
		for _, err := range []error{m.page.Add("cache", c), m.page.Add("informer", e.informer(c, &corev1.ConfigMap{}))} {
			if err != nil {
				e.t.Fatal(err)
			}
		}
		m.want("cache/configmaps: configmaps in namespace a", "cache/configmaps (2): configmaps in namespace b",
			"informer/configmaps: configmaps in namespace a", "informer/configmaps (2): configmaps in namespace b")
	})
}
