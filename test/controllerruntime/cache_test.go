package controllerruntime

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var configMaps = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func typeName(obj runtime.Object) string { return fmt.Sprintf("%T", obj) }

func configMap(namespace, name, color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"color": color}},
		Data:       map[string]string{"color": color},
	}
}

// cacheOn starts a cache, and returns it with a way to stop it and wait.
func (e *env) cacheOn(o ctrlcache.Options, prepare ...func(ctrlcache.Cache)) (ctrlcache.Cache, func()) {
	e.t.Helper()
	o.NewInformer = e.newInformer
	c, err := ctrlcache.New(e.config, o)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, f := range prepare {
		f(c)
	}
	ctx, cancel := context.WithCancel(e.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := c.Start(ctx); err != nil {
			e.t.Errorf("cache: %v", err)
		}
	}()
	if !c.WaitForCacheSync(ctx) {
		e.t.Fatal("the cache did not sync")
	}
	return c, func() {
		cancel()
		e.wait("stop of the cache", ended)
	}
}

// follow returns a function that waits until an informer has told of an object.
func (e *env) follow(c ctrlcache.Cache, obj client.Object) func(told func(client.Object) bool) {
	e.t.Helper()
	i, err := c.GetInformer(e.ctx, obj)
	if err != nil {
		e.t.Fatal(err)
	}
	events := make(chan client.Object, 1000)
	_, err = i.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events <- obj.(client.Object) },
		UpdateFunc: func(_, obj any) { events <- obj.(client.Object) },
		DeleteFunc: func(obj any) { events <- &metav1.PartialObjectMetadata{} },
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return func(told func(client.Object) bool) {
		e.t.Helper()
		for {
			select {
			case obj := <-events:
				if told(obj) {
					return
				}
			case <-e.ctx.Done():
				e.t.Fatal("the informer did not tell")
			}
		}
	}
}

// at is told of one version of one object.
func at(obj client.Object) func(client.Object) bool {
	return func(told client.Object) bool {
		return told.GetName() == obj.GetName() && told.GetResourceVersion() == obj.GetResourceVersion()
	}
}

func (e *env) get(r client.Reader, name string, obj client.Object) {
	e.t.Helper()
	if err := r.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, obj); err != nil {
		e.t.Errorf("get %T %s: %v", obj, name, err)
	}
}

