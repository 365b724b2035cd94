package cli

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/describe"
	"github.com/kinform/kinform/internal/console"
)

func TestDumpShowsConfigurationAndState(t *testing.T) {
	s := newServer(t)
	s.createPod(t, "web-0")
	code, out, notes := run(t, "dump", "--kubeconfig", s.kubeconfig, "po,nodes", "-l", "app!=db")
	if code != 0 || notes != "" {
		t.Errorf("exit code %d, said %q", code, notes)
	}
	lines := strings.Split(out, "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	shown := strings.Join(lines, "\n") + "\n"
	for _, want := range []string{
		"pods with labels app!=db", "resource pods.v1", "namespaces default", "labels app!=db", "fields any", "encoding json", "list LIST, streamed",
		"silence at most 2m30s", "store 1 objects", "handlers none", "synced yes", "requests 1 lists, 1 watches",
		"nodes with labels app!=db", "namespaces all", "store 0 objects", "object type *unstructured.Unstructured",
	} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if n := strings.Count(shown, "state watching, since"); n != 2 {
		t.Errorf("%d informers watch, want 2:\n%s", n, out)
	}
}

func TestDumpAsJSON(t *testing.T) {
	s := newServer(t)
	code, out, notes := run(t, "dump", "--kubeconfig", s.kubeconfig, "deployments.apps/web", "-n", "shop", "-o", "json")
	var all []describe.Description
	if err := json.Unmarshal([]byte(out), &all); err != nil || code != 0 || notes != "" || len(all) != 1 {
		t.Fatalf("exit code %d, said %q, %v:\n%s", code, notes, err, out)
	}
	src := all[0].Source
	if src.Resource != "deployments.v1.apps" || src.FieldSelector != "metadata.name=web" || len(src.Namespaces) != 1 || src.Namespaces[0] != "shop" {
		t.Errorf("got %+v", src)
	}
	if st := all[0].Status; !st.Synced || st.Sources[0].State != "watching" {
		t.Errorf("got %+v", st)
	}
}

// TestDumpOfFailure: what keeps an informer is what one wants to see of it.
func TestDumpOfFailure(t *testing.T) {
	s := newServer(t)
	remove := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods"}, Status: http.StatusForbidden})
	code, out, notes := run(t, "dump", "--kubeconfig", s.kubeconfig, "pods,nodes")
	if code != 1 || !strings.Contains(notes, "kinform: cannot watch pods in namespace default: ") || !strings.Contains(notes, "ask the cluster's administrator") {
		t.Errorf("exit code %d, said %q", code, notes)
	}
	if !strings.Contains(out, "failing             forbidden, ") || !strings.Contains(out, "nodes") {
		t.Errorf("got\n%s", out)
	}
	remove()
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods"}, Status: http.StatusInternalServerError})
	code, out, notes = run(t, "dump", "--kubeconfig", s.kubeconfig, "pods", "--timeout", "3s")
	if code != 1 || !strings.Contains(notes, "cannot watch pods") || !strings.Contains(out, "failing             server-error, ") {
		t.Errorf("exit code %d, said %q, output\n%s", code, notes, out)
	}
}

// TestErrorsArePlain: what a server says about a failure neither moves the cursor nor makes
// lines of its own, in a dump or in a note.
func TestErrorsArePlain(t *testing.T) {
	s := newServer(t)
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods"}, Status: http.StatusForbidden, ContentType: "application/json",
		Body: `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no\u001b[2J\r\nway\u009b1m"}`})
	code, out, notes := run(t, "dump", "--kubeconfig", s.kubeconfig, "pods")
	if code != 1 || !strings.Contains(out, "no [2J way 1m") || !strings.Contains(notes, "no [2J  way 1m") {
		t.Errorf("exit code %d, said %q, output\n%s", code, notes, out)
	}
	for _, line := range strings.Split(out+notes, "\n") {
		if strings.ContainsFunc(line, unicode.IsControl) || strings.HasPrefix(line, "way") {
			t.Errorf("%q was written", line)
		}
	}
}

// TestNotesArePlain: notes may quote anything.
func TestNotesArePlain(t *testing.T) {
	notes := console.New()
	newScreen(console.New(), notes).note("cannot be read: a\x1b[2Jb\rc\n  look at \u009b1m")
	if got, want := notes.String(), "cannot be read: a [2Jb c\n  look at  1m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDumpOfAServerThatDoesNotAnswer(t *testing.T) {
	s := newServer(t)
	defer s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods"}, Hang: true})()
	code, out, notes := run(t, "dump", "--kubeconfig", s.kubeconfig, "pods", "--timeout", "3s")
	if code != 1 || !strings.Contains(notes, "nothing was read of pods in namespace default: "+s.URL()+" has not answered within --timeout 3s\n  check the way to") ||
		!strings.Contains(out, "state               listing") {
		t.Errorf("exit code %d, said %q, output\n%s", code, notes, out)
	}
}

func TestDumpShowsNothingOfSecrets(t *testing.T) {
	s := newServer(t)
	must(s.client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "login", Labels: map[string]string{"owner": "bob-the-user"}},
		Data:       map[string][]byte{"password": []byte("hunter2")},
	}, metav1.CreateOptions{}))(t)
	for _, format := range []string{"text", "json"} {
		code, out, notes := run(t, "dump", "--kubeconfig", s.kubeconfig, "secrets", "-o", format)
		if code != 0 || !strings.Contains(out, "secrets.v1") {
			t.Errorf("exit code %d, said %q, output\n%s", code, notes, out)
		}
		for _, value := range []string{"hunter2", base64.StdEncoding.EncodeToString([]byte("hunter2")), "bob-the-user", "login"} {
			if strings.Contains(out+notes, value) {
				t.Errorf("%q is shown:\n%s", value, out)
			}
		}
	}
}

func TestDumpUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"which resource? For example: kinform dump pods": {"dump"},
		"-o xml is not known: use text or json":          {"dump", "pods", "-o", "xml"},
		"--timeout 0s leaves no time":                    {"dump", "pods", "--timeout", "0s"},
		"-n and -A contradict each other":                {"dump", "pods", "-n", "a", "-A"},
	} {
		code, out, notes := run(t, args...)
		if code != exitUsage || out != "" || !strings.Contains(notes, want) {
			t.Errorf("%q: exit code %d, said %q, output %q", args, code, notes, out)
		}
	}
}
