package kinform_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/apisim"
)

// misspelt names what pods have, and what they do not have.
type misspelt struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            struct {
		NodeName   string `json:"nodeName"`
		Nodename   string `json:"nodename"`
		Containers []struct {
			Image string `json:"image"`
			Pict  string `json:"pict"`
		} `json:"containers"`
	} `json:"spec"`
	Stats *struct {
		Phase string `json:"phase"`
	} `json:"stats"`
}

// TestUnseenNames: where nobody knows what objects have, the names that none of them has
// are in the status, and after many objects in the log.
func TestUnseenNames(t *testing.T) {
	server, _ := loaded(t, 120)
	var logged bytes.Buffer
	pods, err := kinform.New[*unstructured.Unstructured](server.Config(), kinform.Options{
		Resource: corev1.SchemeGroupVersion.WithResource("pods"), Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	part, err := kinform.View[*misspelt](pods)
	if err != nil {
		t.Fatal(err)
	}
	run(t, pods)
	if names := pods.Status().Unseen; len(names) != 0 {
		t.Errorf("before anything was decoded: %q", names)
	}
	first := slices.Collect(pods.Lister().Keys(nil))[0]
	if _, err := part.Lister().Get(first); err != nil {
		t.Fatal(err)
	}
	want := []string{"*kinform_test.misspelt: spec.nodename", "*kinform_test.misspelt: spec.containers.pict", "*kinform_test.misspelt: stats"}
	if names := part.Status().Unseen; !slices.Equal(names, want) || logged.Len() > 0 {
		t.Errorf("after one object: %q; logged: %s", names, logged.String())
	}
	for range part.Lister().All() {
	}
	if names := part.Status().Unseen; !slices.Equal(names, want) {
		t.Errorf("after all objects: %q", names)
	}
	if lines := strings.Count(logged.String(), "\n"); lines != 1 || !strings.Contains(logged.String(), "spec.nodename, spec.containers.pict, stats") {
		t.Errorf("logged: %s", logged.String())
	}
}

// curious is a log handler that asks the informer how it is when names were in no object.
type curious struct {
	slog.Handler
	ask func()
}

func (curious) Enabled(context.Context, slog.Level) bool { return true }

func (c curious) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "no object has") {
		c.ask()
	}
	return nil
}

// TestUnseenNamesAndCuriousLog: the log may ask for Status, which has the names, too.
func TestUnseenNamesAndCuriousLog(t *testing.T) {
	server, _ := loaded(t, 120)
	var pods *kinform.Informer[*unstructured.Unstructured]
	var told []string
	pods, err := kinform.New[*unstructured.Unstructured](server.Config(), kinform.Options{
		Resource: corev1.SchemeGroupVersion.WithResource("pods"),
		Logger:   slog.New(curious{slog.DiscardHandler, func() { told = pods.Status().Unseen }}),
	})
	if err != nil {
		t.Fatal(err)
	}
	part, err := kinform.View[*misspelt](pods)
	if err != nil {
		t.Fatal(err)
	}
	run(t, pods)
	for range part.Lister().All() {
	}
	if len(told) != 3 {
		t.Errorf("the log was told %q", told)
	}
}

// podLike is a type as generators make them for custom resources.
type podLike struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              struct {
		NodeName   string             `json:"nodeName"`
		Containers []corev1.Container `json:"containers"`
	} `json:"spec"`
	Status *struct {
		Phase corev1.PodPhase `json:"phase"`
	} `json:"status"`
}

func (p *podLike) DeepCopyObject() runtime.Object { c := *p; return &c }

// TestNamesAreChecked with the informer's Go type, also where objects come as JSON.
func TestNamesAreChecked(t *testing.T) {
	cfg := startSim(t, apisim.Options{}).Config()
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	own, err := kinform.New[*podLike](cfg, kinform.Options{Resource: resource})
	if err != nil {
		t.Fatal(err)
	}
	builtin, err := kinform.New[*corev1.Pod](cfg, kinform.Options{JSON: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		view func() error
		want string
	}{
		{func() error { _, err := kinform.View[*misspelt](own); return err }, "nodename: struct"},
		{func() error { _, err := kinform.View[*misspelt](builtin); return err }, "spec.nodename: v1.PodSpec has no such field; did you mean nodeName?"},
		{func() error { _, err := kinform.View[*podLite](builtin); return err }, ""},
		{func() error { _, err := kinform.View[*corev1.Pod](own); return err }, ""},
		{func() error { _, err := kinform.View[*unstructured.Unstructured](own); return err }, ""},
		{func() error {
			_, err := kinform.View[*struct {
				Spec struct {
					NodeName int `json:"nodeName"`
				} `json:"spec"`
			}](own)
			return err
		}, "spec.nodeName: a int cannot be read from a string"},
		{func() error {
			_, err := kinform.View[*struct {
				Metadata struct {
					Labels map[string]string `json:"labels"`
				} `json:"metadata"`
				Spec   any `json:"spec"`
				Status struct {
					Phase string `json:"phase"`
				} `json:"status"`
			}](own)
			return err
		}, ""},
		{func() error { _, err := own.Field("spec.nodeNam"); return err }, "did you mean nodeName?"},
		{func() error {
			part, err := kinform.View[*struct {
				Status struct {
					Phase string `json:"phase"`
				} `json:"status"`
			}](own)
			if err != nil {
				return err
			}
			_, err = kinform.FieldOf[string](part, "spec.nodeName") // which that struct does not have
			return err
		}, ""},
	} {
		switch err := test.view(); {
		case test.want == "" && err != nil:
			t.Error(err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}
