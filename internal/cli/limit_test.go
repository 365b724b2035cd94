package cli

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/console"
)

// discoveryNeverEnds leaves it to the flags to bound discovery.
func discoveryNeverEnds(t *testing.T) {
	usual := discoveryTimeout
	discoveryTimeout = time.Hour
	t.Cleanup(func() { discoveryTimeout = usual })
}

// TestMuteServer: a server that never answers is a failure, told when the time is up, and
// not when discovery gives up by itself.
func TestMuteServer(t *testing.T) {
	discoveryNeverEnds(t)
	s := newServer(t)
	defer s.Inject(apisim.Fault{Hang: true})()
	for _, tt := range []struct{ args, of string }{
		{"watch pods,nodes --for 50ms", " of pods,nodes"},
		{"serve pods --address 127.0.0.1:0 --for 50ms", " of pods"},
		{"top --for 50ms", ""},
		{"top deploy --for 50ms", " of deploy"},
		{"get pods --timeout 50ms", " of pods"},
		{"dump pods --timeout 50ms", " of pods"},
	} {
		args := strings.Fields(tt.args)
		flag := args[len(args)-2]
		code, out, notes := run(t, append(args, "--kubeconfig", s.kubeconfig)...)
		want := "kinform: nothing was read" + tt.of + ": " + s.URL() + " has not said within " + flag + " 50ms what it serves\n" +
			"  check the way to " + s.URL() + " (from " + s.kubeconfig + "): network, VPN, proxy; or give more time with " + flag + "\n"
		if code != exitBad || out != "" || notes != want {
			t.Errorf("%s: exit code %d, output %q, said\n%s\nwant\n%s", tt.args, code, out, notes, want)
		}
	}
}

// TestMuteGroup: of a server that gives its groups one by one, a mute one costs no more
// than the time that is given.
func TestMuteGroup(t *testing.T) {
	discoveryNeverEnds(t)
	s := newServerWith(t, apisim.Options{Front: func(server http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Accept", "application/json")
			server.ServeHTTP(w, r)
		})
	}})
	defer s.Inject(apisim.Fault{Match: apisim.Match{Path: "/apis/apps/v1"}, Hang: true})()
	code, _, notes := run(t, "get", "pods", "--timeout", "300ms", "--kubeconfig", s.kubeconfig)
	if code != exitBad || !strings.Contains(notes, "has not said within --timeout 300ms what it serves") {
		t.Errorf("exit code %d, said %q", code, notes)
	}
}

// TestInterruptedInDiscovery: who waits for an answer must not take its lack for one; to
// what would go on for ever, Ctrl-C is a good end.
func TestInterruptedInDiscovery(t *testing.T) {
	s := newServer(t)
	for command, want := range map[string]int{
		"get": exitInterrupted, "dump": exitInterrupted, "bench": exitInterrupted, "watch": 0, "serve": 0, "top": 0,
	} {
		asked := make(chan struct{}, 1)
		remove := s.Inject(apisim.Fault{Hang: true, Match: apisim.Match{Func: func(*http.Request) bool {
			select {
			case asked <- struct{}{}:
			default:
			}
			return true
		}}})
		p := start(t, command, "pods", "--kubeconfig", s.kubeconfig)
		<-asked
		if code := p.interrupt(t); code != want || p.out.String() != "" {
			t.Errorf("%s: exit code %d, want %d; output %q, said %q", command, code, want, p.out, p.notes)
		}
		remove()
	}
}

// timed is a part of a command whose time is up when the test says so.
type timed struct {
	notes *console.Console
	up    context.CancelCauseFunc
	ended chan error
}

func (s *testServer) timed(t *testing.T, resources string, run func(context.Context, *screen, *server, []*target) error) *timed {
	t.Helper()
	srv, targets, err := (&selection{connection: connection{kubeconfig: s.kubeconfig}}).targets(t.Context(), []string{resources})
	if err != nil {
		t.Fatal(err)
	}
	c := &timed{notes: console.New(), ended: make(chan error, 1)}
	ctx, up := context.WithCancelCause(context.Background())
	c.up = up
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.ended <- run(ctx, newScreen(console.New(), c.notes), srv, targets)
	}()
	t.Cleanup(func() {
		up(nil)
		<-done
	})
	return c
}

// end says that the time is up, and returns what the command says to that.
func (c *timed) end() string {
	c.up(&timeUp{"--for", 2 * time.Second})
	if err := <-c.ended; err != nil {
		return err.Error()
	}
	return ""
}

