package kinform_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

var update = flag.Bool("update", false, "write docs/faults.md again")

// stage is a server, and an informer that something happens to.
type stage struct {
	*testing.T
	server  *apisim.Server
	config  *rest.Config
	options kinform.Options
	log     journal
	inf     *kinform.Informer[*unstructured.Unstructured]
}

// fault is one row of docs/faults.md.
type fault struct {
	name string
	// first breaks something before the informer runs.
	first func(*stage)
	// later breaks something once it is in sync.
	later func(*stage)
	// seen tells when there is something to see. Default: a failure has been noted,
	// and is waited out.
	seen func(*stage, kinform.Status) bool
	// line is in the line of the log that counts, where there are others.
	line string
	// reason is what Status must give.
	reason kinform.Reason
	// does is what kinform does about it, user what its user can.
	does, user string
}

const (
	tries       = "tries again, after 0.8 s at first, 30 s at most"
	keepsServes = "keeps the store and serves it; "
	page        = "<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>"
)

// answers has requests answered with a code, from now on.
func answers(code int) func(*stage) {
	return func(s *stage) { s.server.Inject(apisim.Fault{Match: onConfigMaps, Status: code}) }
}

var onConfigMaps = apisim.Match{Resource: "configmaps", Func: func(r *http.Request) bool { return r.Method == http.MethodGet }}

var watches = apisim.Match{Resource: "configmaps", Verb: "watch"}

// change makes something happen that a watch has to tell of.
func (s *stage) change() {
	s.Helper()
	create(s, client(s, s.server), core("configmaps"), "default", configMap(fmt.Sprint("c", time.Now().UnixNano()), "x"))
}

// tampered edits answers on their way.
type tampered struct {
	http.RoundTripper
	edit func(*http.Request, *http.Response)
}

func (t tampered) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		t.edit(r, resp)
	}
	return resp, err
}

func (s *stage) tamper(edit func(*http.Request, *http.Response)) {
	s.config.Wrap(func(rt http.RoundTripper) http.RoundTripper { return tampered{rt, edit} })
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }

