package kinform_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

// scripted is a server that lists one text and watches another, as they are.
func scripted(t *testing.T, list, watch string) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !isWatch(r) {
			_, _ = io.WriteString(w, list)
			return
		}
		_, _ = io.WriteString(w, watch)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

func listOf(version int, items ...string) string {
	return fmt.Sprintf(`{"kind":"GadgetList","apiVersion":"example.com/v1","metadata":{"resourceVersion":"%d"},"items":[%s]}`,
		version, strings.Join(items, ","))
}

func gadget(name string, version int, spec string) string {
	return fmt.Sprintf(`{"kind":"Gadget","apiVersion":"example.com/v1","metadata":{"name":"%s","uid":"u-%[1]s","resourceVersion":"%d"},"spec":"%s"}`, name, version, spec)
}

// TestObjectsOfAllSizes: from one byte to 8 MiB, in a list and in a watch.
func TestObjectsOfAllSizes(t *testing.T) {
	sizes := []int{1, 2, 100, 4 << 10, 64 << 10, 256<<10 + 1, 1 << 20, 8 << 20}
	var items, events []string
	for i, n := range sizes {
		items = append(items, gadget(fmt.Sprint("l", n), 10, strings.Repeat("x", n)))
		events = append(events, fmt.Sprintf(`{"type":"ADDED","object":%s}`, gadget(fmt.Sprint("w", n), 20+i, strings.Repeat("y", n))))
	}
	inf := newInformer[*unstructured.Unstructured](t, scripted(t, listOf(10, items...), strings.Join(events, "\n")+"\n"), kinform.Options{Resource: gadgets})
	heard := make(chan string, 100)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*unstructured.Unstructured]) {
		o, err := ev.New()
		if err != nil {
			t.Error(err)
			return
		}
		heard <- fmt.Sprint(ev.Key, len(o.Object["spec"].(string)))
	}, kinform.SubscribeOptions{})
	running(t, inf)
	for range 2 * len(sizes) {
		select {
		case <-heard:
		case <-time.After(soon):
			t.Fatalf("not told of all: %v", inf.Status())
		}
	}
	for _, n := range sizes {
		for _, where := range []string{"l", "w"} {
			o, err := inf.Lister().Get(fmt.Sprint(where, n))
			if err != nil || len(o.Object["spec"].(string)) != n {
				t.Errorf("%s%d: %v", where, n, err)
			}
		}
	}
	if st := inf.Status(); st.Rejected != 0 || st.Cause() != nil {
		t.Error(st)
	}
}

// TestNameThatIsNoText: a name that is not UTF-8 does no harm to others, and none
// to what is said of it.
func TestNameThatIsNoText(t *testing.T) {
	const name = "b\xff\xfed"
	cfg := scripted(t, listOf(10, gadget("a", 5, "x"), gadget(name, 6, "x"), gadget("z", 7, "x")),
		fmt.Sprintf(`{"type":"MODIFIED","object":%s}`+"\n"+`{"type":"ADDED","object":%s}`+"\n", gadget(name, 20, "y"), gadget("last", 21, "y")))
	var log journal
	inf := newInformer[*unstructured.Unstructured](t, cfg, kinform.Options{Resource: gadgets, Logger: log.logger()})
	heard := make(chan string, 100)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*unstructured.Unstructured]) { heard <- ev.Key }, kinform.SubscribeOptions{})
	running(t, inf)
	seen := map[string]int{}
	for seen["last"] == 0 {
		select {
		case key := <-heard:
			seen[key]++
		case <-time.After(soon):
			t.Fatalf("heard only of %v: %v; %q", seen, inf.Status(), log.lines())
		}
	}
	for _, key := range []string{"a", "z", "last"} {
		if _, err := inf.Lister().Get(key); err != nil || seen[key] != 1 {
			t.Errorf("%s: %v, heard %d times", key, err, seen[key])
		}
	}
	// As every reader of JSON does: each byte that is no text is U+FFFD.
	const readable = "b\ufffd\ufffdd"
	o, err := inf.Lister().Get(readable)
	if err != nil {
		t.Fatalf("it is not found under its name: %v", err)
	}
	if o.GetName() != readable {
		t.Errorf("its name is %q, its key %q", o.GetName(), readable)
	}
	if o.Object["spec"] != "y" || seen[readable] != 2 {
		t.Errorf("it is %v, heard %d times, want the newest state and both", o.Object["spec"], seen[name])
	}
}

// TestClockGoesBack: what Status says of the past makes sense on a machine whose
// clock was set back.
func TestClockGoesBack(t *testing.T) {
	ahead := time.Now().Add(time.Hour).Round(0) // without what only runs forward
	st := kinform.Status{Sources: []kinform.SourceStatus{{State: kinform.StateWatching, LastContact: ahead}}}
	if s := st.Staleness(); s != 0 {
		t.Errorf("the server was heard of %v ago", s)
	}
}
