package kinform_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

// TestFailFast: whoever is refused hears of it at once, from Run and from all that
// wait, and can run again.
func TestFailFast(t *testing.T) {
	for _, c := range []struct {
		status int
		reason kinform.Reason
		is     func(error) bool
	}{
		{http.StatusUnauthorized, kinform.ReasonUnauthorized, apierrors.IsUnauthorized},
		{http.StatusForbidden, kinform.ReasonForbidden, apierrors.IsForbidden},
		{http.StatusNotFound, kinform.ReasonNoResource, apierrors.IsNotFound},
	} {
		t.Run(string(c.reason), func(t *testing.T) {
			s := startSim(t, apisim.Options{})
			remove := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps"}, Status: c.status})
			inf := newInformer[*corev1.ConfigMap](t, s.Config(), kinform.Options{Policy: kinform.PolicyFailFast})
			sub := inf.Subscribe(func(context.Context, kinform.Event[*corev1.ConfigMap]) {}, kinform.SubscribeOptions{})
			waited := make(chan error, 2)
			go func() { waited <- inf.WaitSynced(context.Background()) }()
			go func() { waited <- sub.WaitSynced(context.Background()) }()

			err := inf.Run(within(t))
			var refused *kinform.RefusedError
			if !errors.As(err, &refused) || refused.Reason != c.reason || !c.is(err) || !errors.Is(err, kinform.ErrRefused) {
				t.Errorf("Run returns %v, want a *RefusedError, %s", err, c.reason)
			}
			for range 2 {
				err := <-waited
				var syncErr *kinform.SyncError
				if !errors.As(err, &syncErr) || syncErr.Source.Reason != c.reason || !c.is(err) || !errors.Is(err, kinform.ErrRefused) {
					t.Errorf("WaitSynced returns %v, want a *SyncError, %s", err, c.reason)
				}
			}
			if err := inf.WaitSynced(context.Background()); err == nil {
				t.Error("WaitSynced returns nil after Run ended")
			}
			if st := inf.Status(); st.State() != kinform.StateStopped || st.Reason() != c.reason || st.Cause() == nil || st.Sources[0].Attempts != 1 {
				t.Errorf("Status says %v, want stopped after one attempt, %s", st, c.reason)
			}
			remove()
			running(t, inf)
			eventually(t, "another run", func() bool { return inf.Status().State() != kinform.StateStopped })
			if err := sub.WaitSynced(within(t)); err != nil {
				t.Errorf("run again: %v", err)
			}
		})
	}
}

// TestFailFastLater: rights that are taken away end an informer that was well, and
// what passes by itself does not.
func TestFailFastLater(t *testing.T) {
	s := startSim(t, apisim.Options{})
	inf := newInformer[*corev1.ConfigMap](t, s.Config(), kinform.Options{Policy: kinform.PolicyFailFast})
	ended := running(t, inf)
	if err := inf.WaitSynced(within(t)); err != nil {
		t.Fatal(err)
	}
	passes := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps"}, Status: http.StatusServiceUnavailable})
	restart(s)
	eventually(t, "failures", func() bool { return inf.Status().Sources[0].Attempts > 2 })
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps"}, Status: http.StatusForbidden})
	passes()
	if err := <-ended; !apierrors.IsForbidden(err) {
		t.Errorf("Run returns %v, want forbidden", err)
	}
	if err := inf.WaitSynced(within(t)); err != nil {
		t.Errorf("it had synced, but WaitSynced returns %v", err)
	}
}

