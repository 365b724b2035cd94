// Package warmstart has the tests of starts from disk, for the embedded server and the
// real one.
package warmstart

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
)

// soon is what a test waits for anything. No healthy one comes near it.
const soon = time.Minute

// Server is what the tests need of a server.
type Server struct {
	Config *rest.Config
	// Forget has the server forget all versions before the present one.
	Forget func(context.Context) error
	// Backup saves the server's state, and returns what puts it back.
	Backup func(context.Context) (restore func(context.Context) error, err error)
}

// Run runs the tests.
func Run(t *testing.T, s Server) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"Resumes", resumes}, {"Forgotten", forgotten}, {"Secrets", secrets}, {"OnlyChanges", onlyChanges}, {"Killed", killed},
		{"Restored", func(t *testing.T, b *bench) { restored(t, b, 0) }},
		{"RestoredAndAhead", func(t *testing.T, b *bench) { restored(t, b, 30) }}, {"Undeleted", undeleted},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newBench(t, s)) })
	}
}

// bench is a namespace of a server, and a folder.
type bench struct {
	Server
	ns, dir string
	client  kubernetes.Interface
}

var namespaces atomic.Int64

func newBench(t *testing.T, s Server) *bench {
	c, err := kubernetes.NewForConfig(s.Config)
	must(t, err)
	b := &bench{Server: s, ns: fmt.Sprintf("warm-%d", namespaces.Add(1)), dir: t.TempDir(), client: c}
	_, err = c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.ns}}, metav1.CreateOptions{})
	must(t, err)
	return b
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put creates or changes a ConfigMap; an empty value deletes it.
func (b *bench) put(t *testing.T, name, value string) {
	t.Helper()
	maps := b.client.CoreV1().ConfigMaps(b.ns)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
	if value == "" {
		_ = maps.Delete(t.Context(), name, metav1.DeleteOptions{})
		return
	}
	_, err := maps.Update(t.Context(), m, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(t.Context(), m, metav1.CreateOptions{})
	}
	must(t, err)
}

func (b *bench) options() kinform.Options {
	return kinform.Options{Namespaces: []string{b.ns}, Snapshot: kinform.SnapshotOptions{Dir: b.dir, Every: time.Millisecond}}
}

// requests counts what an informer asks for.
type requests struct{ lists, probes, watches atomic.Int64 }

func (c *requests) wrap(rt http.RoundTripper) http.RoundTripper { return counted{rt, c} }

type counted struct {
	http.RoundTripper
	*requests
}

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	switch q := r.URL.Query(); {
	case q.Get("watch") != "":
		c.watches.Add(1)
	case strings.Contains(q.Get("fieldSelector"), "metadata.name="):
		c.probes.Add(1)
	default:
		c.lists.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}

func (c counted) WrappedRoundTripper() http.RoundTripper { return c.RoundTripper }

// session is one informer, and what it did.
type session struct {
	*kinform.Informer[*corev1.ConfigMap]
	requests
	heard chan string
	stop  func()
}

func (b *bench) start(t *testing.T, o kinform.Options) *session {
	t.Helper()
	s := &session{heard: make(chan string, 1000)}
	cfg := rest.CopyConfig(b.Config)
	cfg.Wrap(s.wrap)
	inf, err := kinform.New[*corev1.ConfigMap](cfg, o)
	must(t, err)
	inf.Subscribe(func(_ context.Context, ev kinform.Event[*corev1.ConfigMap]) {
		s.heard <- fmt.Sprint(ev.Type, " ", ev.Key)
	}, kinform.SubscribeOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := inf.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	s.Informer, s.stop = inf, func() { cancel(); <-ended }
	return s
}

func (s *session) wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(soon); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited %v for %s: %v, %+v", soon, what, s.Status(), s.Status().Sources[0].Snapshot)
		}
	}
}

func (s *session) synced(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	must(t, s.WaitSynced(ctx))
}

// written waits until the disk has what the store has.
func (s *session) written(t *testing.T) {
	t.Helper()
	s.wait(t, "the disk", func() bool {
		src := s.Status().Sources[0]
		return src.ResourceVersion != "" && src.Snapshot.ResourceVersion == src.ResourceVersion
	})
}

// server returns what the server has: by name, version and value.
func (b *bench) server(t *testing.T) map[string]string {
	t.Helper()
	all, err := b.client.CoreV1().ConfigMaps(b.ns).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	got := map[string]string{}
	for _, m := range all.Items {
		got[m.Name] = m.ResourceVersion + " " + m.Data["v"]
	}
	return got
}

// store returns what the informer has.
func (s *session) store() map[string]string {
	got := map[string]string{}
	for _, m := range s.Lister().All() {
		got[m.Name] = m.ResourceVersion + " " + m.Data["v"]
	}
	return got
}

// equal waits until the informer has what the server has.
func (b *bench) equal(t *testing.T, s *session) {
	t.Helper()
	want := b.server(t)
	s.wait(t, fmt.Sprint(want), func() bool { return maps.Equal(s.store(), want) })
}

// firstRun has a snapshot of ten objects written.
func (b *bench) firstRun(t *testing.T, o kinform.Options) {
	t.Helper()
	for i := range 10 {
		b.put(t, fmt.Sprint("m", i), "first")
	}
	s := b.start(t, o)
	defer s.stop()
	s.synced(t)
	b.equal(t, s)
	s.written(t)
}

