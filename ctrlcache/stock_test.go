package ctrlcache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinform/kinform/apisim"
	"github.com/kinform/kinform/ctrlcache"
)

// TestAsStock: with many options, many calls have the results that they have on
// controller-runtime's own cache.
func TestAsStock(t *testing.T) {
	e := startEnv(t, apisim.Options{}, 5*time.Minute) // of controller-runtime's cache, goroutines are left
	e.namespaces("one", "two")
	for _, ns := range []string{"default", "one", "two"} {
		e.create(configMap(ns, "a", "red"), configMap(ns, "b", "blue"), configMap(ns, "c", "red"))
	}
	for name, o := range stockOptions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &env{t, e.ctx, e.server, e.config, e.http, e.direct, e.requests}
			o.HTTPClient = e.http
			again := name == "none" || name == "namespaces" || name == "a transform"
			want, got := e.results(cache.New, o, again), e.results(ctrlcache.New, o, again)
			for _, call := range slices.Sorted(maps.Keys(want)) {
				if want[call] != got[call] && !(refused(want[call]) && refused(got[call])) {
					t.Errorf("%s:\n got %s\nwant %s", call, got[call], want[call])
				}
			}
		})
	}
}

// stockOptions are options by what is special about them.
func stockOptions() map[string]cache.Options {
	yes := true
	of := func(obj client.Object, by cache.ByObject) map[client.Object]cache.ByObject {
		return map[client.Object]cache.ByObject{obj: by}
	}
	in := func(namespaces ...string) map[string]cache.Config {
		all := map[string]cache.Config{}
		for _, ns := range namespaces {
			all[ns] = cache.Config{}
		}
		return all
	}
	none := func(obj any) (any, error) { return obj, nil }
	cm := &corev1.ConfigMap{}
	return map[string]cache.Options{
		"none":                       {},
		"a namespace":                {DefaultNamespaces: in("one")},
		"namespaces":                 {DefaultNamespaces: in("one", "two")},
		"no namespaces":              {DefaultNamespaces: in()},
		"all namespaces":             {DefaultNamespaces: in("")},
		"all but one":                {DefaultNamespaces: map[string]cache.Config{"": {}, "one": {LabelSelector: colored("blue")}}},
		"a kind in all":              {DefaultNamespaces: in("one"), ByObject: of(cm, cache.ByObject{Namespaces: in()})},
		"a kind in one":              {ByObject: of(cm, cache.ByObject{Namespaces: in("two")})},
		"a kind in the default ones": {DefaultNamespaces: in("one"), ByObject: of(cm, cache.ByObject{Label: colored("red")})},
		"a kind, as metadata":        {ByObject: of(asMetadata(), cache.ByObject{Label: colored("red")})},
		"a kind, as unstructured":    {ByObject: of(asUnstructured(), cache.ByObject{Label: colored("red")})},
		"a kind without namespaces":  {DefaultNamespaces: in("one"), ByObject: of(&corev1.Namespace{}, cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", "one")})},
		"a kind without a selector":  {DefaultLabelSelector: colored("red"), ByObject: of(cm, cache.ByObject{Label: labels.Everything()})},
		"labels":                     {DefaultLabelSelector: colored("red")},
		"no labels at all":           {DefaultLabelSelector: labels.Nothing()},
		"a name":                     {DefaultFieldSelector: fields.OneTermEqualSelector("metadata.name", "a")},
		"a namespace by field":       {ByObject: of(cm, cache.ByObject{Field: fields.OneTermEqualSelector("metadata.namespace", "one")})},
		"labels by namespace":        {DefaultLabelSelector: colored("red"), DefaultNamespaces: map[string]cache.Config{"one": {LabelSelector: colored("blue")}, "two": {}}},
		"a transform":                {DefaultTransform: repaint},
		"a transform but for a kind": {DefaultTransform: repaint, ByObject: of(cm, cache.ByObject{Transform: none})},
		"a transform of a namespace": {DefaultNamespaces: map[string]cache.Config{"one": {Transform: repaint}, "two": {}}},
		"a transform to others":      {DefaultTransform: toSecret},
		"stripped":                   {DefaultTransform: cache.TransformStripManagedFields()},
		"shared":                     {DefaultUnsafeDisableDeepCopy: &yes},
		"shared in a namespace":      {DefaultNamespaces: map[string]cache.Config{"one": {UnsafeDisableDeepCopy: &yes}, "two": {}}},
		"only what has an informer":  {ReaderFailOnMissingInformer: true},
		"that in a namespace":        {ReaderFailOnMissingInformer: true, DefaultNamespaces: in("one")},
		"lists of pointers":          {Scheme: pointerScheme()},
	}
}

func repaint(obj any) (any, error) {
	obj.(client.Object).SetLabels(map[string]string{"color": "gold"})
	return obj, nil
}

func toSecret(obj any) (any, error) {
	if cm, ok := obj.(*corev1.ConfigMap); ok {
		return &corev1.Secret{ObjectMeta: cm.ObjectMeta}, nil
	}
	return obj, nil
}

// pointers is a list whose items are pointers.
type pointers struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*corev1.ConfigMap
}

func (p *pointers) DeepCopyObject() runtime.Object {
	c := *p
	c.Items = nil
	for _, item := range p.Items {
		c.Items = append(c.Items, item.DeepCopy())
	}
	return &c
}

func pointerScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.ConfigMap{}, &corev1.Namespace{}, &corev1.NamespaceList{})
	s.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("ConfigMapList"), &pointers{})
	metav1.AddToGroupVersion(s, corev1.SchemeGroupVersion)
	return s
}

