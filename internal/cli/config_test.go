package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinform/kinform/apisim"
)

// alone hides what the machine has of configurations.
func alone(t *testing.T) {
	t.Setenv("KUBECONFIG", "")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBERNETES_SERVICE_PORT", "")
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const twoContexts = `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts:
- {name: production, context: {cluster: c, user: ""}}
- {name: staging, context: {cluster: gone, user: ""}}
current-context: production
`

func TestConfigurationProblems(t *testing.T) {
	alone(t)
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"nothing at all", nil, []string{"no cluster to talk to: this is no pod, KUBECONFIG is not set", "kinform demo"}},
		{"no such file", []string{"--kubeconfig", "/no/such/file"}, []string{"cannot read the kubeconfig /no/such/file: no such file", "check the path"}},
		{"no YAML", []string{"--kubeconfig", write(t, "a: [")}, []string{"cannot be understood: yaml: line 1", "kubectl config view"}},
		{"empty", []string{"--kubeconfig", write(t, "")}, []string{"is empty"}},
		{"unknown context", []string{"--kubeconfig", write(t, twoContexts), "--context", "prodution"},
			[]string{`no context "prodution"`, `it has "production", "staging"`, "did you mean --context production?"}},
		{"a context without a cluster", []string{"--kubeconfig", write(t, twoContexts), "--context", "staging"},
			[]string{`the context "staging" in `, `it names the cluster "gone", which does not exist`}},
		{"no context chosen", []string{"--kubeconfig", write(t, strings.Replace(twoContexts, "current-context: production", "", 1))},
			[]string{"no context is chosen", "choose one with --context"}},
		{"refused", []string{"--kubeconfig", write(t, twoContexts)},
			[]string{"cannot talk to http://127.0.0.1:1: connection refused", "check that http://127.0.0.1:1 is the right address (from "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out, notes := run(t, append([]string{"watch", "pods"}, tt.args...)...)
			if code != 1 || out != "" {
				t.Errorf("exit code %d, output %q, want 1 and nothing", code, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(notes, want) {
					t.Errorf("it does not say %q, but\n%s", want, notes)
				}
			}
			if strings.Contains(notes, "Usage") || strings.Count(strings.TrimSpace(notes), "\n") > 1 {
				t.Errorf("it says too much:\n%s", notes)
			}
		})
	}
}

// TestConfigurationOrder gives the program several configurations at once, each
// of which leads elsewhere, and looks where it went.
func TestConfigurationOrder(t *testing.T) {
	alone(t)
	s := newServer(t)
	elsewhere := write(t, twoContexts)
	home := filepath.Join(t.TempDir(), ".kube", "config")
	if err := os.MkdirAll(filepath.Dir(home), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := writeKubeconfig(home, s.URL()); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want string // what it says; "": it works
	}{
		{"the home directory", map[string]string{"HOME": filepath.Dir(filepath.Dir(home))}, nil, ""},
		{"KUBECONFIG", map[string]string{"KUBECONFIG": s.kubeconfig}, nil, ""},
		{"KUBECONFIG before the home directory",
			map[string]string{"HOME": filepath.Dir(filepath.Dir(home)), "KUBECONFIG": elsewhere}, nil, "127.0.0.1:1"},
		{"the flag before KUBECONFIG",
			map[string]string{"KUBECONFIG": elsewhere}, []string{"--kubeconfig", s.kubeconfig}, ""},
		{"the pod before KUBECONFIG",
			map[string]string{"KUBECONFIG": s.kubeconfig, "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
			nil, "this looks like a pod"},
		{"the flag before the pod",
			map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
			[]string{"--kubeconfig", s.kubeconfig}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			p := start(t, append([]string{"watch", "pods"}, tt.args...)...)
			if tt.want == "" {
				p.notes.Await(t, "watching pods")
				return
			}
			p.notes.Await(t, tt.want)
			if code := p.ended(t); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
		})
	}
}

func TestServerThatIsGone(t *testing.T) {
	alone(t)
	api, err := apisim.Start(apisim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if _, err := writeKubeconfig(path, api.URL()); err != nil {
		t.Fatal(err)
	}
	if err := api.Close(); err != nil {
		t.Fatal(err)
	}
	code, _, notes := run(t, "watch", "pods", "--kubeconfig", path)
	if code != 1 || !strings.Contains(notes, "connection refused") {
		t.Errorf("exit code %d, said %q, want 1 and connection refused", code, notes)
	}
}
