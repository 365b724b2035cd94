package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kinform/kinform/apisim"
)

// pageURL is the address that a program says its page has.
func pageURL(t *testing.T, p *program, before string) string {
	t.Helper()
	line := p.notes.Await(t, before)
	_, url, _ := strings.Cut(line, before)
	return strings.TrimSpace(url)
}

// fetch gets a page, with a bearer token if there is one.
func fetch(t *testing.T, url, token string) (int, string) {
	t.Helper()
	request := must(http.NewRequest(http.MethodGet, url, nil))(t)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer := must(client.Do(request))(t)
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode, string(must(io.ReadAll(answer.Body))(t))
}

func TestServe(t *testing.T) {
	s := newServer(t)
	s.createPod(t, "web-0")
	p := start(t, "serve", "pods,nodes", "--kubeconfig", s.kubeconfig, "--address", "127.0.0.1:0")
	url := pageURL(t, p, "The page is at ")
	p.notes.Await(t, "watching pods in namespace default: 1 object")
	code, text := fetch(t, url+"overview.json", "")
	var overview struct {
		Informers []struct {
			Name    string
			Objects int
		}
	}
	if err := json.Unmarshal([]byte(text), &overview); code != 200 || err != nil || len(overview.Informers) != 2 {
		t.Fatalf("%d, %v:\n%s", code, err, text)
	}
	if pods := overview.Informers[0]; pods.Name != "pods in namespace default" || pods.Objects != 1 {
		t.Errorf("got %v", pods)
	}
	if code, text := fetch(t, url+"object.yaml?i=pods+in+namespace+default&key=default/web-0", ""); code != 200 || !strings.Contains(text, "image: nginx:1.25") {
		t.Errorf("the pod: %d\n%s", code, text)
	}
	if code := p.interrupt(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p.notes.Await(t, "served for ")
}

// TestServeWithAToken: whoever has it may look, and nobody else.
func TestServeWithAToken(t *testing.T) {
	s := newServer(t)
	const token = "a-token-of-some-length"
	p := start(t, "serve", "pods", "--kubeconfig", s.kubeconfig, "--address", "0.0.0.0:0", "--token-file", write(t, token+"\n"))
	url := pageURL(t, p, "The page is at ")
	url = strings.Replace(strings.Replace(url, "[::]", "127.0.0.1", 1), "0.0.0.0", "127.0.0.1", 1)
	p.notes.Await(t, "Open it once with ?token=")
	if code, _ := fetch(t, url, ""); code != http.StatusUnauthorized {
		t.Errorf("without the token: %d, want 401", code)
	}
	if code, _ := fetch(t, url, token); code != http.StatusOK {
		t.Errorf("with the token: %d, want 200", code)
	}
	if text := p.notes.String(); strings.Contains(text, token) {
		t.Errorf("it tells the token:\n%s", text)
	}
	p.interrupt(t)
}

// TestServeShowsWhatFails: what is refused is on the page, and does not end the program.
func TestServeShowsWhatFails(t *testing.T) {
	s := newServer(t)
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "pods"}, Status: http.StatusForbidden})
	p := start(t, "serve", "pods", "--kubeconfig", s.kubeconfig, "--address", "127.0.0.1:0")
	url := pageURL(t, p, "The page is at ")
	p.notes.Await(t, "trying again")
	if _, text := fetch(t, url+"overview.json", ""); !strings.Contains(text, `"reason": "forbidden"`) {
		t.Errorf("the page does not say so:\n%s", text)
	}
	if code := p.interrupt(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

func TestServeRefusesToBeSeen(t *testing.T) {
	s := newServer(t)
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:80", "example.com:80"} {
		code, _, notes := run(t, "serve", "pods", "--kubeconfig", s.kubeconfig, "--address", address)
		if code != exitUsage || !strings.Contains(notes, "give --token-file") {
			t.Errorf("%s: exit code %d, said %q", address, code, notes)
		}
	}
	for name, file := range map[string]string{"has 5 characters": write(t, "short"), "no such file": filepath.Join(t.TempDir(), "none")} {
		code, _, notes := run(t, "serve", "pods", "--kubeconfig", s.kubeconfig, "--address", ":0", "--token-file", file)
		if code != exitBad || !strings.Contains(notes, name) {
			t.Errorf("%s: exit code %d, said %q", file, code, notes)
		}
	}
	code, _, notes := run(t, "serve", "pods", "--kubeconfig", s.kubeconfig, "--address", strings.TrimPrefix(s.URL(), "http://"))
	if code != exitBad || !strings.Contains(notes, "cannot serve the page at") {
		t.Errorf("where somebody listens: exit code %d, said %q", code, notes)
	}
}

func TestDemoHasAPage(t *testing.T) {
	p := start(t, "demo", "--objects", "50", "--rate", "50")
	url := pageURL(t, p, "or in a browser: ")
	p.notes.Await(t, "watching nodes: 3 objects")
	if code, text := fetch(t, url, ""); code != 200 || !strings.Contains(text, "statefulsets") {
		t.Errorf("the page: %d\n%s", code, text)
	}
	if code := p.interrupt(t); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	p = start(t, "demo", "--objects", "50", "--page", "off")
	p.notes.Await(t, "watching nodes: 3 objects")
	if code := p.interrupt(t); code != 0 || strings.Contains(p.notes.String(), "browser") {
		t.Errorf("without a page: exit code %d, said\n%s", code, p.notes)
	}
}
