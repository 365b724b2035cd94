package kinform_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/warmstart"
	"github.com/kinform/kinform/snapshot"
)

func TestMain(m *testing.M) {
	warmstart.Child()
	os.Exit(m.Run())
}

// TestWarmStart runs the tests of starts from disk on the embedded server.
func TestWarmStart(t *testing.T) {
	s := startSim(t, apisim.Options{})
	warmstart.Run(t, warmstart.Server{
		Config: s.Config(),
		Forget: func(context.Context) error { s.ForgetHistory(); return nil },
		Backup: func(context.Context) (func(context.Context) error, error) {
			saved := s.Snapshot()
			return func(context.Context) error { s.Restore(saved); return nil }, nil
		},
	})
}

// TestSnapshotOfAnotherServer is set aside before anything of it can be read.
func TestSnapshotOfAnotherServer(t *testing.T) {
	one, two, dir := startSim(t, apisim.Options{}), startSim(t, apisim.Options{}), t.TempDir()
	create(t, client(t, one), core("configmaps"), "default", configMap("a", "1"))
	o := kinform.Options{Snapshot: kinform.SnapshotOptions{Dir: dir}}
	once(t, newInformer[*corev1.ConfigMap](t, one.Config(), o))
	inf := newInformer[*corev1.ConfigMap](t, two.Config(), o)
	once(t, inf)
	st := inf.Status().Sources[0].Snapshot
	if !errors.Is(st.SetAside, snapshot.ErrServer) || st.Restored != 0 || inf.Status().Objects != 0 {
		t.Errorf("%+v, %d objects", st, inf.Status().Objects)
	}
}

// TestSnapshotOfAFolderThatIsNone: the informer does without, and says why.
func TestSnapshotOfAFolderThatIsNone(t *testing.T) {
	s, file := startSim(t, apisim.Options{}), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, client(t, s), core("configmaps"), "default", configMap("a", "1"))
	inf := newInformer[*corev1.ConfigMap](t, s.Config(), kinform.Options{Snapshot: kinform.SnapshotOptions{Dir: file}})
	once(t, inf)
	if st := inf.Status(); st.Objects != 1 || st.Sources[0].Snapshot.Failure == nil {
		t.Errorf("%v, %+v", st, st.Sources[0].Snapshot)
	}
}

// once runs an informer until it has synced, and stops it.
func once(t *testing.T, inf *kinform.Informer[*corev1.ConfigMap]) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	if err := inf.WaitSynced(within(t)); err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
}

// TestLeaseStartsFromDisk: who acquires what was let go does not list it again.
func TestLeaseStartsFromDisk(t *testing.T) {
	s := startSim(t, apisim.Options{})
	create(t, client(t, s), core("configmaps"), "default", configMap("a", "x"))
	f, err := kinform.NewFactory(s.Config(), kinform.Options{Snapshot: kinform.SnapshotOptions{Dir: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Shutdown()
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		l, err := kinform.Acquire[*corev1.ConfigMap](f, kinform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.WaitSynced(within(t)); err != nil {
			t.Fatal(err)
		}
		if st := l.Status().Sources[0].Snapshot; i > 0 && (st.Restored != 1 || st.SetAside != nil) {
			t.Errorf("lease %d: %+v", i, st)
		}
		l.Release()
		<-l.Done()
	}
}

// TestSnapshotKeyErased: a program may erase the key that it has given.
func TestSnapshotKeyErased(t *testing.T) {
	s := startSim(t, apisim.Options{})
	create(t, client(t, s), core("configmaps"), "default", configMap("a", "x"))
	o := kinform.Options{Snapshot: kinform.SnapshotOptions{Dir: t.TempDir()}}
	for i := range 2 {
		o.Snapshot.Key = bytes.Repeat([]byte{7}, 32)
		inf := newInformer[*corev1.ConfigMap](t, s.Config(), o)
		clear(o.Snapshot.Key)
		once(t, inf)
		if st := inf.Status().Sources[0].Snapshot; st.Restored != i {
			t.Errorf("run %d: %+v", i, st)
		}
	}
}
