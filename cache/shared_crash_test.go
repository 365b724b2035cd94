package cache_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinform/kinform/cache"
)

// crashOf says whose informer is to bring this process down.
const crashOf = "KINFORM_TEST_CRASH"

// TestPanicOfHandlerEndsProcess: as with client-go, unless the program said
// otherwise to apimachinery, a handler's panic ends the process and is told.
func TestPanicOfHandlerEndsProcess(t *testing.T) {
	for _, s := range []side{theirs, ours} {
		t.Run(s.name, func(t *testing.T) {
			if os.Getenv(crashOf) == s.name {
				crash(t, s)
			}
			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPanicOfHandlerEndsProcess$")
			child.Env = append(os.Environ(), crashOf+"="+s.name)
			out, err := child.CombinedOutput()
			if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
				t.Fatalf("want the process to fail, got %v:\n%s", err, out)
			}
			if !strings.Contains(string(out), "panic: handler of "+s.name) {
				t.Errorf("want the panic in the output:\n%s", out)
			}
		})
	}
}

// crash does not return.
func crash(t *testing.T, s side) {
	server := newServer(newTrace())
	server.do(three)
	informer := s.make(server, &corev1.Pod{}, cache.SharedIndexInformerOptions{})
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { panic("handler of " + s.name) }})
	if err != nil {
		t.Fatal(err)
	}
	informer.Run(t.Context().Done())
}

// survivePanics makes panics that are handled by apimachinery not end the process,
// and returns what they were.
func survivePanics(t *testing.T) *[]string {
	var panics []string
	really, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, value any) {
		text, _, _ := strings.Cut(toString(value), "\n")
		panics = append(panics, text)
	}}
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = really, handlers })
	return &panics
}

func toString(value any) string {
	switch value := value.(type) {
	case error:
		return value.Error()
	case string:
		return value
	}
	return "?"
}

// panicOnce is a handler that panics at its first call.
func panicOnce(p *player) {
	join("h")(p)
	calls := 0
	p.handlers["h"].during = func(string) {
		if calls++; calls == 1 {
			panic("first call")
		}
	}
}

// TestHandlerThatPanicsAndGoesOn: where a program lives with panics, client-go waits a second
// before the next call, and calls a handler that panicked in its initial list never synced.
func TestHandlerThatPanicsAndGoesOn(t *testing.T) {
	want := map[string][]string{
		theirs.name: {
			"first call", "added a@1 map[app:web] initial=true at 0s", "synced=false done=false",
			"added b@2 map[app:db] initial=true at 1s", "added c@3 initial=true at 1s", "synced=false done=false", "synced=false done=false",
		},
		ours.name: {
			"first call", "added a@1 map[app:web] initial=true at 0s",
			"added b@2 map[app:db] initial=true at 0s", "added c@3 initial=true at 0s", "synced=true done=true", "synced=true done=true", "synced=true done=true",
		},
	}
	for _, s := range []side{theirs, ours} {
		t.Run(s.name, func(t *testing.T) {
			panics := survivePanics(t)
			var lines []string
			for _, line := range (story{server: three, informer: panicOnce, times: true,
				script: []moment{{"time passes", nil, settled}}}).perform(t, s) {
				if line, ok := strings.CutPrefix(line, "h: "); ok {
					lines = append(lines, line)
				}
			}
			if got := slices.Concat(*panics, lines); !slices.Equal(got, want[s.name]) {
				t.Errorf("got %q, want %q", got, want[s.name])
			}
		})
	}
}

// TestNilHandler: it can be added, and panics when it is called.
func TestNilHandler(t *testing.T) {
	for _, s := range []side{theirs, ours} {
		t.Run(s.name, func(t *testing.T) {
			panics := survivePanics(t)
			story{server: three, informer: func(p *player) {
				if _, err := p.informer.AddEventHandler(nil); err != nil {
					t.Error(err)
				}
			}}.perform(t, s)
			if len(*panics) == 0 || !strings.Contains((*panics)[0], "nil pointer dereference") {
				t.Errorf("got %q", *panics)
			}
		})
	}
}

// badIndex fails or panics for the pod b.
func badIndex(obj any) ([]string, error) {
	switch p := obj.(*corev1.Pod); {
	case p.Name == "b" && p.Labels["bad"] == "error":
		return nil, errNotToday
	case p.Name == "b" && p.Labels["bad"] == "panic":
		panic("not today, either")
	}
	return []string{"good"}, nil
}

// TestIndexFunctionThatFails: client-go panics, kinform keeps the last good state of the
// object and continues with the rest.
func TestIndexFunctionThatFails(t *testing.T) {
	for _, how := range []string{"error", "panic"} {
		t.Run(how, func(t *testing.T) {
			n := story{server: three, informer: joins,
				options: cache.SharedIndexInformerOptions{Indexers: cache.Indexers{"bad": badIndex}},
				script: []moment{
					{"begin", nil, settled},
					{"bad", []func(*player){on(put("b", "bad", how), put("c"))}, settled},
					{"well", []func(*player){on(put("b"))}, settled},
				}}
			panics := survivePanics(t)
			n.perform(t, theirs)
			if len(*panics) == 0 {
				t.Error("client-go did not panic")
			}
			*panics = nil
			lines := n.perform(t, ours)
			if len(*panics) > 0 {
				t.Errorf("kinform panicked: %q", *panics)
			}
			var calls []string
			for _, line := range lines {
				if strings.HasPrefix(line, "h: updated") {
					calls = append(calls, line)
				}
			}
			want := []string{"h: updated c@3 to c@5", "h: updated b@2 map[app:db] to b@6"}
			if !slices.Equal(calls, want) {
				t.Errorf("got %q, want %q", calls, want)
			}
		})
	}
	t.Run("in the first list", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			server := newServer(newTrace())
			server.do(three, put("b", "bad", "error"))
			informer := cache.NewSharedIndexInformer(server, &corev1.Pod{}, 0, cache.Indexers{"bad": badIndex})
			ctx, cancel := context.WithCancel(t.Context())
			runUntil(ctx, cancel, informer)
			if got := portraits(informer.GetStore().List()); len(got) != 2 || !informer.HasSynced() {
				t.Errorf("synced=%t with %v", informer.HasSynced(), got)
			}
		})
	})
}