// TestOptional: a resource that is not served counts as empty, is found when it
// appears, and its objects are gone when it is no more.
func TestOptional(t *testing.T) {
	for _, watchList := range []bool{false, true} {
		s := startSim(t, apisim.Options{})
		c := client(t, s)
		var log journal
		inf := newInformer[*unstructured.Unstructured](t, s.Config(),
			kinform.Options{Resource: gadgets, Policy: kinform.PolicyOptional, Logger: log.logger(), WatchList: watchList})
		heard := make(chan string, 10)
		sub := inf.Subscribe(func(_ context.Context, ev kinform.Event[*unstructured.Unstructured]) { heard <- told(ev) }, kinform.SubscribeOptions{})
		running(t, inf)
		if err := sub.WaitSynced(within(t)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "some attempts", func() bool { return inf.Status().Sources[0].Attempts > 4 })
		st := inf.Status()
		if st.State() != kinform.StateAbsent && st.State() != kinform.StateListing || st.Reason() != kinform.ReasonNoResource || !st.Synced || inf.Lister().Len() != 0 {
			t.Errorf("Status says %v, want absent and synced", st)
		}
		if n := len(log.lines()); n != 1 {
			t.Errorf("%d lines are logged, want one: %q", n, log.lines())
		}

		for round := range 2 {
			create(t, c, definitions, "", gadgetDefinition())
			create(t, c, gadgets, "default", object("example.com/v1", "Gadget", "a", nil))
			wantReceived(t, heard, "added default/a")
			eventually(t, "health", func() bool { return inf.Status().Cause() == nil })
			if round == 0 {
				// The definition goes, its objects with it, and nobody is there to hear of it.
				cut := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "gadgets", Func: func(r *http.Request) bool {
					return r.Method == http.MethodGet
				}}, Reset: true})
				restart(s)
				eventually(t, "a cut", func() bool { return inf.Status().Reason() == kinform.ReasonDisconnected })
				if err := c.Resource(definitions).Delete(within(t), "gadgets.example.com", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				cut()
				wantReceived(t, heard, "deleted default/a")
				eventually(t, "absence", func() bool { return inf.Status().State() == kinform.StateAbsent })
			}
		}
		if n := log.count("not served"); n != 2 {
			t.Errorf("its absence is logged %d times, want 2: %q", n, log.lines())
		}
	}
}

// TestOptionalIsNotBlind: what is not the absence of the resource keeps an
// optional informer from syncing as any other.
func TestOptionalIsNotBlind(t *testing.T) {
	s := startSim(t, apisim.Options{})
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps"}, Status: http.StatusForbidden})
	inf := newInformer[*corev1.ConfigMap](t, s.Config(), kinform.Options{Policy: kinform.PolicyOptional})
	running(t, inf)
	eventually(t, "failures", func() bool { return inf.Status().Sources[0].Attempts > 2 })
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := inf.WaitSynced(over); !apierrors.IsForbidden(err) {
		t.Errorf("WaitSynced returns %v, want forbidden", err)
	}
}

// TestOptionalBelievesOnlyThrice: one server of several that does not know the
// resource yet does not empty a store.
func TestOptionalBelievesOnlyThrice(t *testing.T) {
	s := startSim(t, apisim.Options{})
	c := client(t, s)
	create(t, c, core("configmaps"), "default", configMap("a", "1"))
	inf := newInformer[*corev1.ConfigMap](t, s.Config(), kinform.Options{Policy: kinform.PolicyOptional, Namespaces: []string{"default"}})
	heard := make(chan string, 10)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.ConfigMap]) { heard <- told(ev) }, kinform.SubscribeOptions{})
	running(t, inf)
	wantReceived(t, heard, "added default/a")
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "configmaps", Func: func(r *http.Request) bool {
		return r.Method == http.MethodGet
	}}, Status: http.StatusNotFound, Times: 2})
	restart(s)
	create(t, c, core("configmaps"), "default", configMap("b", "1"))
	wantReceived(t, heard, "added default/b")
}

