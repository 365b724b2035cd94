package cache_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/predicate"
)

// TestFilterThatDoesNotFit: the informer says so when the handler is added.
func TestFilterThatDoesNotFit(t *testing.T) {
	inf := cache.NewSharedIndexInformer(newServer(newTrace()), &corev1.ConfigMap{}, 0, nil)
	for _, test := range []struct {
		h    cache.ResourceEventHandler
		want string
	}{
		{(*cache.FilteringUpdateHandler)(nil), "no Handler"},
		{cache.FilteringUpdateHandler{Handler: cache.FilteringUpdateHandler{Predicate: predicate.SpecChanged(), Handler: &told{}}}, `no field "spec"`},
		{cache.FilteringUpdateHandler{Predicate: predicate.LabelsChanged(), Handler: cache.FilteringUpdateHandler{}}, "no Handler"},
		{cache.FilteringUpdateHandler{Predicate: predicate.SpecChanged(), Handler: &told{}}, `v1.ConfigMap has no field "spec"`},
		{cache.FilteringUpdateHandler{Predicate: predicate.Changed("a["), Handler: &told{}}, `path "a["`},
		{cache.FilteringUpdateHandler{Predicate: predicate.LabelsChanged()}, "no Handler"},
	} {
		if _, err := inf.AddEventHandler(test.h); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
	if _, err := inf.AddEventHandler(cache.FilteringUpdateHandler{Predicate: predicate.LabelsChanged(), Handler: &told{}}); err != nil {
		t.Error(err)
	}
	values := cache.NewSharedIndexInformer(newServer(newTrace()), byValue{}, 0, nil)
	if _, err := values.AddEventHandler(cache.FilteringUpdateHandler{Predicate: predicate.SpecChanged(), Handler: &told{}}); err == nil ||
		!strings.Contains(err.Error(), `byValue has no field "spec"`) {
		t.Error(err)
	}
}

// byValue is an object that is no pointer.
type byValue struct{ Name string }

func (byValue) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (v byValue) DeepCopyObject() runtime.Object { return v }
