package ctrlcache_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sized is a Go type for widgets that have a number for a size.
type sized struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Size              int `json:"size"`
}

func (s *sized) DeepCopyObject() runtime.Object {
	c := *s
	s.DeepCopyInto(&c.ObjectMeta)
	return &c
}

type sizedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []sized `json:"items"`
}

func (s *sizedList) DeepCopyObject() runtime.Object {
	c := *s
	return &c
}

func sizedScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(widgets, &sized{})
	s.AddKnownTypeWithName(widgets.GroupVersion().WithKind("WidgetList"), &sizedList{})
	metav1.AddToGroupVersion(s, widgets.GroupVersion())
	return s
}

// TestEndOfWhatCannotBeRead: an object that the Go type does not fit any more is deleted.
// Handlers get its end with an object that says which one it was: those of
// controller-runtime leave out what has none, or panic.
func TestEndOfWhatCannotBeRead(t *testing.T) {
	e := newEnv(t)
	e.create(widgetDefinition())
	w := widget("a")
	w.Object["size"] = int64(1)
	e.create(w)
	c := e.cache(cache.Options{Scheme: sizedScheme()})
	e.start(c)
	i := e.informer(c, &sized{})
	ends, adds := make(chan any, 10), make(chan any, 10)
	if _, err := i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { adds <- obj },
		DeleteFunc: func(obj any) { ends <- obj },
	}); err != nil {
		t.Fatal(err)
	}
	await(e, "an addition", adds)
	w.Object["size"] = "large"
	if err := e.direct.Update(e.ctx, w); err != nil {
		t.Fatal(err)
	}
	if err := e.direct.Delete(e.ctx, w); err != nil {
		t.Fatal(err)
	}
	end, ok := await(e, "the end", ends).(toolscache.DeletedFinalStateUnknown)
	if !ok {
		t.Fatalf("the end is a %T", end)
	}
	obj, ok := end.Obj.(client.Object)
	if !ok || obj.GetName() != "a" || obj.GetNamespace() != "default" || obj.GetUID() != w.GetUID() {
		text, _ := json.Marshal(end.Obj)
		t.Errorf("the end of %s has %T %s", end.Key, end.Obj, text)
	}
}

// TestIndexFunctionThatPanics: it ends nothing, and what it leaves out is logged.
func TestIndexFunctionThatPanics(t *testing.T) {
	e := newEnv(t)
	c := e.cache(cache.Options{})
	e.index(c, "color", func(obj client.Object) []string {
		if obj.GetName() == "panics" {
			panic("no color")
		}
		return nil
	})
	e.start(c)
	calls := e.follow(e.informer(c, &corev1.ConfigMap{}))
	e.create(configMap("default", "panics", "red"), configMap("default", "good", "red"))
	if h := await(e, "a call of the handler", calls); h.obj.GetName() != "good" {
		t.Errorf("heard of %s", h.obj.GetName())
	}
	found := false
	logged.Range(func(line, _ any) bool {
		found = strings.Contains(line.(string), "default/panics") && strings.Contains(line.(string), "no color")
		return !found
	})
	if !found {
		t.Error("nothing is logged of it")
	}
}
