package kinform_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

// TestSecretsAreNotTold: however a Secret is spoilt on its way, nothing of its
// values gets into the log, the status or an error.
func TestSecretsAreNotTold(t *testing.T) {
	const value = `"aHVudGVyMg=="`
	for name, edit := range map[string]func(string) string{
		"no base64":          func(s string) string { return strings.Replace(s, value, `"hunter2, as it is"`, 1) },
		"a number":           func(s string) string { return strings.Replace(s, value, `6811711710116101`, 1) },
		"an object":          func(s string) string { return strings.Replace(s, value, `{"hunter2":"hunter2"}`, 1) },
		"data is a string":   func(s string) string { return strings.Replace(s, `{"password":`+value+`}`, `"hunter2"`, 1) },
		"a bool is a string": func(s string) string { return strings.Replace(s, `"data":`, `"immutable":"hunter2","data":`, 1) },
		"metadata is the value": func(s string) string {
			return strings.Replace(s, `"metadata":{"name"`, `"metadata":"hunter2","x":{"name"`, 1)
		},
		"labels are the value": func(s string) string {
			return strings.Replace(s, `"metadata":{"name"`, `"metadata":{"labels":"hunter2","name"`, 1)
		},
		"a time is the value": func(s string) string {
			return strings.Replace(s, `"metadata":{"name"`, `"metadata":{"deletionTimestamp":"hunter2","name"`, 1)
		},
		"no JSON from there on":   func(s string) string { return strings.Replace(s, value, `hunter2`, 1) },
		"cut in the value":        func(s string) string { return s[:strings.Index(s, value)+8] },
		"only the value":          func(string) string { return "hunter2 hunter2 hunter2 hunter2" },
		"only the value, as JSON": func(string) string { return `"hunter2 hunter2"` },
		"a key with a control":    func(s string) string { return strings.Replace(s, `"password"`, "\"hunter2\x01\"", 1) },
		"base64 alone":            func(string) string { return "aHVudGVyMg==aHVudGVyMg==" },
		"the value for a kind": func(s string) string {
			return strings.Replace(s, `"kind":"SecretList"`, `"kind":"SecretList","items":"hunter2","k":""`, 1)
		},
	} {
		for _, where := range []string{"list", "watch"} {
			t.Run(where+", "+name, func(t *testing.T) {
				t.Parallel()
				s := startSim(t, apisim.Options{})
				var log journal
				cfg := s.Config()
				var edited atomic.Int32
				cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
					return tampered{rt, func(r *http.Request, resp *http.Response) {
						if isWatch(r) != (where == "watch") || resp.StatusCode != 200 {
							return
						}
						if where == "list" {
							raw, _ := io.ReadAll(resp.Body)
							text := string(raw)
							if strings.Contains(text, value) {
								edited.Add(1)
								text = edit(text)
							}
							body(resp, text)
							return
						}
						if edited.Add(1) == 1 {
							body(resp, edit(`{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"b","namespace":"default","uid":"u","resourceVersion":"1000000"},"data":{"password":`+value+`}}}`+"\n"))
						}
					}}
				})
				inf := newInformer[*corev1.Secret](t, cfg, kinform.Options{JSON: true, Logger: log.logger(), Namespaces: []string{"default"}})
				if _, err := inf.AddIndex("type", func(s *corev1.Secret) []string { return []string{string(s.Type)} }); err != nil {
					t.Fatal(err)
				}
				create(t, client(t, s), core("secrets"), "default", object("v1", "Secret", "a", map[string]any{
					"data": map[string]any{"password": "aHVudGVyMg=="}}))
				inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Secret]) { _, _ = ev.New() }, kinform.SubscribeOptions{})
				running(t, inf)
				// Something is to be seen of it, or the decoder takes it, which is as good.
				eventually(t, "the fault", func() bool {
					st := inf.Status()
					return edited.Load() > 0 && (len(log.lines()) > 0 || st.Rejected > 0 || st.State() == kinform.StateWatching)
				})
				over, cancel := context.WithCancel(context.Background())
				cancel()
				st := inf.Status()
				texts := append(log.lines(), st.String(), fmt.Sprintf("%+v", st), fmt.Sprint(inf.WaitSynced(over)))
				for _, key := range []string{"default/a", "default/b"} {
					_, err := inf.Lister().Get(key)
					texts = append(texts, fmt.Sprint(err))
				}
				wantNoSecret(t, "hunter", texts...)
				wantNoSecret(t, "68117117", texts...)
			})
		}
	}
}

