package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/console"
)

func TestWatchShowsChangesInLines(t *testing.T) {
	s := newServer(t)
	s.createPod(t, "before")
	p := s.watch(t, "pods")

	pod := s.createPod(t, "web-0")
	p.out.Await(t, "added", "pods", "default/web-0")

	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must(s.client.CoreV1().Pods("default").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}))(t)
	p.out.Await(t, "updated", "pods", "default/web-0", "status.phase:", "Running", "status.conditions: + [Ready]")

	must(s.client.CoreV1().Pods("default").Patch(t.Context(), "web-0", types.MergePatchType,
		[]byte(`{"spec":{"containers":[{"name":"web","image":"nginx:1.26"}]}}`), metav1.PatchOptions{}))(t)
	line := p.out.Await(t, "nginx:1.26")
	if want := "spec.containers[web].image: nginx:1.25 → nginx:1.26"; !strings.HasSuffix(line, want) {
		t.Errorf("got %q, want it to end with %q", line, want)
	}

	if err := s.client.CoreV1().Pods("default").Delete(t.Context(), "web-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	p.out.Await(t, "deleted", "pods", "default/web-0", "Running", "old")

	if code := p.interrupt(t); code != 0 {
		t.Errorf("exit code %d after Ctrl-C, want 0", code)
	}
	lines := strings.Count(p.out.String(), "\n")
	p.notes.Await(t, fmt.Sprintf("%d events (1 added, %d updated, 1 deleted)", lines, lines-2), "1 object held")
	if strings.Contains(p.out.String(), "before") {
		t.Errorf("an object of the start was shown, which was not asked for:\n%s", p.out)
	}
	if strings.Contains(p.out.String()+p.notes.String(), "\x1b") {
		t.Errorf("colours, though this is no terminal:\n%q%q", p.out, p.notes)
	}
}

func TestWatchInitial(t *testing.T) {
	s := newServer(t)
	s.createPod(t, "before")
	p := s.watch(t, "pods", "--initial")
	p.out.Await(t, "added", "default/before", "Pending")
	p.interrupt(t)
	p.notes.Await(t, "0 events")
}

// jsonLine is what a program reads of a line of JSON.
type jsonLine struct {
	Kind, Key, Resource, ResourceVersion string
	Initial                              bool
	Changes                              []struct {
		Path, Op string
		Old, New any
	}
	Object map[string]any
}

func parse(t *testing.T, line string) jsonLine {
	t.Helper()
	var j jsonLine
	d := json.NewDecoder(strings.NewReader(line))
	if err := d.Decode(&j); err != nil {
		t.Fatalf("%q is no JSON: %v", line, err)
	}
	return j
}

func TestWatchJSON(t *testing.T) {
	s := newServer(t)
	s.createPod(t, "web-0")
	p := s.watch(t, "pods", "-o", "json", "--initial")
	if j := parse(t, p.out.Await(t, `"added"`)); !j.Initial || j.Key != "default/web-0" || j.Object != nil {
		t.Errorf("the first object: got %+v", j)
	}
	pod := must(s.client.CoreV1().Pods("default").Patch(t.Context(), "web-0", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}))(t)
	j := parse(t, p.out.Await(t, `"updated"`))
	if j.Kind != "updated" || j.Resource != "pods" || j.ResourceVersion != pod.ResourceVersion || j.Initial {
		t.Errorf("got %+v, want an update of pods to version %s", j, pod.ResourceVersion)
	}
	if len(j.Changes) != 1 || j.Changes[0].Path != "metadata.labels" || j.Changes[0].Op != "added" {
		t.Errorf("got the changes %+v, want metadata.labels added", j.Changes)
	}
	p.interrupt(t)
	for line := range strings.Lines(p.out.String()) {
		parse(t, line)
	}
}

func TestWatchFullObjects(t *testing.T) {
	s := newServer(t)
	p := s.watch(t, "pods", "-o", "json", "--full")
	s.createPod(t, "web-0")
	j := parse(t, p.out.Await(t, `"added"`))
	if j.Object["kind"] != "Pod" || j.Object["spec"] == nil {
		t.Errorf("got the object %v, want the whole pod", j.Object)
	}
}

func TestWatchSelectsAndNames(t *testing.T) {
	s := newServer(t)
	must(s.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}))(t)
	label := func(ns, name string, labels map[string]string) {
		must(s.client.CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
		}, metav1.CreateOptions{}))(t)
	}
	label("default", "a", map[string]string{"app": "web"})
	label("default", "b", nil)
	label("shop", "c", map[string]string{"app": "web"})
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"the namespace of the context", []string{"configmaps"}, "default/a default/b"},
		{"another namespace", []string{"configmaps", "-n", "shop"}, "shop/c"},
		{"all namespaces", []string{"configmaps", "-A"}, "default/a default/b shop/c"},
		{"labels", []string{"configmaps", "-A", "-l", "app=web"}, "default/a shop/c"},
		{"fields", []string{"configmaps", "-A", "--field-selector", "metadata.name=b"}, "default/b"},
		{"a short name", []string{"cm"}, "default/a default/b"},
		{"one object", []string{"configmap/b"}, "default/b"},
		{"without a namespace", []string{"namespaces", "--field-selector", "metadata.name=shop", "-n", "shop"}, "shop"},
		{"the group", []string{"deployments.apps,cm"}, "default/a default/b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"watch", "--kubeconfig", s.kubeconfig, "--initial", "-o", "json"}, tt.args...)
			p := start(t, args...)
			for key := range strings.FieldsSeq(tt.want) {
				p.out.Await(t, `"`+key+`"`)
			}
			p.interrupt(t)
			if got, want := strings.Count(p.out.String(), "\n"), len(strings.Fields(tt.want)); got != want {
				t.Errorf("%d objects, want %d:\n%s", got, want, p.out)
			}
		})
	}
}