// TestDefinitionDeletedUnheard: objects whose definition was deleted while nobody watched
// are reported as deleted, by an informer that did not expect it, too, and only once.
func TestDefinitionDeletedUnheard(t *testing.T) {
	s := startSim(t, apisim.Options{})
	c := client(t, s)
	create(t, c, definitions, "", gadgetDefinition())
	create(t, c, gadgets, "default", object("example.com/v1", "Gadget", "a", nil))
	log := new(journal)
	var failures atomic.Int64
	inf := newInformer[*unstructured.Unstructured](t, s.Config(), kinform.Options{Resource: gadgets, Logger: log.logger(),
		OnFailure: func(error) { failures.Add(1) }})
	heard := make(chan string, 10)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*unstructured.Unstructured]) { heard <- told(ev) }, kinform.SubscribeOptions{})
	running(t, inf)
	wantReceived(t, heard, "added default/a")
	cut := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "gadgets", Func: func(r *http.Request) bool {
		return r.Method == http.MethodGet
	}}, Reset: true})
	restart(s)
	eventually(t, "a cut", func() bool { return inf.Status().Reason() == kinform.ReasonDisconnected })
	if err := c.Resource(definitions).Delete(within(t), "gadgets.example.com", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cut()
	wantReceived(t, heard, "deleted default/a")
	eventually(t, "absence", func() bool { return inf.Status().State() == kinform.StateAbsent })
	lines, told := len(log.lines()), failures.Load()
	attempts := inf.Status().Sources[0].Attempts
	eventually(t, "more attempts", func() bool { return inf.Status().Sources[0].Attempts > attempts+5 })
	if n := len(log.lines()); n != lines || failures.Load() != told {
		t.Errorf("%d lines and %d failures are told of an absence that is known", n-lines, failures.Load()-told)
	}
	create(t, c, definitions, "", gadgetDefinition())
	create(t, c, gadgets, "default", object("example.com/v1", "Gadget", "b", nil))
	wantReceived(t, heard, "added default/b")
}

// TestNotFoundIsNotAbsent: a 404 that the server's discovery does not confirm, as of a
// proxy, empties no store.
func TestNotFoundIsNotAbsent(t *testing.T) {
	for _, discovery := range []int{http.StatusOK, http.StatusNotFound, http.StatusServiceUnavailable} {
		s := startSim(t, apisim.Options{})
		c := client(t, s)
		create(t, c, definitions, "", gadgetDefinition())
		create(t, c, gadgets, "default", object("example.com/v1", "Gadget", "a", nil))
		inf := newInformer[*unstructured.Unstructured](t, s.Config(), kinform.Options{Resource: gadgets})
		running(t, inf)
		if err := inf.WaitSynced(within(t)); err != nil {
			t.Fatal(err)
		}
		s.Inject(apisim.Fault{Match: apisim.Match{Func: func(r *http.Request) bool {
			return strings.HasSuffix(r.URL.Path, "/gadgets")
		}}, Status: http.StatusNotFound})
		if discovery != http.StatusOK {
			s.Inject(apisim.Fault{Match: apisim.Match{Func: func(r *http.Request) bool { return !strings.HasSuffix(r.URL.Path, "/gadgets") }}, Status: discovery})
		}
		restart(s)
		eventually(t, "failures", func() bool { return inf.Status().Sources[0].Attempts > 6 })
		if st := inf.Status(); inf.Lister().Len() != 1 || st.State() == kinform.StateAbsent {
			t.Errorf("discovery answers %d: %s", discovery, st)
		}
	}
}

// TestGoneNeedsProof: a client that may not read definitions cannot know that one has
// gone, and keeps what it has; Status says why.
func TestGoneNeedsProof(t *testing.T) {
	for _, policy := range []kinform.Policy{kinform.PolicyKeepTrying, kinform.PolicyOptional} {
		s := startSim(t, apisim.Options{})
		c := client(t, s)
		create(t, c, definitions, "", gadgetDefinition())
		create(t, c, gadgets, "default", object("example.com/v1", "Gadget", "a", nil))
		inf := newInformer[*unstructured.Unstructured](t, s.Config(), kinform.Options{Resource: gadgets, Policy: policy})
		running(t, inf)
		if err := inf.WaitSynced(within(t)); err != nil {
			t.Fatal(err)
		}
		cut := s.Inject(apisim.Fault{Match: apisim.Match{Resource: "gadgets"}, Reset: true})
		restart(s)
		eventually(t, "a cut", func() bool { return inf.Status().Reason() == kinform.ReasonDisconnected })
		if err := c.Resource(definitions).Delete(within(t), "gadgets.example.com", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.Inject(apisim.Fault{Match: apisim.Match{Resource: "customresourcedefinitions"}, Status: http.StatusForbidden})
		cut()
		eventually(t, "a cause", func() bool {
			cause := inf.Status().Cause()
			return cause != nil && strings.Contains(cause.Error(), "what was read is kept: CustomResourceDefinition gadgets.example.com")
		})
		if st := inf.Status(); inf.Lister().Len() != 1 || st.State() == kinform.StateAbsent {
			t.Errorf("%v: %s", policy, st)
		}
	}
}

// TestFirstListIsNotOlder: an informer that has synced has what was written before it
// began, although the server that answers it lags behind the one that was written to.
// FromCache takes what that server has.
func TestFirstListIsNotOlder(t *testing.T) {
	var lags *apisim.Follower
	s := startSim(t, apisim.Options{Front: func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { lags.ServeHTTP(w, r) })
	}})
	lags = s.Follow()
	c := client(t, s)
	create(t, c, core("configmaps"), "default", configMap("a", "1"))
	lags.Hold()
	defer lags.Release()
	create(t, c, core("configmaps"), "default", configMap("b", "1"))
	for fromCache, want := range map[bool]int{false: 2, true: 1} {
		inf := newInformer[*corev1.ConfigMap](t, s.Config(), kinform.Options{Namespaces: []string{"default"}, FromCache: fromCache})
		running(t, inf)
		if err := inf.WaitSynced(within(t)); err != nil {
			t.Fatal(err)
		}
		if n := inf.Lister().Len(); n != want {
			t.Errorf("FromCache %v: %d objects, want %d", fromCache, n, want)
		}
	}
}