// TestPanicsAboutSecretsAreNotTold: what a handler, a filter or an index function panics
// with over a Secret is in no log, status or trace. The program's own OnPanic gets it.
func TestPanicsAboutSecretsAreNotTold(t *testing.T) {
	s := startSim(t, apisim.Options{})
	create(t, client(t, s), core("secrets"), "default", object("v1", "Secret", "a", map[string]any{
		"data": map[string]any{"password": "aHVudGVyMg=="}}))
	var log journal
	var traced panicsTraced
	inf := newInformer[*corev1.Secret](t, s.Config(), kinform.Options{Logger: log.logger(), Namespaces: []string{"default"}, Tracer: &traced})
	quoting := func(_ context.Context, ev kinform.Event[*corev1.Secret]) {
		secret, _ := ev.New()
		panic("handled " + string(secret.Data["password"]))
	}
	logged := inf.Subscribe(quoting, kinform.SubscribeOptions{})
	given := make(chan any, 10)
	told := inf.Subscribe(quoting, kinform.SubscribeOptions{OnPanic: func(_ string, value any, stack []byte) {
		given <- value
		given <- string(stack)
	}})
	running(t, inf)
	if err := errors.Join(logged.WaitSynced(within(t)), told.WaitSynced(within(t))); err != nil {
		t.Fatal(err)
	}
	if value, stack := <-given, (<-given).(string); value != "handled hunter2" || !strings.Contains(stack, "TestPanicsAboutSecretsAreNotTold") {
		t.Errorf("OnPanic got %v at %s", value, stack)
	}
	if _, err := inf.AddIndex("it", func(s *corev1.Secret) []string { panic("indexed " + string(s.Data["password"])) }); err == nil {
		eventually(t, "a rejection", func() bool { return inf.Status().Rejected > 0 })
	} else {
		wantNoSecret(t, "hunter", err.Error())
	}
	lines := log.lines()
	wantNoSecret(t, "hunter", append(lines, fmt.Sprintf("%+v", inf.Status()), traced.text())...)
	if !strings.Contains(strings.Join(lines, "\n"), "withheld") || !strings.Contains(traced.text(), "withheld") {
		t.Errorf("nothing is said to be withheld: %q, %q", lines, traced.text())
	}
}

// panicsTraced is a tracer that keeps the panics.
type panicsTraced struct {
	mu  sync.Mutex
	all string
}

func (p *panicsTraced) Start(ctx context.Context, _ kinform.Delivery) (context.Context, func(any)) {
	return ctx, func(panicked any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.all += fmt.Sprintf("%v %+v ", panicked, panicked)
	}
}

func (p *panicsTraced) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all
}

// TestCertificatesAreVerified, unless the configuration says that they need not be.
func TestCertificatesAreVerified(t *testing.T) {
	s := startSim(t, apisim.Options{TLS: true})
	for name, c := range map[string]struct {
		edit func(*rest.Config)
		ok   bool
	}{
		"the right CA":   {func(*rest.Config) {}, true},
		"no CA":          {func(c *rest.Config) { c.CAData = nil }, false},
		"another name":   {func(c *rest.Config) { c.ServerName = "elsewhere.example.com" }, false},
		"told otherwise": {func(c *rest.Config) { c.CAData, c.Insecure = nil, true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := s.Config()
			c.edit(cfg)
			inf := newInformer[*corev1.ConfigMap](t, cfg, kinform.Options{})
			running(t, inf)
			if c.ok {
				if err := inf.WaitSynced(within(t)); err != nil {
					t.Error(err)
				}
				return
			}
			eventually(t, "failures", func() bool { return inf.Status().Sources[0].Attempts > 2 })
			if st := inf.Status(); st.Reason() != kinform.ReasonTLS || st.Synced {
				t.Errorf("Status says %v, want a failure of TLS", st)
			}
		})
	}
}