// names lists the names of what a reader finds.
func (e *env) names(r client.Reader, list client.ObjectList, o ...client.ListOption) []string {
	e.t.Helper()
	if err := r.List(e.ctx, list, o...); err != nil {
		e.t.Errorf("list %T: %v", list, err)
	}
	var names []string
	switch list := list.(type) {
	case *corev1.ConfigMapList:
		for _, item := range list.Items {
			names = append(names, item.Name)
		}
	case *unstructured.UnstructuredList:
		for _, item := range list.Items {
			names = append(names, item.GetName())
		}
	case *metav1.PartialObjectMetadataList:
		for _, item := range list.Items {
			names = append(names, item.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (e *env) equal(what string, got, want any) {
	e.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		e.t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// TestReads: what the cache gives is what the server gives, typed, unstructured
// and as metadata, before and after a change.
func TestReads(t *testing.T) {
	forEach(t, "reads", func(t *testing.T, e *env) {
		e.create(configMap(e.namespace, "a", "red"), configMap(e.namespace, "b", "blue"))
		c, stop := e.cacheOn(ctrlcache.Options{})
		defer stop()
		follow := e.follow(c, &corev1.ConfigMap{})
		e.follow(c, newUnstructured())
		e.follow(c, newMetadata())

		changed := configMap(e.namespace, "a", "green")
		if err := e.direct.Update(e.ctx, changed); err != nil {
			t.Fatal(err)
		}
		follow(at(changed))
		e.compareReads(c, "b")

		var missing corev1.ConfigMap
		if err := c.Get(e.ctx, client.ObjectKey{Namespace: e.namespace, Name: "none"}, &missing); !apierrors.IsNotFound(err) {
			t.Errorf("get what is not there: %v", err)
		}
		in := client.InNamespace(e.namespace)
		own := client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(labels.Set{"color": "blue"})}
		e.equal("typed list", e.names(c, &corev1.ConfigMapList{}, in, own), []string{"b"})
		e.equal("unstructured list", e.names(c, unstructuredList(), in, own), []string{"b"})
		e.equal("metadata list", e.names(c, metadataList(), in, own), []string{"b"})
	})
}

// compareReads compares one object, read past the cache and through it, in all forms.
func (e *env) compareReads(c client.Reader, name string) {
	e.t.Helper()
	for _, forms := range [][2]client.Object{
		{&corev1.ConfigMap{}, &corev1.ConfigMap{}},
		{newUnstructured(), newUnstructured()},
		{newMetadata(), newMetadata()},
	} {
		e.get(e.direct, name, forms[0])
		e.get(c, name, forms[1])
		// Readers say what kind it is, typed or not; typed clients do not.
		forms[0].GetObjectKind().SetGroupVersionKind(configMaps)
		e.equal(typeName(forms[0]), forms[1], forms[0])
	}
}

func newUnstructured() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(configMaps)
	return u
}

func newMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(configMaps)
	return m
}

func unstructuredList() *unstructured.UnstructuredList {
	u := &unstructured.UnstructuredList{}
	u.SetGroupVersionKind(configMaps.GroupVersion().WithKind("ConfigMapList"))
	return u
}

func metadataList() *metav1.PartialObjectMetadataList {
	m := &metav1.PartialObjectMetadataList{}
	m.SetGroupVersionKind(configMaps.GroupVersion().WithKind("ConfigMapList"))
	return m
}

// TestFieldIndexes: objects are found by fields, also by those that change.
func TestFieldIndexes(t *testing.T) {
	forEach(t, "fields", func(t *testing.T, e *env) {
		e.create(configMap(e.namespace, "a", "red"), configMap(e.namespace, "b", "blue"), configMap(e.namespace, "c", "red"))
		byColor := func(obj client.Object) []string { return []string{obj.(*corev1.ConfigMap).Data["color"]} }
		c, stop := e.cacheOn(ctrlcache.Options{}, func(c ctrlcache.Cache) {
			if err := c.IndexField(e.ctx, &corev1.ConfigMap{}, "data.color", byColor); err != nil {
				t.Fatal(err)
			}
		})
		defer stop()
		follow := e.follow(c, &corev1.ConfigMap{})
		red := []client.ListOption{client.InNamespace(e.namespace), client.MatchingFields{"data.color": "red"}}
		e.equal("red", e.names(c, &corev1.ConfigMapList{}, red...), []string{"a", "c"})

		changed := configMap(e.namespace, "a", "blue")
		if err := e.direct.Update(e.ctx, changed); err != nil {
			t.Fatal(err)
		}
		follow(at(changed))
		e.equal("red after a change", e.names(c, &corev1.ConfigMapList{}, red...), []string{"c"})

		// An index that comes while the cache runs, and is used for all namespaces.
		byName := func(obj client.Object) []string { return []string{obj.GetNamespace() + "." + obj.GetName()} }
		if err := c.IndexField(e.ctx, &corev1.ConfigMap{}, "name", byName); err != nil {
			t.Fatal(err)
		}
		e.equal("by name", e.names(c, &corev1.ConfigMapList{}, client.MatchingFields{"name": e.namespace + ".b"}), []string{"b"})
		if err := c.IndexField(e.ctx, &corev1.ConfigMap{}, "name", byName); err == nil {
			t.Error("an index was added twice")
		}
		if err := c.List(e.ctx, &corev1.ConfigMapList{}, client.MatchingFields{"none": "b"}); err == nil {
			t.Error("an index that is not there was used")
		}
	})
}

// TestNarrowed: caches that see some namespaces, labels, fields, and objects that
// were transformed.
func TestNarrowed(t *testing.T) {
	forEach(t, "narrowed", func(t *testing.T, e *env) {
		other := e.namespace + "-other"
		e.createNamespace(other)
		e.create(configMap(e.namespace, "a", "red"), configMap(e.namespace, "b", "blue"), configMap(other, "c", "red"), configMap(other, "d", "blue"))
		both := map[string]ctrlcache.Config{e.namespace: {}, other: {}}
		// client-go runs it twice for what a watch sends first, so it must not matter how often.
		shout := func(obj any) (any, error) {
			obj.(*corev1.ConfigMap).Data["color"] = obj.(*corev1.ConfigMap).Labels["color"] + "!"
			return obj, nil
		}
		for name, test := range map[string]struct {
			options ctrlcache.Options
			want    []string
		}{
			"one namespace":   {ctrlcache.Options{DefaultNamespaces: map[string]ctrlcache.Config{other: {}}}, []string{"c", "d"}},
			"two namespaces":  {ctrlcache.Options{DefaultNamespaces: both}, []string{"a", "b", "c", "d"}},
			"label selectors": {ctrlcache.Options{DefaultNamespaces: both, DefaultLabelSelector: labels.SelectorFromSet(labels.Set{"color": "red"})}, []string{"a", "c"}},
			"field selectors": {ctrlcache.Options{DefaultNamespaces: both, ByObject: map[client.Object]ctrlcache.ByObject{
				&corev1.ConfigMap{}: {Field: fields.OneTermEqualSelector("metadata.name", "d")},
			}}, []string{"d"}},
			"a selector for each namespace": {ctrlcache.Options{ByObject: map[client.Object]ctrlcache.ByObject{
				&corev1.ConfigMap{}: {Namespaces: map[string]ctrlcache.Config{
					e.namespace: {LabelSelector: labels.SelectorFromSet(labels.Set{"color": "red"})},
					other:       {LabelSelector: labels.SelectorFromSet(labels.Set{"color": "blue"})},
				}},
			}}, []string{"a", "d"}},
			"transformed": {ctrlcache.Options{DefaultNamespaces: map[string]ctrlcache.Config{other: {}}, DefaultTransform: shout}, []string{"c", "d"}},
		} {
			t.Run(name, func(t *testing.T) {
				c, stop := e.cacheOn(test.options)
				defer stop()
				var list corev1.ConfigMapList
				e.equal("names", e.names(c, &list), test.want)
				for _, item := range list.Items {
					want := item.Labels["color"]
					if test.options.DefaultTransform != nil {
						want += "!"
					}
					if item.Data["color"] != want {
						t.Errorf("%s has color %q, want %q", item.Name, item.Data["color"], want)
					}
				}
			})
		}
	})
}

// TestRemoveInformer: the informer ends, by itself, and asking again makes another.
func TestRemoveInformer(t *testing.T) {
	forEach(t, "removed", func(t *testing.T, e *env) {
		e.create(configMap(e.namespace, "a", "red"))
		c, stop := e.cacheOn(ctrlcache.Options{DefaultNamespaces: map[string]ctrlcache.Config{e.namespace: {}}})
		defer stop()
		in := client.InNamespace(e.namespace)
		e.equal("before", e.names(c, &corev1.ConfigMapList{}, in), []string{"a"})
		removed := <-e.made
		if err := c.RemoveInformer(e.ctx, &corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
		e.wait("end of the removed informer", removed.ended)
		if !removed.IsStopped() {
			t.Error("the removed informer is not stopped")
		}
		e.create(configMap(e.namespace, "b", "blue"))
		e.equal("what the removed informer has", len(removed.GetStore().List()), 1)
		e.equal("after", e.names(c, &corev1.ConfigMapList{}, in), []string{"a", "b"})
		if again := <-e.made; again.of != removed.of {
			t.Errorf("want another informer of %s, got %s", removed.of, again.of)
		}
	})
}
