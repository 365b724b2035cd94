package ctrlcache_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// picky is a config map of a program's own, whose decoder does not like everything.
type picky struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Data              struct {
		Color color `json:"color"`
	} `json:"data"`
}

type color string

func (c *color) UnmarshalJSON(b []byte) error {
	switch *c = color(b); *c {
	case `"grey"`:
		return errors.New("grey is no color")
	case `"black"`:
		panic("black is no color")
	}
	return nil
}

func (p *picky) DeepCopyObject() runtime.Object { c := *p; return &c }

type pickyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []picky `json:"items"`
}

func (p *pickyList) DeepCopyObject() runtime.Object { c := *p; return &c }

// TestLongList: a list that is read by several goroutines has each object once, and
// those that cannot be decoded are left out, however that shows.
func TestLongList(t *testing.T) {
	e := newEnv(t)
	const n = 600
	var want []string
	for i := range n {
		name, of := fmt.Sprintf("%03d", i), "red"
		switch {
		case i == 0 || i == 250 || i == 251:
			of = "grey"
		case i == 400 || i == n-1:
			of = "black"
		default:
			want = append(want, name)
		}
		e.create(configMap("default", name, of))
	}
	scheme := runtime.NewScheme()
	gvk := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	scheme.AddKnownTypeWithName(gvk, &picky{})
	scheme.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("ConfigMapList"), &pickyList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	c := e.cache(cache.Options{Scheme: scheme})
	e.start(c)
	for range 2 {
		var list pickyList
		if err := c.List(e.ctx, &list); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range list.Items {
			if o := &list.Items[i]; o.Namespace == "default" {
				got = append(got, o.Name)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("listed %d objects, want %d", len(got), len(want))
		}
	}
}

// uncopied is a config map that cannot be copied.
type uncopied struct{ picky }

func (u *uncopied) DeepCopyObject() runtime.Object { panic("no copies") }

type uncopiedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []uncopied `json:"items"`
}

func (u *uncopiedList) DeepCopyObject() runtime.Object { c := *u; return &c }

// TestPanicInLongList: a panic of a type's own methods is one of whoever lists, who may
// recover from it, as controllers do.
func TestPanicInLongList(t *testing.T) {
	e := newEnv(t)
	const n = 200
	for i := range n {
		e.create(configMap("default", fmt.Sprint(i), "red"))
	}
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &uncopied{})
	scheme.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("ConfigMapList"), &uncopiedList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	keep := func(obj any) (any, error) { return obj, nil }
	c := e.cache(cache.Options{Scheme: scheme, DefaultTransform: keep}) // what is transformed is copied
	e.start(c)
	var panicked any
	func() {
		defer func() { panicked = recover() }()
		if err := c.List(e.ctx, &uncopiedList{}); err != nil {
			t.Error(err)
		}
	}()
	if panicked != "no copies" {
		t.Errorf("recovered %v", panicked)
	}
}