// TestRotatedTokenIsReadAgain: a token file that was written again is used within
// the minute for which client-go keeps what it read.
func TestRotatedTokenIsReadAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the minute for which client-go keeps a token: left out by -short")
	}
	t.Parallel()
	s := startSim(t, apisim.Options{})
	file := filepath.Join(t.TempDir(), "token")
	var valid atomic.Value
	rotate := func(token string) {
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		valid.Store("Bearer " + token)
	}
	rotate("first")
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps", Func: func(r *http.Request) bool {
		return r.Header.Get("Authorization") != valid.Load()
	}}, Status: http.StatusUnauthorized})
	cfg := s.Config()
	cfg.BearerTokenFile = file
	var log journal
	inf := newInformer[*corev1.ConfigMap](t, cfg, kinform.Options{Logger: log.logger()})
	running(t, inf)
	if err := inf.WaitSynced(within(t)); err != nil {
		t.Fatal(err)
	}
	rotate("second")
	restart(s)
	eventually(t, "the old token's refusal", func() bool { return log.count("unauthorized") > 0 })
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(90 * time.Second); inf.Status().Cause() != nil || inf.Status().State() != kinform.StateWatching; <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("the new token is not used after 90 s: %v", inf.Status())
		}
	}
	for _, line := range append(log.lines(), inf.Status().String()) {
		if strings.Contains(line, "first") || strings.Contains(line, "second") {
			t.Errorf("a token is told: %s", line)
		}
	}
}

// TestEndlessErrorIsNotRead: an error answer without an end takes neither memory
// nor time, and does not fill the log.
func TestEndlessErrorIsNotRead(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","message":"`)
		for sent.Load() < 1<<30 {
			n, err := io.WriteString(w, strings.Repeat("no ", 10_000))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer server.Close()
	var log journal
	inf := newInformer[*corev1.ConfigMap](t, &rest.Config{Host: server.URL}, kinform.Options{Logger: log.logger()})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	running(t, inf)
	eventually(t, "failures", func() bool { return inf.Status().Sources[0].Attempts > 2 })
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 32<<20 {
		t.Errorf("%d bytes were taken to read three errors", grown)
	}
	if st := inf.Status(); st.Reason() != kinform.ReasonServerError || len(st.String()) > 16<<10 {
		t.Errorf("Status says %.300s (%d bytes), want a short one of a server error", st, len(st.String()))
	}
	for _, line := range log.lines() {
		if len(line) > 16<<10 {
			t.Errorf("a line of %d bytes is logged", len(line))
		}
	}
}

// TestLongErrorEventIsCut: what a server says in a watch is kept and logged only so
// far.
func TestLongErrorEventIsCut(t *testing.T) {
	s := startSim(t, apisim.Options{})
	cfg := s.Config()
	var done atomic.Bool
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return tampered{rt, func(r *http.Request, resp *http.Response) {
			if isWatch(r) && !done.Swap(true) {
				body(resp, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","code":500,"message":"`+strings.Repeat("no ", 1<<20)+`"}}`+"\n")
			}
		}}
	})
	var log journal
	inf := newInformer[*corev1.ConfigMap](t, cfg, kinform.Options{JSON: true, Logger: log.logger(), Backoff: kinform.Backoff{First: soon}})
	running(t, inf)
	eventually(t, "the failure", func() bool { return inf.Status().Cause() != nil && len(log.lines()) > 0 })
	if n, m := len(inf.Status().Cause().Error()), len(log.lines()[0]); n > 16<<10 || m > 20<<10 {
		t.Errorf("the cause has %d bytes, the line in the log %d", n, m)
	}
}
