package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform/internal/console"
	"github.com/kinform/kinform/internal/hot"
)

// TestTopFindsAHotLoop plants two managers that fight and one that rewrites a status in a
// loop into the living cluster of the demo.
func TestTopFindsAHotLoop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.yaml")
	demo := start(t, "demo", "--objects", "100", "--rate", "20", "--write-kubeconfig", path)
	demo.notes.Await(t, "kubectl --kubeconfig")
	srv := must((&connection{kubeconfig: path}).load())(t)
	srv.config.QPS = -1
	client := must(kubernetes.NewForConfig(srv.config))(t).AppsV1()
	all := must(client.Deployments(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{}))(t).Items
	fought, looped := all[0], all[1]

	p := startOnTerminal(t, 160, "top", "-A", "--kubeconfig", path)
	p.notes.Await(t, "watching deployments: ")
	patch := func(ctx context.Context, namespace, name, manager, body string, sub ...string) error {
		_, err := client.Deployments(namespace).Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: manager}, sub...)
		return err
	}
	var planted sync.WaitGroup
	planted.Go(func() {
		for i := range 40 {
			manager := []string{"scaler", "gitops"}[i%2]
			if err := patch(t.Context(), fought.Namespace, fought.Name, manager, fmt.Sprintf(`{"spec":{"minReadySeconds":%d}}`, 1+i%2)); err != nil {
				t.Error(err)
			}
		}
	})
	planted.Go(func() {
		for i := range 40 {
			if err := patch(t.Context(), looped.Namespace, looped.Name, "looper", fmt.Sprintf(`{"status":{"collisionCount":%d}}`, i), "status"); err != nil {
				t.Error(err)
			}
		}
	})
	planted.Wait()
	fight := fmt.Sprintf("deployments %s/%s: managers gitops and scaler change spec.minReadySeconds in turn, 39 times in ", fought.Namespace, fought.Name)
	loop := fmt.Sprintf("deployments %s/%s: manager looper changes status.collisionCount again and again, ", looped.Namespace, looped.Name)
	p.out.AwaitText(t, fight)
	p.out.AwaitText(t, loop)
	live := len(p.out.String())
	if code := p.interrupt(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	report := p.out.String()[live:]
	for _, want := range []string{fight, loop, "KIND", "NAMESPACE", "OBJECT", "MANAGER", "deployments " + fought.Namespace + "/" + fought.Name, "looper"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report has no %q:\n%s", want, report)
		}
	}
	p.notes.Await(t, "updated", "objects held")
	demo.interrupt(t)
}

// startOnTerminal runs kinform on a terminal of so many columns.
func startOnTerminal(t *testing.T, columns int, args ...string) *program {
	t.Helper()
	p := &program{out: console.New(), notes: console.New()}
	screen := newScreen(p.out, p.notes)
	screen.wide, screen.width, screen.height = true, func() int { return columns }, func() int { return 100 }
	p.begin(t, func(ctx context.Context) int { return execute(ctx, args, screen) })
	return p
}

// startWithProgress runs kinform with its notes on a terminal.
func startWithProgress(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{out: console.New(), notes: console.New()}
	screen := newScreen(p.out, p.notes)
	screen.live = true
	p.begin(t, func(ctx context.Context) int { return execute(ctx, args, screen) })
	return p
}

func TestTopAsJSON(t *testing.T) {
	s := newServer(t)
	p := start(t, "top", "pods,configmaps", "--kubeconfig", s.kubeconfig, "-o", "json", "--rows", "1")
	p.notes.Await(t, "watching pods")
	w := s.watch(t, "pods")
	for _, name := range []string{"a", "b"} {
		s.createPod(t, name)
	}
	w.out.Await(t, "default/b")
	p.interrupt(t)
	var r hot.Report
	if err := json.Unmarshal([]byte(p.out.String()), &r); err != nil {
		t.Fatalf("%v in\n%s", err, p.out)
	}
	if len(r.Objects) > 1 || r.Findings == nil || len(r.Findings) > 0 || r.Seconds <= 0 {
		t.Errorf("got %+v", r)
	}
	p.notes.Await(t, "added", "held")
}

func TestTopOfNothing(t *testing.T) {
	s := newServer(t)
	p := start(t, "top", "--kubeconfig", s.kubeconfig)
	p.notes.Await(t, "watching horizontalpodautoscalers")
	p.notes.Await(t, "watching deployments")
	if code := p.interrupt(t); code != 0 || p.out.String() != "nothing has changed\n" {
		t.Errorf("exit code %d, output %q", code, p.out)
	}
	p.notes.Await(t, "0 events")
	p = start(t, "top", "all", "--kubeconfig", s.kubeconfig)
	p.notes.Await(t, "watching secrets")
	p.notes.Await(t, "watching customresourcedefinitions")
	if code := p.interrupt(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestTopUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--by colour is not known: use kind, namespace, object or manager": {"top", "--by", "kind,colour"},
		"-o xml is not known: use table or json":                           {"top", "-o", "xml"},
		"--rows 0: there must be some":                                     {"top", "--rows", "0"},
		"--for -1s is in the past":                                         {"top", "--for", "-1s"},
	} {
		code, out, notes := run(t, args...)
		if code != exitUsage || out != "" || !strings.Contains(notes, want) {
			t.Errorf("%q: exit code %d, said %q, output %q", args, code, notes, out)
		}
	}
}

func TestTableFits(t *testing.T) {
	tab := &table{head: []string{"N", "OBJECT", "FIELDS"}}
	tab.numbers(1)
	tab.add("1", "pods shop/frontend-7c9d5f6b8-x2z4q", "status.phase, status.containerStatuses[web].restartCount")
	tab.add("1,000", "名前/名前", "a\tb\nc")
	want := "" +
		"    N  OBJECT                              FIELDS\n" +
		"    1  pods shop/frontend-7c9d5f6b8-x2z4q  status.phase, status.containerStatuses[web].restartCount\n" +
		"1,000  名前/名前                           a b c"
	if got := strings.Join(tab.lines(0), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for width := 1; width < 120; width++ {
		for _, line := range tab.lines(width) {
			if columns(line) > width {
				t.Errorf("%d columns on a terminal of %d: %q", columns(line), width, line)
			}
		}
	}
}
