package kinform_test

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/internal/contract"
)

// TestScopeChanges: no event comes twice and none is missed, whatever the scope was and
// becomes.
func TestScopeChanges(t *testing.T) {
	contract.ScopeChanges(t, embedded(t).Config, 200)
}

// twoNamespaces starts a server with a config map in each of the namespaces one and two.
func twoNamespaces(t *testing.T) *apisim.Server {
	t.Helper()
	s := startSim(t, apisim.Options{})
	maps := kubernetes.NewForConfigOrDie(s.Config()).CoreV1()
	for _, ns := range []string{"one", "two"} {
		_, err := maps.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
		if err == nil {
			_, err = maps.ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestSnapshotOfAScopeNotListed: what is left of the scope before is not taken for the
// new one, if the program ends before that is listed.
func TestSnapshotOfAScopeNotListed(t *testing.T) {
	s := twoNamespaces(t)
	o := kinform.Options{Namespaces: []string{"one"}, Snapshot: kinform.SnapshotOptions{Dir: t.TempDir()}}
	inf := newInformer[*corev1.ConfigMap](t, s.Config(), o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	if err := inf.WaitSynced(within(t)); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 1)
	heal := s.Inject(apisim.Fault{Hang: true, Match: apisim.Match{Func: func(r *http.Request) bool {
		all := r.URL.Path == "/api/v1/configmaps"
		if all {
			select {
			case asked <- struct{}{}:
			default:
			}
		}
		return all
	}}})
	if err := inf.SetScope(kinform.Scope{}); err != nil {
		t.Fatal(err)
	}
	<-asked
	cancel()
	<-ended
	heal()
	o.Namespaces = nil
	next := newInformer[*corev1.ConfigMap](t, s.Config(), o)
	once(t, next)
	if st := next.Status(); st.Objects != 2 || st.Sources[0].Snapshot.Restored != 0 {
		t.Errorf("the next start: %s, %+v", st, st.Sources[0].Snapshot)
	}
}

// TestSnapshotOfAScope: the disk has what is in the scope when the program ends, and
// nothing of what has left it.
func TestSnapshotOfAScope(t *testing.T) {
	s, dir := twoNamespaces(t), t.TempDir()
	o := kinform.Options{Namespaces: []string{"one"}, Snapshot: kinform.SnapshotOptions{Dir: dir}}
	once(t, newInformer[*corev1.ConfigMap](t, s.Config(), o)) // which leaves a file
	inf := newInformer[*corev1.ConfigMap](t, s.Config(), o)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- inf.Run(ctx) }()
	if err := inf.WaitSynced(within(t)); err != nil {
		t.Fatal(err)
	}
	left := inf.Status().Sources[0].Snapshot
	if left.Restored != 1 {
		t.Errorf("it began with %d objects, want 1", left.Restored)
	}
	if err := inf.SetScope(kinform.Scope{Namespaces: []string{"two"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file of the namespace that left: %v, want that there is none", err)
	}
	if err := inf.WaitSynced(within(t)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	o.Namespaces = []string{"two"}
	next := newInformer[*corev1.ConfigMap](t, s.Config(), o)
	once(t, next)
	if st := next.Status(); st.Objects != 1 || st.Sources[0].Snapshot.Restored != 1 {
		t.Errorf("the next start: %s, %+v", st, st.Sources[0].Snapshot)
	}
}