// results makes all calls on a cache of its own; again, if that is wanted, and after the
// informers were removed.
func (e *env) results(make cache.NewCacheFunc, o cache.Options, again bool) map[string]string {
	e.t.Helper()
	all := map[string]string{}
	c, err := make(e.config, o)
	if err != nil {
		all["new"] = outcome(err)
		return all
	}
	for _, obj := range []client.Object{&corev1.ConfigMap{}, asUnstructured(), &corev1.Namespace{}} {
		byColor := func(obj client.Object) []string { return []string{obj.GetLabels()["color"], "any"} }
		all[fmt.Sprintf("index %T", obj)] = outcome(c.IndexField(e.ctx, obj, "color", byColor))
	}
	e.calls(c, o, func(call, result string) { all["not started: "+call] = result })
	stop := e.start(c)
	defer stop()
	e.calls(c, o, func(call, result string) { all[call] = result })
	if !again {
		return all
	}
	e.calls(c, o, func(call, result string) { all["again: "+call] = result })
	for _, obj := range forms() {
		all[fmt.Sprintf("remove %T", obj)] = outcome(c.RemoveInformer(e.ctx, obj))
	}
	e.calls(c, o, func(call, result string) { all["removed: "+call] = result })
	return all
}

func ofKind(kind string) (*unstructured.Unstructured, *metav1.PartialObjectMetadata) {
	u, m := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	gvk := schema.FromAPIVersionAndKind("v1", kind)
	u.SetGroupVersionKind(gvk)
	m.SetGroupVersionKind(gvk)
	return u, m
}

// calls makes calls and notes their results.
func (e *env) calls(c cache.Cache, o cache.Options, note func(call, result string)) {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.ctx)
	defer cancel()
	for _, key := range []string{"default/a", "one/a", "one/b", "two/c", "one/", "one/none", "/a", "none/a", "/one", "x/one"} {
		ns, name, _ := strings.Cut(key, "/")
		for _, obj := range e.targets() {
			if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, obj); err != nil {
				note(fmt.Sprintf("get %s as %T of %s", key, obj, obj.GetObjectKind().GroupVersionKind().Kind), outcome(err))
			} else {
				note(fmt.Sprintf("get %s as %T of %s", key, obj, obj.GetObjectKind().GroupVersionKind().Kind), shown(obj))
			}
		}
		cm := &corev1.ConfigMap{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, cm, client.UnsafeDisableDeepCopy); err != nil {
			note("get unsafely "+key, outcome(err))
		} else {
			note("get unsafely "+key, shown(cm))
		}
	}
	for what, options := range listOptions() {
		for _, list := range e.lists(o) {
			gvk := list.GetObjectKind().GroupVersionKind()
			err := c.List(ctx, list, options...)
			result := outcome(err)
			if err == nil {
				result = listed(list, what == "limit 1" || what == "limit 4")
			}
			note(fmt.Sprintf("list %s as %T of %s", what, list, gvk.Kind), result)
		}
	}
	for _, kind := range []string{"ConfigMap", "Namespace", "None"} {
		_, err := c.GetInformerForKind(ctx, corev1.SchemeGroupVersion.WithKind(kind))
		note("informer of "+kind, outcome(err))
	}
	byName := func(obj client.Object) []string { return []string{obj.GetName()} }
	for _, obj := range []client.Object{&corev1.Namespace{}, &corev1.Namespace{}, &unstructured.Unstructured{}} {
		note(fmt.Sprintf("index %T", obj), outcome(c.IndexField(ctx, obj, "name", byName)))
	}
	note("remove none", outcome(c.RemoveInformer(ctx, &unstructured.Unstructured{})))
}