// TestBrokenSiblings: whatever is wrong with some informers of a factory, the
// others sync, hear and stop.
func TestBrokenSiblings(t *testing.T) {
	s := startSim(t, apisim.Options{TLS: true}) // all on one connection
	c := client(t, s)
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "secrets"}, Status: http.StatusForbidden})
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "services"}, Hang: true})
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "nodes"}, Status: http.StatusUnauthorized})
	s.Inject(apisim.Fault{Match: apisim.Match{Resource: "endpoints"}, CutAfterBytes: 10})

	f, err := kinform.NewFactory(s.Config(), kinform.Options{Backoff: quick, Logger: new(journal).logger()})
	if err != nil {
		t.Fatal(err)
	}
	good := kinformFor[*corev1.ConfigMap](t, f, kinform.Options{})
	blocked := kinformFor[*corev1.Pod](t, f, kinform.Options{})
	kinformFor[*corev1.Secret](t, f, kinform.Options{})
	kinformFor[*corev1.Service](t, f, kinform.Options{})
	kinformFor[*corev1.Endpoints](t, f, kinform.Options{})
	kinformFor[*unstructured.Unstructured](t, f, kinform.Options{Resource: gadgets, Backoff: quick, Logger: new(journal).logger()})
	failing := kinformFor[*corev1.Node](t, f, kinform.Options{Policy: kinform.PolicyFailFast, Logger: new(journal).logger()})

	release := make(chan struct{})
	create(t, c, core("pods"), "default", object("v1", "Pod", "p", map[string]any{
		"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}))
	blocked.Subscribe(func(context.Context, kinform.Event[*corev1.Pod]) { <-release }, kinform.SubscribeOptions{})
	heard := make(chan string, 10)
	good.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.ConfigMap]) {
		if ev.Namespace() == "default" {
			heard <- told(ev)
		}
	}, kinform.SubscribeOptions{})
	if err := f.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := good.WaitSynced(within(t)); err != nil {
		t.Fatal(err)
	}
	create(t, c, core("configmaps"), "default", configMap("a", "1"))
	wantReceived(t, heard, "added default/a")

	// One has ended, so there is no point in waiting for the others.
	err = f.WaitSynced(context.Background())
	if !apierrors.IsUnauthorized(err) || !errors.Is(err, kinform.ErrRefused) || strings.Contains(err.Error(), "services") {
		t.Errorf("the factory's WaitSynced returns %v, want what ended, and no more", err)
	}
	if st := failing.Status(); st.State() != kinform.StateStopped {
		t.Errorf("Status says %v, want stopped", st)
	}
	close(release)
	f.Shutdown()
}

func kinformFor[T any](t *testing.T, f *kinform.Factory, o kinform.Options) *kinform.Informer[T] {
	t.Helper()
	inf, err := kinform.For[T](f, o)
	if err != nil {
		t.Fatal(err)
	}
	return inf
}