// body replaces what an answer holds.
func body(resp *http.Response, text string) {
	resp.Body.Close()
	resp.Header.Del("Content-Encoding")
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

// kept is an answer that never arrives.
type kept struct {
	io.ReadCloser
	ctx context.Context
}

func (k kept) Read([]byte) (int, error) {
	<-k.ctx.Done()
	return 0, k.ctx.Err()
}

// watchSays replaces the first watch by a text.
func watchSays(text string) func(*stage) {
	return func(s *stage) {
		s.options.JSON = true
		var done atomic.Bool
		s.tamper(func(r *http.Request, resp *http.Response) {
			if isWatch(r) && !done.Swap(true) {
				body(resp, text)
			}
		})
	}
}

// settled: it follows the server, and the log has n lines.
func settled(n int) func(*stage, kinform.Status) bool {
	return func(s *stage, st kinform.Status) bool {
		return st.State() == kinform.StateWatching && st.Cause() == nil && len(s.log.lines()) >= n
	}
}

var faults = []fault{
	// What a server says.
	{name: "401: the token is wrong or out of date", reason: kinform.ReasonUnauthorized, first: answers(401),
		does: tries + "; a rotated token file is read again within a minute", user: "check the credentials; `Policy: PolicyFailFast` ends instead"},
	{name: "403: no right to list or watch", reason: kinform.ReasonForbidden, first: answers(403),
		does: tries, user: "grant `list` and `watch`, or set `Namespaces`; `Policy: PolicyFailFast` ends instead"},
	{name: "403 with `Policy: PolicyFailFast`", reason: kinform.ReasonForbidden, first: func(s *stage) {
		s.options.Policy = kinform.PolicyFailFast
		answers(403)(s)
	}, does: "ends: Run returns a `*RefusedError`, WaitSynced returns at once", user: "report it and exit; Run can be called again"},
	{name: "403 for the watch alone", reason: kinform.ReasonForbidden, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: watches, Status: 403})
	}, does: "lists at intervals, 0.8 s at first, 30 to 45 s at last, and tries to watch after each list", user: "grant `watch`"},
	{name: "405 for the watch: the server cannot do it", reason: kinform.ReasonUnsupported, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: watches, Status: 405})
	}, does: "lists at intervals, 0.8 s at first, 30 to 45 s at last, and tries to watch after each list", user: "nothing, if data up to 45 s old is good enough"},
	{name: "404: the server does not have the resource", reason: kinform.ReasonNoResource, first: func(s *stage) { s.options.Resource = gadgets },
		does: tries, user: "install the CRD, or correct `Resource`; `Policy: PolicyOptional` counts it as empty"},
	{name: "404 with `Policy: PolicyOptional`", reason: kinform.ReasonNoResource, first: func(s *stage) {
		s.options.Resource, s.options.Policy = gadgets, kinform.PolicyOptional
	}, does: "counts it as synced and empty; lists it once it appears", user: "nothing"},
	{name: "429: too many requests", reason: kinform.ReasonThrottled, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: onConfigMaps, Status: 429, RetryAfter: 2 * time.Second})
	}, does: "waits as long as `Retry-After` asks, at least", user: "look at the server's load, and at its priority and fairness"},
	{name: "500: the server fails", reason: kinform.ReasonServerError, first: answers(500), does: tries, user: "look at the server's log"},
	{name: "503: the server is not ready", reason: kinform.ReasonServerError, first: answers(503), does: tries, user: "wait"},
	{name: "504 for the watch: the server cannot reach etcd", reason: kinform.ReasonServerError, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: watches, Status: 504})
	}, does: keepsServes + tries + ", and lists every second time", user: "look at etcd"},
	{name: "502 with a page of HTML from a proxy", reason: kinform.ReasonServerError, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: onConfigMaps, Status: 502, Body: page})
	}, does: tries, user: "look at the proxy"},
	{name: "200 with a page of HTML: a sign-in page", reason: kinform.ReasonGarbled, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: onConfigMaps, Status: 200, Body: page})
	}, does: tries, user: "check the address and the proxy: what answers is not an API server"},
	{name: "410 in the middle of a paged list", first: func(s *stage) {
		s.options.PageSize = 1
		s.server.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps", Func: func(r *http.Request) bool {
			return r.URL.Query().Get("continue") != ""
		}}, Status: 410, Times: 1})
	}, seen: settled(0), does: "lists again, at once", user: "nothing; leave `PageSize` unset"},
	{name: "410 for a watch: the version is forgotten", first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: watches, Status: 410, Times: 1})
	}, seen: func(s *stage, st kinform.Status) bool { return st.Sources[0].Expired > 0 && settled(0)(s, st) },
		does: "lists again, at once; delivers what differs", user: "nothing; `Sources[0].Expired` counts them"},
	{name: "410 after every list", reason: kinform.ReasonExpired, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: watches, Status: 410})
	}, does: "lists again, ever more rarely, every 30 to 45 s at last", user: "look at etcd's compaction and the size of the watch cache"},

	// The way there.
	{name: "nothing listens", reason: kinform.ReasonUnreachable, first: func(s *stage) { s.config.Host = closedPort(s) },
		does: tries, user: "check the address, the server and the firewall"},
	{name: "the certificate is not trusted", reason: kinform.ReasonTLS, first: func(s *stage) {
		s.server = startSim(s, apisim.Options{TLS: true})
		s.config = s.server.Config()
		s.config.CAData = nil
	}, does: tries + "; never continues without", user: "give the right CA; the server's certificate may also be out of date, or for another name"},
	{name: "https, where the server speaks http", reason: kinform.ReasonTLS, first: func(s *stage) {
		s.config.Host = strings.Replace(s.config.Host, "http://", "https://", 1)
	}, does: tries, user: "check the address"},
	{name: "the server never answers", reason: kinform.ReasonStalled, first: func(s *stage) {
		s.options.Silence = 100 * time.Millisecond
		s.server.Inject(apisim.Fault{Match: onConfigMaps, Hang: true})
	}, does: "gives up the request after `Silence`, 150 s by default, and tries again", user: "look at the network: a firewall may drop packets silently"},
	{name: "the server falls silent in the middle of a watch", reason: kinform.ReasonStalled, later: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: onConfigMaps, Hang: true})
	}, first: func(s *stage) { s.options.Silence = 300 * time.Millisecond },
		does: keepsServes + "asks after `Silence` whether the server is there, and opens the watch again", user: "watch `Staleness`"},
	{name: "the connection breaks before an answer", reason: kinform.ReasonDisconnected, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: onConfigMaps, Reset: true})
	}, does: tries, user: "look at the network"},
	{name: "the connection breaks in the middle of a list", reason: kinform.ReasonDisconnected, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: onConfigMaps, CutAfterBytes: 100})
	}, does: "takes nothing of it; " + tries, user: "look at the network, and at time-outs of proxies"},
	{name: "the connection breaks in the middle of an event", reason: kinform.ReasonDisconnected, first: func(s *stage) {
		s.server.Inject(apisim.Fault{Match: watches, TruncateFrame: 1})
	}, later: (*stage).change, does: keepsServes + "asks for the server's version and resumes the watch", user: "nothing, if it is rare"},
	{name: "a watch ends at once, each time", reason: kinform.ReasonDisconnected, first: func(s *stage) {
		s.tamper(func(r *http.Request, resp *http.Response) {
			if isWatch(r) {
				body(resp, "")
			}
		})
	}, does: "tries once more, then lists, ever more rarely", user: "look for a proxy that cannot stream"},
	{name: "watches bring nothing: a proxy buffers them", reason: kinform.ReasonStalled, first: func(s *stage) {
		s.options.Silence = 300 * time.Millisecond
		s.tamper(func(r *http.Request, resp *http.Response) {
			if isWatch(r) {
				resp.Body = kept{resp.Body, r.Context()}
			}
		})
	}, later: (*stage).change,
		does: "lists after two watches that brought nothing, 300 s by default; where that finds changes, every 30 s from then on", user: "turn buffering off in the proxy; watch `Staleness`"},

	// What is sent.
	{name: "a watch sends garbage", reason: kinform.ReasonGarbled, first: watchSays(`{"type":"ADDED","object":{"metadata":{"name":["a"]}}}` + "\n"),
		does: keepsServes + "resumes the watch once, then lists to get past it", user: "if it persists, look at the proxies in between"},
	{name: "a frame that is too large", reason: kinform.ReasonGarbled, first: func(s *stage) { s.options.MaxObjectSize = 2048 }, later: func(s *stage) {
		create(s, client(s, s.server), core("configmaps"), "default", configMap("huge", strings.Repeat("x", 4096)))
	}, does: keepsServes + "holds no more than `MaxObjectSize` of it; tries again", user: "raise `MaxObjectSize` if the object is meant to be that large"},
	{name: "an error event in a watch: 500", reason: kinform.ReasonServerError,
		first: watchSays(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcdserver: leader changed","reason":"InternalError","code":500}}` + "\n"),
		does:  keepsServes + "resumes the watch", user: "nothing, if it is rare"},
	{name: "an error event in a watch: 410",
		first: watchSays(`{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","status":"Failure","message":"too old resource version","reason":"Expired","code":410}}` + "\n"),
		seen:  func(s *stage, st kinform.Status) bool { return st.Sources[0].Expired > 0 && settled(0)(s, st) },
		does:  "lists again, at once; delivers what differs", user: "nothing"},
	{name: "an object in a list that cannot be read", first: func(s *stage) {
		s.options.JSON = true
		s.tamper(func(r *http.Request, resp *http.Response) {
			if !isWatch(r) {
				raw, _ := io.ReadAll(resp.Body)
				body(resp, strings.Replace(string(raw), `"name":"b"`, `"name":["b"]`, 1))
			}
		})
	}, seen: settled(1), does: "leaves it out, keeps its last good state if there is one, lists again in a while", user: "look at `Rejected` and `LastRejected`"},
	{name: "an index function panics", later: func(s *stage) {
		_, _ = s.inf.AddIndex("broken", func(o *unstructured.Unstructured) []string {
			if o.GetName() == "a" {
				panic("out of order")
			}
			return nil
		})
	}, seen: settled(1), does: "continues; the object is not found in that index, and a later state of it is not taken before the function takes it", user: "fix the function"},
	{name: "a handler panics", later: func(s *stage) {
		s.inf.Subscribe(func(_ context.Context, ev kinform.Event[*unstructured.Unstructured]) {
			if ev.Name() == "a" {
				panic("out of order")
			}
		}, kinform.SubscribeOptions{Name: "mine"})
	}, seen: settled(1), does: "continues with the next event", user: "fix the handler; `OnPanic` gets the stack"},
	{name: "a WatchList without its closing bookmark", first: func(s *stage) {
		s.options.WatchList = true
		s.server.Inject(apisim.Fault{Match: onConfigMaps, DropInitialEventsEndBookmark: true})
	}, seen: settled(1), does: "lists after 10 s, and remembers that for the server", user: "leave `WatchList` unset"},
	{name: "the server was restored from a backup", later: func(s *stage) {
		saved := s.server.Snapshot()
		for range 5 {
			s.change()
		}
		eventually(s, "the changes", func() bool { return s.inf.Status().Objects == 7 })
		s.server.Restore(saved)
	}, first: func(s *stage) { s.options.Backoff = quick },
		// The restored server comes back, which is a failure of its own.
		line: "history", seen: func(s *stage, st kinform.Status) bool { return s.log.count("history") > 0 && settled(0)(s, st) }, does: "replaces everything, delivers what differs, counts it in `Sources[0].Epochs`", user: "nothing"},
}