func TestUnknownResourceNamesTheNearOnes(t *testing.T) {
	s := newServer(t)
	tests := []struct{ word, want string }{
		{"pod5", `kinform: no resource "pod5"; did you mean pods?`},
		{"deploymnets", `no resource "deploymnets"; did you mean deployments?`},
		{"frobnicators", `no resource "frobnicators"` + "\n  kubectl api-resources"},
	}
	for _, tt := range tests {
		code, out, notes := run(t, "watch", "--kubeconfig", s.kubeconfig, tt.word)
		if code != 1 || out != "" || !strings.Contains(notes, tt.want) || strings.Contains(notes, "Usage") {
			t.Errorf("%s: exit code %d, said %q, want 1 and %q", tt.word, code, notes, tt.want)
		}
	}
}

func TestForbiddenResourceIsLeftOut(t *testing.T) {
	s := newServer(t)
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "secrets"}, Status: http.StatusForbidden})
	p := start(t, "watch", "--kubeconfig", s.kubeconfig, "secrets,pods")
	p.notes.Await(t, "cannot watch secrets in namespace default: ")
	p.notes.Await(t, "watching pods")
	s.createPod(t, "web-0")
	p.out.Await(t, "added", "default/web-0")
	if code := p.interrupt(t); code != 0 {
		t.Errorf("exit code %d, want 0: pods worked", code)
	}
	p.notes.Await(t, "1 event (1 added", "never synced: secrets")
}

func TestEverythingForbidden(t *testing.T) {
	s := newServer(t)
	s.Inject(apisim.Fault{Match: apisim.Match{Group: "core", Verb: "list"}, Status: http.StatusForbidden})
	code, out, notes := run(t, "watch", "--kubeconfig", s.kubeconfig, "secrets,pods")
	if code != 1 || out != "" {
		t.Errorf("exit code %d, output %q, want 1 and nothing", code, out)
	}
	for _, want := range []string{"cannot watch secrets", "cannot watch pods", "ask the cluster's administrator", "nothing else is left"} {
		if !strings.Contains(notes, want) {
			t.Errorf("it does not say %q, but\n%s", want, notes)
		}
	}
}

func TestServerIsLostAndFound(t *testing.T) {
	s := newServer(t)
	p := s.watch(t, "pods")
	s.createPod(t, "first") // hearing of it shows that the watch is open, and can be lost
	http.DefaultClient.CloseIdleConnections()
	p.out.Await(t, "added", "default/first")
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods", Verb: "list"}, Status: http.StatusServiceUnavailable, Times: 1})
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods", Verb: "watch"}, Status: http.StatusServiceUnavailable, Times: 1})
	s.Restart()
	p.notes.Await(t, "pods in namespace default: ", "; trying again")
	s.createPod(t, "web-0")
	p.notes.Await(t, "pods in namespace default: in touch with the server again")
	p.out.Await(t, "added", "default/web-0")
}

func TestTimeIsUp(t *testing.T) {
	s := newServer(t)
	p := s.watch(t, "pods")
	if code := p.timeIsUp(t); code != 0 || !strings.Contains(p.notes.String(), "0 events") {
		t.Errorf("exit code %d, said %q, want 0 and a summary", code, p.notes)
	}
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods"}, Status: http.StatusInternalServerError})
	code, _, notes := run(t, "watch", "--kubeconfig", s.kubeconfig, "pods", "--for", "3s")
	if code != 1 || !strings.Contains(notes, "kinform: cannot watch pods in namespace default: ") {
		t.Errorf("exit code %d, said %q, want 1 and the cause", code, notes)
	}
}

// brokenPipe cannot be written to.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	s := newServer(t)
	s.createPod(t, "web-0")
	for _, args := range [][]string{
		{"watch", "--kubeconfig", s.kubeconfig, "pods", "--initial"},
		{"demo", "--objects", "50", "--initial"},
	} {
		p := &program{notes: console.New()}
		p.begin(t, func(ctx context.Context) int { return Main(ctx, args, brokenPipe{}, p.notes) })
		if code := p.ended(t); code != 1 {
			t.Errorf("%s: exit code %d, want 1", args[0], code)
		}
		p.notes.Await(t, "kinform: cannot write the output: broken pipe")
	}
}

func TestProgressWhileSyncing(t *testing.T) {
	s := newServer(t)
	hang := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods", Verb: "list"}, Hang: true})
	defer hang()
	p := startWithProgress(t, "watch", "--kubeconfig", s.kubeconfig, "pods,nodes")
	p.notes.Await(t, "watching nodes: 0 objects")
	p.notes.AwaitText(t, "syncing pods 0 objects, 0 B")
	p.interrupt(t)
	if !strings.Contains(p.notes.String(), eraseLine+"0 events") {
		t.Errorf("the progress line is not gone before the summary: %q", p.notes)
	}
}
