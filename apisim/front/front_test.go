package front_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/apisim/front"
)

const configMaps = "/api/v1/namespaces/default/configmaps"

// scene is a server behind a layer, in a bubble.
type scene struct {
	*testing.T
	server *apisim.Server
	http   *http.Client
}

// behind plays a story on a server behind a layer.
func behind(t *testing.T, layer front.Layer, story func(*scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := apisim.Start(apisim.Options{InMemory: true, Front: layer})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		client, err := rest.HTTPClientFor(server.Config())
		if err != nil {
			t.Fatal(err)
		}
		story(&scene{t, server, client})
	})
}

func (s *scene) create(name string) {
	s.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": `a,"b":c\`}}
	if _, err := kubernetes.NewForConfigOrDie(s.server.Config()).CoreV1().ConfigMaps("default").Create(s.Context(), object, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

func (s *scene) get(query string, headers ...string) *http.Response {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	s.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", s.server.URL()+configMaps+query, nil)
	if err != nil {
		s.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	response, err := s.http.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { response.Body.Close() })
	return response
}

// event reads the next event of a watch.
func event(s *scene, from *bufio.Reader) (kind, name string) {
	s.Helper()
	line, err := from.ReadBytes('\n')
	if err != nil {
		s.Fatal(err)
	}
	var e struct {
		Type   string
		Object corev1.ConfigMap
	}
	if err := json.Unmarshal(line, &e); err != nil {
		s.Fatalf("%q: %v", line, err)
	}
	return e.Type, e.Object.Name
}

func TestRefuseWatches(t *testing.T) {
	behind(t, front.RefuseWatches(405), func(s *scene) {
		if got := s.get("?watch=1"); got.StatusCode != 405 {
			t.Error(got.Status)
		}
		if got := s.get(""); got.StatusCode != 200 {
			t.Error(got.Status)
		}
	})
}

func TestRefuseInitialEvents(t *testing.T) {
	behind(t, front.RefuseInitialEvents(), func(s *scene) {
		if got := s.get("?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"); got.StatusCode != 422 {
			t.Error(got.Status)
		}
		if got := s.get("?watch=1&timeoutSeconds=1"); got.StatusCode != 200 {
			t.Error(got.Status)
		}
	})
}

func TestDropQuery(t *testing.T) {
	behind(t, front.DropQuery("limit", "watch"), func(s *scene) {
		s.create("a")
		s.create("b")
		var list corev1.ConfigMapList
		if err := json.NewDecoder(s.get("?watch=1&limit=1").Body).Decode(&list); err != nil || len(list.Items) < 2 {
			t.Errorf("%d items, %v", len(list.Items), err)
		}
	})
}

func TestEndAndCutWatches(t *testing.T) {
	for _, cut := range []bool{false, true} {
		layer, want := front.EndWatches(time.Second), error(nil)
		if cut {
			layer, want = front.CutWatches(time.Second), io.ErrUnexpectedEOF
		}
		behind(t, layer, func(s *scene) {
			began := time.Now()
			_, err := io.ReadAll(s.get("?watch=1&resourceVersion=1").Body)
			if took := time.Since(began); !errors.Is(err, want) || took < time.Second || took > 2*time.Second {
				t.Errorf("cut %t: ended after %v with %v", cut, took, err)
			}
		})
	}
}

func TestBufferWatches(t *testing.T) {
	behind(t, front.BufferWatches(0), func(s *scene) {
		began := time.Now()
		in := bufio.NewReader(s.get("?watch=1&resourceVersion=1&timeoutSeconds=60").Body)
		s.create("a")
		if kind, _ := event(s, in); kind != "ADDED" || time.Since(began) < time.Minute {
			t.Errorf("%s after %v", kind, time.Since(began))
		}
	})
	behind(t, front.BufferWatches(2000), func(s *scene) {
		in := bufio.NewReader(s.get("?watch=1&resourceVersion=1&timeoutSeconds=60").Body)
		began := time.Now()
		for i := range 20 {
			s.create(fmt.Sprint("c", i))
		}
		event(s, in)
		if took := time.Since(began); took > time.Second {
			t.Errorf("more than the buffer holds came after %v", took)
		}
	})
}

func TestDelayWatches(t *testing.T) {
	behind(t, front.DelayWatches(10*time.Second), func(s *scene) {
		in := bufio.NewReader(s.get("?watch=1&resourceVersion=1&timeoutSeconds=600").Body)
		began := time.Now()
		s.create("a")
		synctest.Wait()
		s.create("b")
		for _, want := range []string{"a", "b"} {
			for {
				if _, name := event(s, in); name == want {
					break
				}
			}
			if took := time.Since(began); took < 10*time.Second || took > 11*time.Second {
				t.Errorf("%s came after %v", want, took)
			}
		}
	})
}

func TestRechunk(t *testing.T) {
	behind(t, front.Rechunk(3), func(s *scene) {
		s.create("a")
		var list corev1.ConfigMapList
		if err := json.NewDecoder(s.get("").Body).Decode(&list); err != nil || len(list.Items) == 0 {
			t.Errorf("%d items, %v", len(list.Items), err)
		}
		in := bufio.NewReader(s.get("?watch=1&resourceVersion=1").Body)
		if kind, _ := event(s, in); kind != "ADDED" {
			t.Error(kind)
		}
	})
}

func TestGzip(t *testing.T) {
	behind(t, front.Gzip(), func(s *scene) {
		s.create("a")
		// Without a header of its own, net/http asks for gzip and unpacks it.
		response := s.get("?watch=1&resourceVersion=1")
		if kind, _ := event(s, bufio.NewReader(response.Body)); kind != "ADDED" || !response.Uncompressed {
			t.Errorf("%s, unpacked %t", kind, response.Uncompressed)
		}
		if response := s.get("", "Accept-Encoding", "identity"); response.Header.Get("Content-Encoding") != "" {
			t.Error("compressed for a client that does not want it")
		}
	})
}

func TestRewrite(t *testing.T) {
	strip := func(o map[string]any) { delete(o["metadata"].(map[string]any), "creationTimestamp") }
	behind(t, front.Rewrite(strip), func(s *scene) {
		s.create("a")
		const protobuf = "application/vnd.kubernetes.protobuf"
		for _, query := range []string{"", "/a", "?watch=1&resourceVersion=1&timeoutSeconds=1"} {
			response := s.get(query, "Accept", protobuf+",application/json")
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got := response.Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("%q: the type is %s", query, got)
			}
			if strings.Contains(string(text), "creationTimestamp") || !strings.Contains(string(text), `"k": "a,\"b\":c\\"`) {
				t.Errorf("%q: %s", query, text)
			}
		}
	})
}

func TestAlternate(t *testing.T) {
	answer := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	behind(t, func(http.Handler) http.Handler { return front.Alternate(answer(201), answer(202)) }, func(s *scene) {
		for _, want := range []int{201, 202, 201} {
			if got := s.get("").StatusCode; got != want {
				t.Errorf("%d, want %d", got, want)
			}
		}
	})
}