// watching shows changes; nobody asked for its targets, if they are optional.
func watching(optional bool) func(context.Context, *screen, *server, []*target) error {
	return func(ctx context.Context, s *screen, srv *server, targets []*target) error {
		return (&session{screen: s, printer: &top{}, server: srv, targets: targets, optional: optional}).run(ctx)
	}
}

func serving(ctx context.Context, s *screen, srv *server, targets []*target) error {
	p, err := openPage("127.0.0.1:0", "kinform serve", "", targets)
	if err != nil {
		return err
	}
	defer p.close()
	return (&service{screen: s, server: srv, targets: targets}).run(ctx, p)
}

// gathering waits for a sync, and says when one is there.
func gathering(ctx context.Context, s *screen, srv *server, targets []*target) error {
	synced := func(t *target) bool {
		if !t.inf.HasSynced() {
			return false
		}
		s.note("watching " + t.name)
		return true
	}
	return gather(ctx, s, targets, srv, synced, func() error { return nil })
}

// TestUnreadKinds: of several kinds, those are named that were not read.
func TestUnreadKinds(t *testing.T) {
	s := newServer(t)
	for _, resource := range []string{"pods", "secrets"} {
		defer s.Inject(apisim.Fault{Match: apisim.Match{Resource: resource}, Hang: true})()
	}
	mute := func(title string) string {
		return "nothing was read of " + title + " in namespace default: " + s.URL() + " has not answered within --for 2s\n"
	}
	do := "  check the way to " + s.URL() + " (from " + s.kubeconfig + "): network, VPN, proxy; or give more time with --for"
	for name, run := range map[string]func(context.Context, *screen, *server, []*target) error{
		"session": watching(false), "service": serving, "gather": gathering,
	} {
		c := s.timed(t, "pods,nodes,secrets", run)
		c.notes.Await(t, "watching nodes")
		if got, want := c.end(), mute("pods")+mute("secrets")+do; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
		c = s.timed(t, "nodes", run)
		c.notes.Await(t, "watching nodes")
		if got := c.end(); got != "" {
			t.Errorf("%s: got %s, though all was read", name, got)
		}
	}
}

// TestRefusedKind: one that was refused counts as not read, unless nobody asked for it.
func TestRefusedKind(t *testing.T) {
	s := newServer(t)
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "secrets"}, Status: http.StatusForbidden})
	for optional, want := range map[bool]string{false: "cannot watch secrets in namespace default: ", true: ""} {
		c := s.timed(t, "nodes,secrets", watching(optional))
		c.notes.Await(t, "watching nodes")
		c.notes.Await(t, "cannot watch secrets in namespace default: ")
		if got := c.end(); (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("optional is %t: got %q, want %q", optional, got, want)
		}
	}
}

// TestNoAnswerOfNothing: a list without items would be an answer.
func TestNoAnswerOfNothing(t *testing.T) {
	s := newServer(t)
	asked := make(chan struct{}, 100)
	defer s.Inject(apisim.Fault{Hang: true, Match: apisim.Match{Resource: "pods", Func: func(*http.Request) bool {
		asked <- struct{}{}
		return true
	}}})()
	p := start(t, "get", "pods", "-o", "json", "--kubeconfig", s.kubeconfig)
	<-asked
	code := p.timeIsUp(t)
	if out, notes := p.out.String(), p.notes.String(); code != 1 || out != "" || !strings.Contains(notes, "nothing was read of pods") {
		t.Errorf("exit code %d, output %q, said %q", code, out, notes)
	}
}

// TestNoReportOfNothing: "nothing has changed" would be an answer.
func TestNoReportOfNothing(t *testing.T) {
	s := newServer(t)
	asked := make(chan struct{}, 1)
	defer s.Inject(apisim.Fault{Hang: true, Match: apisim.Match{Resource: "pods", Func: func(*http.Request) bool {
		asked <- struct{}{}
		return true
	}}})()
	c := s.timed(t, "pods", func(ctx context.Context, screen *screen, srv *server, targets []*target) error {
		report := func() error {
			t.Error("there is a report, though nothing was read")
			return nil
		}
		return (&session{screen: screen, printer: &top{}, server: srv, targets: targets, report: report}).run(ctx)
	})
	<-asked
	if got := c.end(); !strings.HasPrefix(got, "nothing was read of pods") {
		t.Errorf("got %q", got)
	}
}
