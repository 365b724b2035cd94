package debug_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/debug"
)

// stream is a page's stream, read by the test.
type stream struct {
	t      *testing.T
	cancel context.CancelFunc
	lines  chan string
	seen   strings.Builder
}

// open opens a stream and waits until it has begun.
func (b *bench) open(path string) *stream {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/"+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		b.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s", path, answer.Status)
	}
	s := &stream{t: b.T, cancel: cancel, lines: make(chan string, 100_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.lines)
		defer func() { _ = answer.Body.Close() }()
		for r := bufio.NewReader(answer.Body); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			s.lines <- line
		}
	}()
	b.Cleanup(func() {
		cancel()
		<-done
	})
	s.await("event: hello")
	return s
}

// await reads until a line has a text, and returns the line.
func (s *stream) await(text string) string {
	s.t.Helper()
	for line := range s.lines {
		s.seen.WriteString(line)
		if strings.Contains(line, text) {
			return line
		}
	}
	s.t.Fatalf("the stream ended without %q:\n%s", text, s.seen.String())
	return ""
}

// TestLiveChanges: a change comes with the fields that changed, and only to those whose
// filter passes it.
func TestLiveChanges(t *testing.T) {
	b := newBench(t, debug.Options{})
	b.createPod("web-0", map[string]string{"app": "web"})
	b.createPod("db-0", map[string]string{"app": "db"})
	informer[*corev1.Pod](b, "pods", kinform.Options{})
	all, byKey, byLabel := b.open("live?i=pods"), b.open("live?i=pods&q=web-"), b.open("live?i=pods&l=app%3Dweb")
	patch := func(name, body string) {
		t.Helper()
		if _, err := b.client.CoreV1().Pods("default").Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	patch("db-0", `{"metadata":{"labels":{"colour":"red"}}}`)
	patch("web-0", `{"metadata":{"annotations":{"note":"<script>x</script>"}}}`)
	for _, s := range []*stream{all, byKey, byLabel} {
		var c struct {
			HTML  string
			Count int
		}
		for !strings.Contains(c.HTML, "default/web-0") {
			line := s.await(`data: {"count"`)
			if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &c); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(c.HTML, "metadata.annotations") || strings.Contains(c.HTML, "<script>") {
			t.Errorf("the change is shown as\n%s", c.HTML)
		}
		if got, want := strings.Contains(s.seen.String(), "colour"), s == all; got != want {
			t.Errorf("the change of another object was shown: %v, want %v:\n%s", got, want, s.seen.String())
		}
	}
	if text := b.see("informer?i=pods&q=db-"); !strings.Contains(text, "metadata.labels.colour") || strings.Contains(text, "metadata.annotations") {
		t.Errorf("without a script it is not there, or not filtered:\n%s", text)
	}
}

// TestLiveOverview: what changes is sent, and what does not is not sent again.
func TestLiveOverview(t *testing.T) {
	b := newBench(t, debug.Options{})
	informer[*corev1.Pod](b, "pods", kinform.Options{})
	s := b.open("live")
	s.await(`"row-pods":"good"`) // the watch is open
	b.createPod("web-0", nil)
	if line := s.await(`"objects-pods":"1"`); strings.Contains(line, "row-pods") {
		t.Errorf("what is as it was is sent again: %s", line)
	}
	b.add("more", &nodes{b.nodes()})
	s.await("event: reload")
}

// nodes is an informer that does not run.
type nodes struct {
	*kinform.Informer[*corev1.Node]
}

func (b *bench) nodes() *kinform.Informer[*corev1.Node] {
	inf, err := kinform.New[*corev1.Node](b.api.Config(), kinform.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return inf
}

// TestManyStreams: of a thousand, some are open, and the others are told why not. When
// those are closed, others can be opened.
func TestManyStreams(t *testing.T) {
	b := newBench(t, debug.Options{})
	informer[*corev1.Pod](b, "pods", kinform.Options{})
	var open []io.Closer
	refused := 0
	for range 1000 {
		answer, err := http.Get(b.url + "/live?i=pods")
		if err != nil {
			t.Fatal(err)
		}
		switch answer.StatusCode {
		case http.StatusOK:
			open = append(open, answer.Body)
			continue
		case http.StatusServiceUnavailable:
			raw, _ := io.ReadAll(answer.Body)
			if !strings.Contains(string(raw), "64 pages are open already") || answer.Header.Get("Retry-After") == "" {
				t.Fatalf("refused with %s", raw)
			}
			refused++
		default:
			t.Fatal(answer.Status)
		}
		_ = answer.Body.Close()
	}
	if len(open) != 64 || refused != 936 {
		t.Errorf("%d are open and %d refused, want 64 and 936", len(open), refused)
	}
	for _, c := range open {
		_ = c.Close()
	}
	for end := time.Now().Add(patience); ; {
		answer, err := http.Get(b.url + "/live")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no place became free")
		}
	}
}
