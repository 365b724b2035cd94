package kinform_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

// nowhere is a server that nobody asks anything.
var nowhere = &rest.Config{Host: "http://127.0.0.1:1"}

func newFactory(t *testing.T, cfg *rest.Config, defaults kinform.Options) *kinform.Factory {
	t.Helper()
	f, err := kinform.NewFactory(cfg, defaults)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSharingNamesConflicts: an option that readers of one watch cannot have different
// values of is never silently that of the first.
func TestSharingNamesConflicts(t *testing.T) {
	tests := []struct {
		option           string
		o                kinform.Options
		existing, wanted string
	}{
		{"DropManagedFields", kinform.Options{DropManagedFields: true}, "false", "true"},
		{"PageSize", kinform.Options{PageSize: 7}, "0", "7"},
		{"FromCache", kinform.Options{FromCache: true}, "false", "true"},
		{"WatchList", kinform.Options{WatchList: true}, "false", "true"},
		{"JSON", kinform.Options{JSON: true}, "false", "true"},
		{"Compression", kinform.Options{Compression: kinform.CompressionNever}, "far", "never"},
		{"Residency", kinform.Options{Residency: kinform.ResidencyAlways}, "automatic", "always"},
		{"Residency", kinform.Options{Residency: 4096}, "automatic", "4096 bytes"},
		{"MaxObjectSize", kinform.Options{MaxObjectSize: 1}, "67108864", "1"},
		{"Silence", kinform.Options{Silence: time.Second}, "2m30s", "1s"},
		{"Policy", kinform.Options{Policy: kinform.PolicyFailFast}, "keep-trying", "fail-fast"},
		{"Backoff", kinform.Options{Backoff: kinform.Backoff{First: time.Second}}, "800ms to 30s", "1s to 30s"},
		{"MutationDetector", kinform.Options{MutationDetector: kinform.MutationDetectorFull}, "off", "full"},
		{"Snapshot", kinform.Options{Snapshot: kinform.SnapshotOptions{Dir: "/d", OnlyChanges: true}}, "none", "/d, only changes"},
		{"Snapshot", kinform.Options{Snapshot: kinform.SnapshotOptions{Dir: "/d", Key: make([]byte, 32)}}, "none", "/d, sealed with key 66687aad"},
	}
	for _, test := range tests {
		t.Run(test.option+" "+test.wanted, func(t *testing.T) {
			f := newFactory(t, nowhere, kinform.Options{})
			if _, err := kinform.For[*corev1.Pod](f, kinform.Options{}); err != nil {
				t.Fatal(err)
			}
			_, err := kinform.For[*corev1.Pod](f, test.o)
			var conflict *kinform.ConflictError
			if !errors.As(err, &conflict) || conflict.Option != test.option || conflict.Existing != test.existing || conflict.Wanted != test.wanted {
				t.Fatalf("got %v, want a conflict of %s: %s and %s", err, test.option, test.existing, test.wanted)
			}
			for _, word := range []string{"pods", test.option, test.existing, test.wanted} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q does not name %s", err, word)
				}
			}
		})
	}
}

