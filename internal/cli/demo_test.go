package cli

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
)

func TestDemo(t *testing.T) {
	p := start(t, "demo", "--objects", "200", "--rate", "100", "-o", "json")
	for _, kind := range []string{"pods", "deployments", "statefulsets", "nodes", "events"} {
		p.notes.Await(t, "watching "+kind+": ")
	}
	p.out.Await(t, `"added"`)
	p.out.Await(t, `"updated"`)
	code := p.timeIsUp(t)
	out, notes := p.out.String(), p.notes.String()
	if code != 0 {
		t.Fatalf("exit code %d, want 0:\n%s", code, notes)
	}
	for _, want := range []string{
		"A Kubernetes API server runs in this process, at http://127.0.0.1:",
		"kubectl --server http://127.0.0.1:",
		"events   ", "objects  ", "bytes for each", "memory   ",
		"check    the cache equals the server's list: ",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("it does not say %q, but\n%s", want, notes)
		}
	}
	kinds := map[string]int{}
	for line := range strings.Lines(out) {
		kinds[parse(t, line).Kind]++
	}
	if kinds["added"] == 0 || kinds["updated"] == 0 {
		t.Errorf("the cluster does not live: %v", kinds)
	}
}

func TestDemoEndsWithCtrlC(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.yaml")
	p := start(t, "demo", "--objects", "50", "--write-kubeconfig", path)
	p.notes.Await(t, "kubectl --kubeconfig "+path)
	w := start(t, "watch", "nodes", "--kubeconfig", path)
	w.notes.Await(t, "watching nodes: 3 objects")
	w.interrupt(t)
	if code := p.interrupt(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p.notes.Await(t, "check    the cache equals the server's list")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the kubeconfig is still there: %v", err)
	}
}

func TestDemoReplacesNoFile(t *testing.T) {
	path := write(t, "precious")
	code, _, notes := run(t, "demo", "--objects", "50", "--write-kubeconfig", path)
	if code != 1 || !strings.Contains(notes, "it exists") {
		t.Errorf("exit code %d, said %q, want 1 and that the file exists", code, notes)
	}
	if raw, err := os.ReadFile(path); err != nil || string(raw) != "precious" {
		t.Errorf("the file is now %q, %v", raw, err)
	}
}

// TestDemoAtAPort: one that is taken shows that the server wants it.
func TestDemoAtAPort(t *testing.T) {
	taken := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer func() { _ = taken.Close() }()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	code, _, notes := run(t, "demo", "--objects", "50", "--port", port)
	if code != exitBad || !strings.Contains(notes, "cannot start the demo's API server at port "+port) || !strings.Contains(notes, "choose another one with --port") {
		t.Errorf("exit code %d, said %q", code, notes)
	}
}

// TestDifference compares a cache with lists that are not its own.
func TestDifference(t *testing.T) {
	s := newServer(t)
	pod := s.createPod(t, "web-0")
	inf := must(kinform.New[*corev1.Pod](s.Config(), kinform.Options{}))(t)
	runInformer(t, inf)
	state := func(phase corev1.PodPhase) map[string]*corev1.Pod {
		other := pod.DeepCopy()
		other.Status.Phase = phase
		return map[string]*corev1.Pod{"default/web-0": other}
	}
	heard := map[string]string{"default/web-0": pod.ResourceVersion}
	tests := []struct {
		name  string
		heard map[string]string
		list  map[string]*corev1.Pod
		want  string
	}{
		{"none", heard, state(pod.Status.Phase), ""},
		{"one too many", heard, nil, "it has 1 object, the server 0"},
		{"another one", heard, map[string]*corev1.Pod{"default/x": pod}, "it has default/web-0, the server has not"},
		{"an event is missing", nil, state(pod.Status.Phase), "the events add up to 0 objects, the server has 1"},
		{"an old event", map[string]string{"default/web-0": "1"}, state(pod.Status.Phase), "of default/web-0 version 1 was delivered"},
		{"a field", heard, state("Running"), "default/web-0 is not the same: status.phase: Pending → Running"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := difference(inf.Lister(), tt.heard, tt.list)
			if got != tt.want && (tt.want == "" || !strings.Contains(got, tt.want)) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