// TestFaultsAreExplained has each fault happen, and writes down what the user sees.
// docs/faults.md is what it wrote; -update writes it again.
func TestFaultsAreExplained(t *testing.T) {
	rows := make([]string, len(faults))
	t.Run("fault", func(t *testing.T) {
		for i, f := range faults {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				rows[i] = happen(t, f)
			})
		}
	})
	if t.Failed() {
		return
	}
	got := faultsHead + strings.Join(rows, "")
	const file = "docs/faults.md"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, []byte(got)) {
		t.Errorf("%s is not what happens; go test -run %s -update . writes it again. What happens:\n%s", file, t.Name(), got)
	}
}

// happen has a fault happen and returns its row.
func happen(t *testing.T, f fault) string {
	sim := startSim(t, apisim.Options{})
	s := &stage{T: t, server: sim, config: sim.Config()}
	c := client(t, sim)
	create(t, c, core("configmaps"), "default", configMap("a", "1"))
	create(t, c, core("configmaps"), "default", configMap("b", "2"))
	s.options = kinform.Options{
		Resource: core("configmaps"), Namespaces: []string{"default"}, Logger: s.log.logger(),
		// Long enough for the first failure to stay.
		Backoff: kinform.Backoff{First: time.Hour, Most: time.Hour},
	}
	if f.first != nil {
		f.first(s)
	}
	s.inf = newInformer[*unstructured.Unstructured](t, s.config, s.options)
	if s.options.JSON || s.options.Resource == core("configmaps") {
		// A typed view is what unstructured readers of protobuf need.
		if _, err := kinform.View[*corev1.ConfigMap](s.inf); err != nil {
			t.Log(err)
		}
	}
	running(t, s.inf)
	if f.later != nil {
		if err := s.inf.WaitSynced(within(t)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a watch", func() bool { return s.inf.Status().State() == kinform.StateWatching })
		f.later(s)
	}
	seen := f.seen
	if seen == nil {
		seen = func(_ *stage, st kinform.Status) bool {
			return st.Cause() != nil && (st.State() == kinform.StateWaiting || st.State() == kinform.StateStopped || st.State() == kinform.StateAbsent || st.State() == kinform.StatePolling)
		}
	}
	var st kinform.Status
	eventually(t, "something to see", func() bool {
		st = s.inf.Status()
		return seen(s, st)
	})
	return s.row(f, st)
}

// row tells what is to be seen of a fault, and fails if it is not what it should be.
func (s *stage) row(f fault, st kinform.Status) string {
	if st.Reason() != f.reason {
		s.Errorf("the reason is %q, want %q: %v", st.Reason(), f.reason, st)
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	err := s.inf.WaitSynced(over)
	says := "nil: it is synced"
	if err != nil {
		var syncErr *kinform.SyncError
		if !errors.As(err, &syncErr) || syncErr.Source.Reason != f.reason {
			s.Errorf("WaitSynced returns %v, want a *SyncError, %s", err, f.reason)
		}
		says = "`" + err.Error() + "`"
	}
	logged := slices.DeleteFunc(s.log.lines(), func(l string) bool { return !strings.Contains(l, f.line) })
	if len(logged) > 1 {
		s.Errorf("%d lines are logged, want one at most: %q", len(logged), logged)
	}
	line := "none"
	if len(logged) > 0 {
		line = "`" + strings.TrimPrefix(logged[0], "level=WARN ") + "`"
	}
	reason := "none"
	if f.reason != "" {
		reason = "`" + string(f.reason) + "`"
	}
	state := st.State().String()
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", f.name, state, reason, plain(says), plain(line), f.does, f.user)
}

var changing = []struct {
	find *regexp.Regexp
	put  string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "server:6443"},
	{regexp.MustCompile(` in=[0-9a-z.µ]+`), " in=…"},
	{regexp.MustCompile(` stack=.*"`), " stack=…"},
	{regexp.MustCompile(`after \d+ failed attempts?`), "after N failed attempts"},
	{regexp.MustCompile(`(from|to|version|byte|after|has)([= ])\d+`), "$1${2}N"},
	{regexp.MustCompile(`\|`), `\|`},
}

// plain leaves out what differs from run to run.
func plain(text string) string {
	for _, c := range changing {
		text = c.find.ReplaceAllString(text, c.put)
	}
	return text
}

func closedPort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

const faultsHead = `# What happens when something fails

Each row was produced by having it happen (TestFaultsAreExplained writes this file and fails when it is not right).
*State* and *reason* are those of ` + "`Status()`" + `, right after the first failure. *WaitSynced* is what it says when its context
ends then. *Log* is the line that is logged when the fault begins; while it lasts, it is counted in ` + "`Status().Sources[0].Attempts`" + `
and not logged again; when it is over, the line is ` + "`recovered`" + `, with the number of failures. Whatever fails, the store keeps what
it has, readers read on, and ` + "`Staleness()`" + ` says how old that is.

| What fails | State | Reason | WaitSynced | Log | What kinform does | What you do |
|---|---|---|---|---|---|---|
`