// TestSharingComparesMeaning: what is written otherwise and means the same is shared.
func TestSharingComparesMeaning(t *testing.T) {
	f := newFactory(t, nowhere, kinform.Options{Silence: time.Minute})
	for _, o := range []kinform.Options{
		{LabelSelector: "app=web,tier in (a, b)", FieldSelector: "spec.nodeName=n,status.phase!=Failed", Namespaces: []string{"x", "y"}},
		{LabelSelector: "tier in (b,a), app == web", FieldSelector: "status.phase!=Failed,spec.nodeName==n", Namespaces: []string{"y", "x", "y"}},
		{LabelSelector: "app=web,tier in (a, b)", FieldSelector: "spec.nodeName=n,status.phase!=Failed", Namespaces: []string{"x", "y"},
			Silence: time.Minute, MaxObjectSize: 64 << 20, Backoff: kinform.Backoff{Most: 30 * time.Second}},
	} {
		if _, err := kinform.For[*corev1.Pod](f, o); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := kinform.For[*metav1.PartialObjectMetadata](f, kinform.Options{Resource: corev1.SchemeGroupVersion.WithResource("pods"),
		LabelSelector: "app=web,tier in (a, b)", FieldSelector: "spec.nodeName=n,status.phase!=Failed", Namespaces: []string{"x", "y"}}); err != nil {
		t.Fatal(err)
	}
	if n := len(f.Status()); n != 1 {
		t.Errorf("%d watches, want 1", n)
	}
	if _, err := kinform.For[*corev1.Pod](f, kinform.Options{LabelSelector: "app=db"}); err != nil {
		t.Fatal(err)
	}
	if n := len(f.Status()); n != 2 {
		t.Errorf("%d watches with another selector, want 2", n)
	}
}

// TestSharingCallsEveryReadersHooks: loggers and hooks are each reader's own, and the
// factory's are called once however many readers have them.
func TestSharingCallsEveryReadersHooks(t *testing.T) {
	s := startSim(t, apisim.Options{})
	cfg := s.Config()
	cfg.BearerToken = "nobody"
	if err := s.Close(); err != nil { // nobody listens
		t.Fatal(err)
	}
	var shared, mine journal
	failures := make(chan string, 100)
	hook := func(name string) func(error) {
		return func(error) {
			select {
			case failures <- name:
			default:
			}
		}
	}
	f := newFactory(t, cfg, kinform.Options{OnFailure: hook("factory"), Logger: shared.logger()})
	for _, o := range []kinform.Options{{}, {}, {OnFailure: hook("reader"), Logger: mine.logger()}} {
		if _, err := kinform.For[*corev1.Pod](f, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := []string{<-failures, <-failures}
	f.Shutdown()
	if got[0] != "factory" || got[1] != "reader" {
		t.Errorf("hooks called: %q", got)
	}
	if len(shared.lines()) == 0 || len(mine.lines()) == 0 {
		t.Errorf("logged: %q and %q", shared.lines(), mine.lines())
	}
}

// TestOptionsAreChecked: what is wrong with each option, and what would be right.
func TestOptionsAreChecked(t *testing.T) {
	tests := []struct {
		o    kinform.Options
		want string
	}{
		{kinform.Options{Resource: schema.GroupVersionResource{Group: "apps"}}, "Options.Resource has a group"},
		{kinform.Options{Resource: schema.GroupVersionResource{Resource: "pods"}}, "set Options.Resource.Version"},
		{kinform.Options{LabelSelector: "a=="}, ""},
		{kinform.Options{LabelSelector: "a b"}, "Options.LabelSelector"},
		{kinform.Options{FieldSelector: "a"}, "Options.FieldSelector"},
		{kinform.Options{Namespaces: []string{""}}, "leave the list empty"},
		{kinform.Options{Namespaces: []string{"a/b"}}, "is not the name of a namespace"},
		{kinform.Options{PageSize: -1}, "0, for no pages"},
		{kinform.Options{MaxObjectSize: -1}, "default of 67108864"},
		{kinform.Options{Silence: -1}, "default of 2m30s"},
		{kinform.Options{Silence: 150}, "Options.Silence is 150ns, less than a millisecond"},
		{kinform.Options{Poll: 30}, "Options.Poll is 30ns, less than a millisecond"},
		{kinform.Options{Backoff: kinform.Backoff{First: 1, Most: time.Minute}}, "Options.Backoff.First is 1ns, less than a millisecond"},
		{kinform.Options{Backoff: kinform.Backoff{First: -1}}, "Options.Backoff"},
		{kinform.Options{Backoff: kinform.Backoff{First: time.Minute}}, "First is at most Most"},
		{kinform.Options{Compression: 9}, "CompressionFar, CompressionAlways and CompressionNever"},
		{kinform.Options{Residency: -9}, "ResidencyAutomatic, ResidencyAlways and ResidencyNever"},
		{kinform.Options{Policy: 9}, "PolicyKeepTrying, PolicyFailFast and PolicyOptional"},
		{kinform.Options{Snapshot: kinform.SnapshotOptions{OnlyChanges: true}}, "Snapshot has no Dir"},
		{kinform.Options{Snapshot: kinform.SnapshotOptions{Dir: "d", Key: []byte("short")}}, "32"},
		{kinform.Options{MutationDetector: 9}, "MutationDetectorOff, MutationDetectorSampled and MutationDetectorFull"},
	}
	for _, test := range tests {
		_, err := kinform.New[*corev1.Pod](nowhere, test.o)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: got %v, want %q", test.o, err, test.want)
		}
	}
	if _, err := kinform.NewFactory(nowhere, kinform.Options{Resource: corev1.SchemeGroupVersion.WithResource("pods")}); err == nil {
		t.Error("a factory takes a resource for a default")
	}
}

// TestWhatIsMissingIsSaid: what a program forgot is an error where it forgot it.
func TestWhatIsMissingIsSaid(t *testing.T) {
	_, noConfig := kinform.New[*corev1.Pod](nil, kinform.Options{})
	_, noFactoryConfig := kinform.NewFactory(nil, kinform.Options{})
	_, noObject := kinform.New[*corev1.PodList](nowhere, kinform.Options{})
	_, noFunction := newInformer[*corev1.Pod](t, nowhere, kinform.Options{}).AddIndex("node", nil)
	for want, err := range map[string]error{
		"the rest.Config is nil":       errors.Join(noConfig, noFactoryConfig),
		"v1.PodList is no object":      noObject,
		`index "node" has no function`: noFunction,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestNotFoundIsApimachinerys(t *testing.T) {
	inf := newInformer[*corev1.Pod](t, nowhere, kinform.Options{Logger: slog.New(slog.DiscardHandler)})
	_, err := inf.Lister().Get("default/a")
	if !errors.Is(err, kinform.ErrNotFound) || !apierrors.IsNotFound(err) {
		t.Errorf("%v: ErrNotFound %t, IsNotFound %t", err, errors.Is(err, kinform.ErrNotFound), apierrors.IsNotFound(err))
	}
}

// TestDescribeShowsDetectorAndCompression: what was asked for is shown, and what was
// not, as its default.
func TestDescribeShowsDetectorAndCompression(t *testing.T) {
	for _, test := range []struct {
		o    kinform.Options
		want []string
	}{
		{kinform.Options{}, []string{"compression         far", "mutation detector   off"}},
		{kinform.Options{Compression: kinform.CompressionNever, MutationDetector: kinform.MutationDetectorSampled},
			[]string{"compression         never", "mutation detector   sampled"}},
	} {
		text := newInformer[*corev1.Pod](t, nowhere, test.o).Describe().String()
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in\n%s", want, text)
			}
		}
	}
}
