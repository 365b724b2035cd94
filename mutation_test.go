package kinform_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

// TestMutationDetector: a reader that changes a Secret is found, in the log, in
// Status and by the callback, without a word of the Secret; and others read it as
// it is.
func TestMutationDetector(t *testing.T) {
	s := startSim(t, apisim.Options{})
	c := client(t, s)
	create(t, c, core("secrets"), "default", object("v1", "Secret", "a", map[string]any{
		"data": map[string]any{"password": "aHVudGVyMg=="}}))
	var log journal
	found := make(chan kinform.Mutation, 10)
	inf := newInformer[*corev1.Secret](t, s.Config(), kinform.Options{
		MutationDetector: kinform.MutationDetectorFull, Logger: log.logger(), OnMutation: func(m kinform.Mutation) { found <- m },
	})
	changed := make(chan struct{})
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.Secret]) {
		secret, err := ev.New()
		if err != nil {
			t.Error(err)
			return
		}
		secret.Data["password"] = []byte("hunter3")
		_, _ = ev.New() // orders the change before the next look, for the race detector
		close(changed)
	}, kinform.SubscribeOptions{Name: "careless"})
	running(t, inf)
	<-changed
	select {
	case m := <-found:
		if m.Key != "default/a" || fmt.Sprint(m.Fields) != "[data.password]" || len(m.Readers) == 0 || !strings.Contains(m.Readers[0], "TestMutationDetector") {
			t.Errorf("reports %v, want data.password of default/a, read by this test", m)
		}
	case <-time.After(soon):
		t.Fatal("not found")
	}
	o, err := inf.Lister().Get("default/a")
	if err != nil || string(o.Data["password"]) != "hunter2" {
		t.Errorf("others read %v (%v)", o, err)
	}
	st := inf.Status()
	if st.Mutated != 1 || st.LastMutation.Key != "default/a" || !strings.Contains(st.String(), "changed by readers") {
		t.Errorf("Status says %v, want one mutation", st)
	}
	if log.count("changed by a reader") != 1 {
		t.Errorf("logged %q, want one line", log.lines())
	}
	wantNoSecret(t, "hunter", append(log.lines(), st.String(), fmt.Sprintf("%+v", st))...)
}

// wantNoSecret fails if a text tells a secret, as it is or in base64.
func wantNoSecret(t *testing.T, secret string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, s := range []string{secret, "aHVudGVy", "68756e746572"} {
			if strings.Contains(text, s) {
				t.Errorf("a secret is told (%s): %q", s, text)
			}
		}
	}
}