// resumes: after changes while nobody watched, no list is needed, reads are served before
// the server has said anything, and each object is delivered once.
func resumes(t *testing.T, b *bench) {
	b.firstRun(t, b.options())
	b.put(t, "m1", "changed")
	b.put(t, "m2", "")
	b.put(t, "m10", "new")
	s := b.start(t, b.options())
	defer s.stop()
	<-s.Readable()
	if n := len(s.store()); n < 9 || n > 11 {
		t.Errorf("%d objects can be read at first", n)
	}
	s.synced(t)
	b.equal(t, s)
	if s.lists.Load() != 0 || s.probes.Load() > 3 {
		t.Errorf("%d lists, %d probes", s.lists.Load(), s.probes.Load())
	}
	if st := s.Status().Sources[0]; st.Snapshot.SetAside != nil || st.Snapshot.Unconfirmed || st.Snapshot.Restored != 10 {
		t.Errorf("%+v", st.Snapshot)
	}
	b.put(t, "end", "end")
	got := map[string]int{}
	for !strings.Contains(fmt.Sprint(got), "/end") {
		got[<-s.heard]++
	}
	want := map[string]int{}
	for name := range b.server(t) {
		want["added "+b.ns+"/"+name] = 1
	}
	if !maps.Equal(got, want) {
		t.Errorf("heard %v, want %v", got, want)
	}
	t.Logf("%d probes, %d watches", s.probes.Load(), s.watches.Load())
}

// onlyChanges: handlers hear what has changed, and no more.
func onlyChanges(t *testing.T, b *bench) {
	o := b.options()
	o.Snapshot.OnlyChanges = true
	b.firstRun(t, o)
	b.put(t, "m1", "changed")
	b.put(t, "m2", "")
	s := b.start(t, o)
	defer s.stop()
	s.synced(t)
	for _, want := range []string{"updated " + b.ns + "/m1", "deleted " + b.ns + "/m2"} {
		if got := <-s.heard; got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
	b.put(t, "m3", "last")
	if got := <-s.heard; got != "updated "+b.ns+"/m3" {
		t.Errorf("then heard %q", got)
	}
}

// forgotten: a version that the server does not know any more leads to one list.
func forgotten(t *testing.T, b *bench) {
	b.firstRun(t, b.options())
	b.put(t, "m1", "changed")
	b.put(t, "m2", "")
	must(t, b.Forget(t.Context()))
	s := b.start(t, b.options())
	defer s.stop()
	s.synced(t)
	b.equal(t, s)
	if n := s.lists.Load(); n > 1 {
		t.Errorf("%d lists", n)
	}
	t.Logf("%d lists, %d probes", s.lists.Load(), s.probes.Load())
}

// restored: a server that was restored from a backup is not taken for the one that the
// snapshot is of, although it accepts the version; be it that it has got as far since.
func restored(t *testing.T, b *bench, writes int) {
	b.put(t, "m1", "first")
	restore, err := b.Backup(t.Context())
	must(t, err)
	b.firstRun(t, b.options())
	b.goBack(t, restore)
	for i := range writes {
		b.put(t, "m1", fmt.Sprint("after ", i))
	}
	s := b.start(t, b.options())
	defer s.stop()
	s.synced(t)
	b.equal(t, s)
	st := s.Status().Sources[0]
	if st.Snapshot.SetAside == nil || st.Snapshot.Restored != 10 {
		t.Errorf("%+v", st.Snapshot)
	}
	t.Logf("%v; %d lists, %d probes", st.Snapshot.SetAside, s.lists.Load(), s.probes.Load())
}

// goBack restores the server.
func (b *bench) goBack(t *testing.T, restore func(context.Context) error) {
	t.Helper()
	must(t, restore(t.Context()))
	// A request that must not be sent twice would fail on a connection that was cut.
	utilnet.CloseIdleConnectionsFor(b.client.CoreV1().RESTClient().(*rest.RESTClient).Client.Transport)
}

// undeleted: a server that was restored from a backup and is ahead again has an object that
// the snapshot knows to be deleted, and all others as they are there.
func undeleted(t *testing.T, b *bench) {
	b.firstRun(t, b.options())
	restore, err := b.Backup(t.Context())
	must(t, err)
	s := b.start(t, b.options())
	s.synced(t)
	b.put(t, "m1", "")
	b.equal(t, s)
	s.written(t)
	s.stop()
	b.goBack(t, restore)
	elsewhere := newBench(t, b.Server)
	for i := range 30 {
		elsewhere.put(t, "other", fmt.Sprint("after ", i))
	}
	s = b.start(t, b.options())
	defer s.stop()
	s.synced(t)
	b.equal(t, s)
	if st := s.Status().Sources[0].Snapshot; st.SetAside == nil || st.Restored != 9 || len(s.store()) != 10 {
		t.Errorf("%d objects, %+v", len(s.store()), st)
	}
}

// secrets are not written without a key, and not in clear with one.
func secrets(t *testing.T, b *bench) {
	_, err := b.client.CoreV1().Secrets(b.ns).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "hidden-name"}, StringData: map[string]string{"hidden-key": "hidden-value"},
		Data: map[string][]byte{"hidden-key": []byte("hidden-value")},
	}, metav1.CreateOptions{})
	must(t, err)
	for _, key := range [][]byte{nil, bytes.Repeat([]byte{5}, 32)} {
		o := b.options()
		o.Snapshot.Key = key
		inf, err := kinform.New[*corev1.Secret](b.Config, o)
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- inf.Run(ctx) }()
		must(t, inf.WaitSynced(ctx))
		cancel()
		must(t, <-ended)
		files := 0
		must(t, filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if len(text) > 0 {
				files++
			}
			for _, word := range []string{"hidden", "aGlkZGVu"} {
				if bytes.Contains(text, []byte(word)) {
					t.Errorf("%s has %q", path, word)
				}
			}
			return err
		}))
		if st := inf.Status().Sources[0].Snapshot; (files > 0) != (key != nil) || (st.Failure == nil) != (key != nil) {
			t.Errorf("with a key: %v: %d files, %+v", key != nil, files, st)
		}
	}
}