// targets are objects to read into, used before.
func (e *env) targets() []client.Object {
	u, m := ofKind("ConfigMap")
	u.Object["stale"] = "x"
	m.Finalizers = []string{"x/stale"}
	uns, mns := ofKind("Namespace")
	unone, mnone := ofKind("None")
	return []client.Object{
		&corev1.ConfigMap{BinaryData: map[string][]byte{"stale": nil}}, u, m, &corev1.Namespace{}, uns, mns,
		unone, mnone, &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{},
	}
}

func (e *env) lists(o cache.Options) []client.ObjectList {
	var all []client.ObjectList
	if o.Scheme != nil {
		all = append(all, &pointers{Items: []*corev1.ConfigMap{{}}})
	} else {
		all = append(all, &corev1.ConfigMapList{Items: []corev1.ConfigMap{{}}, ListMeta: metav1.ListMeta{ResourceVersion: "7"}})
	}
	for _, kind := range []string{"ConfigMapList", "ConfigMap", "NamespaceList", "NoneList"} {
		u, m := &unstructured.UnstructuredList{}, &metav1.PartialObjectMetadataList{}
		gvk := schema.FromAPIVersionAndKind("v1", kind)
		u.SetGroupVersionKind(gvk)
		m.SetGroupVersionKind(gvk)
		all = append(all, u, m)
	}
	return append(all, &corev1.NamespaceList{}, &unstructured.UnstructuredList{})
}

func listOptions() map[string][]client.ListOption {
	return map[string][]client.ListOption{
		"all":            nil,
		"of one":         {client.InNamespace("one")},
		"of none":        {client.InNamespace("none")},
		"red":            {client.MatchingLabels{"color": "red"}},
		"gold":           {client.MatchingLabels{"color": "gold"}},
		"red of one":     {client.MatchingLabels{"color": "red"}, client.InNamespace("one")},
		"nothing":        {client.MatchingLabelsSelector{Selector: labels.Nothing()}},
		"no selector":    {client.MatchingLabelsSelector{}, client.MatchingFieldsSelector{}},
		"limit 1":        {client.Limit(1)},
		"limit 4":        {client.Limit(4)},
		"limit -1":       {client.Limit(-1)},
		"limit 100":      {client.Limit(100)},
		"continued":      {client.Continue("x")},
		"by name":        {client.MatchingFields{"metadata.name": "a"}},
		"by color":       {client.MatchingFields{"color": "red"}},
		"by any color":   {client.MatchingFields{"color": "any"}},
		"by no color":    {client.MatchingFields{"color": ""}},
		"by color of 1":  {client.MatchingFields{"color": "red"}, client.InNamespace("one")},
		"by color twice": {client.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie("color=red,color=any")}, client.InNamespace("one")},
		"by other names": {client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("metadata.name", "a")}},
		"by no field":    {client.MatchingFieldsSelector{Selector: fields.Everything()}},
		"unsafely":       {client.UnsafeDisableDeepCopy},
	}
}

// outcome says what an error is.
func outcome(err error) string {
	var notStarted *cache.ErrCacheNotStarted
	var notCached *cache.ErrResourceNotCached
	var noMatch *meta.NoKindMatchError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &notStarted):
		return "not started"
	case errors.As(err, &notCached):
		return "not cached: " + notCached.GVK.String()
	case errors.As(err, &noMatch):
		return "no such kind: " + noMatch.Error()
	case apierrors.IsNotFound(err):
		return "not found: " + err.Error()
	}
	return "error: " + err.Error()
}

// refused reports whether a call was not made at all. Where there are several reasons,
// which of them is named does not matter.
func refused(outcome string) bool {
	return slices.ContainsFunc([]string{"error: ", "not started", "not cached: ", "no such kind: "}, func(prefix string) bool {
		return strings.HasPrefix(outcome, prefix)
	})
}

// shown is an object but for what each server run makes anew.
func shown(obj client.Object) string {
	gvk := obj.GetObjectKind().GroupVersionKind()
	rest := ""
	switch o := obj.(type) {
	case *corev1.ConfigMap:
		rest = fmt.Sprint(o.Data, o.BinaryData)
	case *unstructured.Unstructured:
		rest = fmt.Sprint(o.Object["data"], o.Object["stale"])
	}
	return fmt.Sprint(obj.GetNamespace(), "/", obj.GetName(), " ", gvk, obj.GetLabels(), obj.GetFinalizers(), obj.GetUID(), obj.GetResourceVersion(), rest)
}

func listed(list client.ObjectList, countOnly bool) string {
	items, err := meta.ExtractList(list)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, item := range items {
		all = append(all, shown(item.(client.Object)))
	}
	slices.Sort(all)
	head := fmt.Sprint(list.GetObjectKind().GroupVersionKind(), list.GetContinue(), " ", list.GetResourceVersion(), " ", len(all), ": ")
	if countOnly {
		return head // which ones is not said
	}
	return head + strings.Join(all, "; ")
}
