package apisim_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kinform/kinform/apisim"
)

func TestFaultStatus(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	s.Inject(apisim.Fault{Match: apisim.Match{Verb: "list", Resource: "configmaps"}, Status: 429, RetryAfter: 3 * time.Second, Times: 1})
	response, err := c.send(t.Context(), "GET", configMaps, "")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != 429 || response.Header.Get("Retry-After") != "3" {
		t.Errorf("answered %s, Retry-After %q", response.Status, response.Header.Get("Retry-After"))
	}
	c.object(200, "GET", configMaps, "")
}

func TestFaultBody(t *testing.T) {
	s := start(t, apisim.Options{})
	s.Inject(apisim.Fault{Status: 502, Body: "<html>gateway</html>"})
	response, err := talk(t, s).send(t.Context(), "GET", configMaps, "")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode != 502 || string(body) != "<html>gateway</html>" || response.Header.Get("Content-Type") != "text/html" {
		t.Errorf("answered %s %s %s", response.Status, response.Header, body)
	}
}

func TestFaultMatch(t *testing.T) {
	for _, c := range []struct {
		match apisim.Match
		hits  bool
	}{
		{apisim.Match{}, true},
		{apisim.Match{Verb: "list"}, true},
		{apisim.Match{Verb: "watch"}, false},
		{apisim.Match{Group: "core"}, true},
		{apisim.Match{Group: "apps"}, false},
		{apisim.Match{Resource: "configmaps"}, true},
		{apisim.Match{Resource: "configmaps/status"}, false},
		{apisim.Match{Resource: "pods"}, false},
		{apisim.Match{Namespace: "default"}, true},
		{apisim.Match{Namespace: "other"}, false},
		{apisim.Match{Path: "/api/"}, true},
		{apisim.Match{Path: "/apis/"}, false},
		{apisim.Match{Func: func(r *http.Request) bool { return r.URL.RawQuery == "limit=1" }}, true},
		{apisim.Match{Func: func(r *http.Request) bool { return false }}, false},
	} {
		t.Run(fmt.Sprintf("%+v", c.match), func(t *testing.T) {
			s := start(t, apisim.Options{})
			s.Inject(apisim.Fault{Match: c.match, Status: 418})
			if code, _ := talk(t, s).do("GET", configMaps+"?limit=1", ""); (code == 418) != c.hits {
				t.Errorf("answered %d", code)
			}
		})
	}
}

func TestFaultAfterAndTimes(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	remove := s.Inject(apisim.Fault{After: 2, Times: 2, Status: 500})
	defer remove()
	for i, want := range []int{200, 200, 500, 500, 200} {
		if code, _ := c.do("GET", configMaps, ""); code != want {
			t.Errorf("request %d was answered %d, want %d", i+1, code, want)
		}
	}
}

func TestFaultRemoved(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	remove := s.Inject(apisim.Fault{Status: 500})
	if code, _ := c.do("GET", configMaps, ""); code != 500 {
		t.Errorf("answered %d", code)
	}
	remove()
	remove()
	c.object(200, "GET", configMaps, "")
}

