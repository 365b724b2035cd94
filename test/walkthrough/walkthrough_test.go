package walkthrough

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kinform/kinform/apisim"
)

// swapped are the import paths that change, and all that does.
var swapped = map[string]string{
	`"k8s.io/client-go/informers"`:   `"github.com/kinform/kinform/informers"`,
	`"k8s.io/client-go/tools/cache"`: `"github.com/kinform/kinform/cache"`,
}

const source = "program/main.go"

// build compiles the program as it is and with the paths swapped.
func build(t *testing.T) (theirs, ours string) {
	t.Helper()
	dir := t.TempDir()
	original, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	program := original
	for from, to := range swapped {
		if bytes.Count(program, []byte(from)) != 1 {
			t.Fatalf("%s does not import %s", source, from)
		}
		program = bytes.ReplaceAll(program, []byte(from), []byte(to))
	}
	swappedSource := filepath.Join(dir, "main.go")
	if err := os.WriteFile(swappedSource, program, 0o600); err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(source)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{path: swappedSource}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	theirs, ours = filepath.Join(dir, "theirs"), filepath.Join(dir, "ours")
	goBuild(t, "-o", theirs, "./program")
	goBuild(t, "-o", ours, "-overlay", overlayFile, "./program")
	return theirs, ours
}

func goBuild(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// process is a program that runs. Its lines come one by one.
type process struct {
	name  string
	cmd   *exec.Cmd
	lines chan string
	said  []string
}

// start runs a program that finds the server by a kubeconfig file in a home directory, or
// that it is told of.
func start(t *testing.T, name, program, home string, args ...string) *process {
	t.Helper()
	p := &process{name: name, cmd: exec.CommandContext(t.Context(), program, args...), lines: make(chan string)}
	p.cmd.Env = append(os.Environ(), "HOME="+home, "KUBERNETES_SERVICE_HOST=")
	p.cmd.Stderr = t.Output()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(t.Context(), out)
	return p
}

func (p *process) read(ctx context.Context, out io.Reader) {
	defer close(p.lines)
	for s := bufio.NewScanner(out); s.Scan(); {
		select {
		case p.lines <- s.Text():
		case <-ctx.Done():
			return
		}
	}
}

// until waits for a line that has a text in it.
func (p *process) until(t *testing.T, text string) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				t.Fatalf("%s ended without %q, after\n%s", p.name, text, strings.Join(p.said, "\n"))
			}
			p.said = append(p.said, line)
			if strings.Contains(line, text) {
				return
			}
		case <-late:
			t.Fatalf("%s does not say %q, only\n%s", p.name, text, strings.Join(p.said, "\n"))
		}
	}
}

// end stops the program as a cluster would.
func (p *process) end(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until(t, "stopped")
	for line := range p.lines {
		p.said = append(p.said, line)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%s: %v", p.name, err)
	}
}

var times = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\S+ `)

// told returns what was printed, the times masked. Handlers print while the main
// function does, and the initial list has no order: both are set apart.
func (p *process) told() string {
	var initial, events, main []string
	for _, line := range p.said {
		switch masked := times.ReplaceAllString(line, "TIME "); {
		case strings.HasSuffix(masked, " initial=true"):
			initial = append(initial, masked)
		case masked != line:
			events = append(events, masked)
		default:
			main = append(main, line)
		}
	}
	slices.Sort(initial)
	return strings.Join(slices.Concat(initial, events, main), "\n")
}

// world is a server with StatefulSets.
type world struct {
	t      *testing.T
	server *apisim.Server
	client *kubernetes.Clientset
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return &world{t, server, kubernetes.NewForConfigOrDie(server.Config())}
}

// kubeconfig writes the file that leads to the server, and returns the home directory.
func (w *world) kubeconfig() string {
	w.t.Helper()
	home := w.t.TempDir()
	config := clientcmdapi.NewConfig()
	config.Clusters["sim"] = &clientcmdapi.Cluster{Server: w.server.URL()}
	config.Contexts["sim"] = &clientcmdapi.Context{Cluster: "sim"}
	config.CurrentContext = "sim"
	if err := clientcmd.WriteToFile(*config, filepath.Join(home, ".kube", "config")); err != nil {
		w.t.Fatal(err)
	}
	return home
}

func (w *world) create(namespace, name string, replicas int32, labels ...string) {
	w.t.Helper()
	set := statefulSet(namespace, name, replicas, labels...)
	if _, err := w.client.AppsV1().StatefulSets(namespace).Create(w.t.Context(), set, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) scale(name string, replicas int32) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
	if _, err := w.client.AppsV1().StatefulSets("default").Patch(w.t.Context(), name, "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(name string) {
	w.t.Helper()
	if err := w.client.AppsV1().StatefulSets("default").Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func statefulSet(namespace, name string, replicas int32, labels ...string) *appsv1.StatefulSet {
	app := map[string]string{"app": name}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}}
	for _, l := range labels {
		set.Labels[l] = ""
	}
	set.Spec.Replicas = &replicas
	set.Spec.Selector = &metav1.LabelSelector{MatchLabels: app}
	set.Spec.Template.Labels = app
	set.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.org/" + name}}
	return set
}

// TestSameProgramSaysTheSame: only the import path is changed.
func TestSameProgramSaysTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and links two programs: left out by -short")
	}
	theirs, ours := build(t)
	for _, how := range []string{"in the home directory", "by --kubeconfig"} {
		t.Run("configured "+how, func(t *testing.T) {
			w := newWorld(t)
			w.create("default", "web", 3)
			w.create("default", "db", 1)
			w.create("default", "secret", 1, "hidden")
			w.create("kube-system", "cache", 2)
			home, args := w.kubeconfig(), []string(nil)
			if how == "by --kubeconfig" {
				home, args = t.TempDir(), []string{"--kubeconfig=" + filepath.Join(home, ".kube", "config")}
			}
			programs := []*process{start(t, "client-go", theirs, home, args...), start(t, "kinform", ours, home, args...)}
			both := func(text string) {
				t.Helper()
				for _, p := range programs {
					p.until(t, text)
				}
			}
			both("get none:")
			w.create("default", "late", 1)
			both("add default/late")
			w.scale("web", 5)
			w.scale("web", 7)
			both("7 replicas")
			w.delete("db")
			both("delete default/db")
			w.delete("web")
			w.create("default", "last", 2)
			both("add default/last")
			for _, p := range programs {
				p.end(t)
			}
			if diff := cmp.Diff(programs[0].told(), programs[1].told()); diff != "" {
				t.Errorf("client-go (-) and kinform (+) say different things:\n%s", diff)
			}
			t.Logf("both say:\n%s", programs[0].told())
		})
	}
}