func TestFaultHangEndsWithTheRequest(t *testing.T) {
	s := start(t, apisim.Options{})
	reached := make(chan struct{})
	s.Inject(apisim.Fault{Hang: true, Match: apisim.Match{Func: func(*http.Request) bool { close(reached); return true }}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if _, err := talk(t, s).send(ctx, "GET", configMaps, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("answered with %v", err)
	}
}

func TestFaultHangEndsWithTheFault(t *testing.T) {
	s := start(t, apisim.Options{})
	reached := make(chan struct{})
	remove := s.Inject(apisim.Fault{Hang: true, Times: 1, Match: apisim.Match{Func: func(*http.Request) bool { close(reached); return true }}})
	go func() { <-reached; remove() }()
	if _, err := talk(t, s).send(t.Context(), "POST", configMaps, configMap("a")); err == nil {
		t.Error("a request that hung was answered")
	}
	talk(t, s).refused(404, "NotFound", "GET", configMaps+"/a", "")
}

func TestFaultHangEndsWithTheServer(t *testing.T) {
	s := start(t, apisim.Options{})
	reached := make(chan struct{})
	s.Inject(apisim.Fault{HangAfterBytes: 10, Match: apisim.Match{Func: func(*http.Request) bool { close(reached); return true }}})
	go func() { <-reached; s.Close() }()
	response, err := talk(t, s).send(t.Context(), "GET", configMaps, "")
	if err != nil {
		return // closed before the first byte
	}
	defer response.Body.Close()
	if data, err := io.ReadAll(response.Body); err == nil || len(data) > 10 {
		t.Errorf("read %q, %v", data, err)
	}
}

func TestFaultDelay(t *testing.T) {
	s := start(t, apisim.Options{})
	s.Inject(apisim.Fault{Delay: 50 * time.Millisecond})
	begin := time.Now()
	talk(t, s).object(200, "GET", configMaps, "")
	if took := time.Since(begin); took < 50*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
}

func TestFaultReset(t *testing.T) {
	s := start(t, apisim.Options{})
	s.Inject(apisim.Fault{Reset: true})
	if _, err := talk(t, s).send(t.Context(), "GET", configMaps, ""); err == nil {
		t.Error("the request was answered")
	}
}

func TestFaultCut(t *testing.T) {
	for _, n := range []int64{1, 100, 5000} {
		s := start(t, apisim.Options{})
		c := talk(t, s)
		for i := range 100 {
			c.object(201, "POST", configMaps, configMap(fmt.Sprint("c", i)))
		}
		s.Inject(apisim.Fault{CutAfterBytes: n})
		response, err := c.send(t.Context(), "GET", configMaps, "")
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(response.Body)
		response.Body.Close()
		if int64(len(data)) != n || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("read %d bytes, then %v; want %d and a cut", len(data), err, n)
		}
	}
}

func TestFaultFrames(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault apisim.Fault
		check func(t *testing.T, w *stream)
	}{
		{"truncate", apisim.Fault{TruncateFrame: 2}, func(t *testing.T, w *stream) {
			w.want("ADDED", "a")
			if _, err := w.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the second frame ended with %v", err)
			}
		}},
		{"garble", apisim.Fault{GarbleFrame: 2}, func(t *testing.T, w *stream) {
			w.want("ADDED", "a")
			var syntax *json.SyntaxError
			if e, err := w.next(); !errors.As(err, &syntax) {
				t.Errorf("the second frame was %v, %v", e, err)
			}
		}},
		{"duplicate", apisim.Fault{DuplicateEvents: true}, func(t *testing.T, w *stream) {
			for _, name := range []string{"a", "a", "b", "b"} {
				w.want("ADDED", name)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, apisim.Options{})
			conversation := talk(t, s)
			conversation.object(201, "POST", configMaps, configMap("a"))
			conversation.object(201, "POST", configMaps, configMap("b"))
			s.Inject(c.fault)
			c.check(t, conversation.watch(configMaps+"?watch=1&resourceVersion=0"))
		})
	}
}

func TestFaultBookmarks(t *testing.T) {
	const list = configMaps + "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1"
	s := start(t, apisim.Options{BookmarkInterval: 10 * time.Millisecond})
	c := talk(t, s)
	w := c.watch(list)
	if end := w.want("BOOKMARK", ""); end.GetAnnotations()["k8s.io/initial-events-end"] != "true" {
		t.Errorf("the initial events ended with %v", end)
	}
	c.object(201, "POST", configMaps, configMap("a"))
	w.want("ADDED", "a")
	w.want("BOOKMARK", "")

	s.Inject(apisim.Fault{DropBookmarks: true, DropInitialEventsEndBookmark: true})
	w = c.watch(list)
	w.want("ADDED", "a")
	c.object(201, "POST", configMaps, configMap("b"))
	w.want("ADDED", "b")
	if e, err := w.next(); err != io.EOF {
		t.Errorf("the watch went on with %v, %v", e, err)
	}
}

func TestFaultOnProtobufFrames(t *testing.T) {
	s := start(t, apisim.Options{})
	c := talk(t, s)
	c.object(201, "POST", configMaps, configMap("a"))
	read := func() []byte {
		_, data := c.do("GET", configMaps+"?watch=1&resourceVersion=0&timeoutSeconds=1", "", "Accept", "application/vnd.kubernetes.protobuf")
		return data
	}
	right := read()
	s.Inject(apisim.Fault{GarbleFrame: 1})
	wrong := read()
	if len(wrong) != len(right) || string(wrong[:4]) != string(right[:4]) || string(wrong) == string(right) {
		t.Errorf("the frame %q became %q", right, wrong)
	}
	if strings.Contains(string(wrong), "ConfigMap") {
		t.Errorf("the garbled frame %q can be read", wrong)
	}
}
