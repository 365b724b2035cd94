package informers_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kinform/kinform/cache"
	"github.com/kinform/kinform/informers"
	"github.com/kinform/kinform/informers/internal/kinds"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/dropin/dropintest"
	"github.com/kinform/kinform/internal/engine"
)

// TestListersOfEveryKind: they give what client-go's give.
func TestListersOfEveryKind(t *testing.T) {
	f := newFiller(1)
	client := fake.NewClientset()
	theirs, ours := clientgo.NewSharedInformerFactory(client, 0), informers.NewSharedInformerFactory(client, 0)
	known := 0
	eachInformer(theirs, func(path []string, informer reflect.Value) {
		k, ok := kinds.Of(typeOfLister(informer))
		if !ok {
			return // only client-go's minor before has it, and serves it itself
		}
		known++
		own := at(reflect.ValueOf(ours), path)
		for _, i := range []reflect.Value{informer, own} {
			x := i.MethodByName("Informer").Call(nil)[0].Interface().(cache.SharedIndexInformer).GetIndexer()
			for n := range 4 {
				obj := f.object(k, fmt.Sprint("o", n))
				o := obj.(metav1.Object)
				if o.SetLabels(map[string]string{"n": fmt.Sprint(n % 2), "all": ""}); k.Namespaced && n > 1 {
					o.SetNamespace("other")
				}
				if err := x.Add(obj); err != nil {
					t.Fatal(err)
				}
			}
		}
		want, got := read(informer, path, k), read(own, path, k)
		if !slices.Equal(want, got) {
			t.Errorf("%v: client-go's lister gives\n%q\nours gives\n%q", path, want, got)
		}
		if name := own.MethodByName("Lister").Call(nil)[0].Elem().Type().PkgPath(); !strings.HasPrefix(name, "github.com/kinform") {
			t.Errorf("%v: the lister is one of %s", path, name)
		}
	})
	if known < 50 {
		t.Errorf("%d informers were found", known)
	}
}

// eachInformer calls visit for each informer of a factory, with the methods that lead to
// it, such as Core, V1 and Pods.
func eachInformer(factory any, visit func(path []string, informer reflect.Value)) {
	for group := range accessors(reflect.ValueOf(factory), "Interface") {
		for version := range accessors(at(reflect.ValueOf(factory), []string{group}), "Interface") {
			of := at(reflect.ValueOf(factory), []string{group, version})
			for getter := range accessors(of, "Informer") {
				visit([]string{group, version, getter}, at(of, []string{getter}))
			}
		}
	}
}

// accessors yields the methods that take nothing and give an interface of such a name.
func accessors(v reflect.Value, name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range v.NumMethod() {
			m := v.Type().Method(i)
			f := v.Method(i).Type()
			if f.NumIn() == 0 && f.NumOut() == 1 && f.Out(0).Kind() == reflect.Interface && strings.HasSuffix(f.Out(0).Name(), name) && !yield(m.Name) {
				return
			}
		}
	}
}

// at calls one method after the other.
func at(v reflect.Value, path []string) reflect.Value {
	for _, name := range path {
		v = v.MethodByName(name).Call(nil)[0]
		if v.Kind() == reflect.Interface {
			v = v.Elem()
		}
	}
	return v
}

// typeOfLister returns an empty object of an informer's kind.
func typeOfLister(informer reflect.Value) runtime.Object {
	list := informer.MethodByName("Lister").Call(nil)[0].MethodByName("List").Type()
	return reflect.New(list.Out(0).Elem().Elem()).Interface().(runtime.Object)
}

// read reads a lister in every way that it can be read.
func read(informer reflect.Value, path []string, k kinds.Kind) (all []string) {
	lister := informer.MethodByName("Lister").Call(nil)[0]
	note := func(what string, from reflect.Value) {
		for _, text := range []string{"", "n=1", "n!=1", "n in (0,1),all", "!n", "all=,n notin (0)"} {
			selector, err := labels.Parse(text)
			if err != nil {
				panic(err)
			}
			result := from.MethodByName("List").Call([]reflect.Value{reflect.ValueOf(selector)})
			var names []string
			for i := range result[0].Len() {
				o := result[0].Index(i).Interface().(metav1.Object)
				names = append(names, o.GetNamespace()+"/"+o.GetName())
			}
			slices.Sort(names)
			all = append(all, fmt.Sprintf("%s %s: %v %v %t", what, text, names, result[1], result[0].IsNil()))
		}
		nothing := from.MethodByName("List").Call([]reflect.Value{reflect.ValueOf(labels.Nothing())})
		all = append(all, fmt.Sprintf("%s nothing: %d", what, nothing[0].Len()))
	}
	note("all", lister)
	if !k.Namespaced {
		return all
	}
	for _, namespace := range []string{"default", "other", "none", ""} {
		in := lister.MethodByName(path[2]).Call([]reflect.Value{reflect.ValueOf(namespace)})[0]
		note(namespace, in)
		for _, name := range []string{"o0", "o3", "o9"} {
			result := in.MethodByName("Get").Call([]reflect.Value{reflect.ValueOf(name)})
			all = append(all, fmt.Sprintf("%s %s: %t %v", namespace, name, result[0].IsNil(), result[1]))
		}
	}
	return all
}

// TestListersDecodeWhatTheyReturn: and nothing else, whoever lists.
func TestListersDecodeWhatTheyReturn(t *testing.T) {
	const n, every = 500, 50
	client := connect(t, dropintest.Server(t).Config())
	for i := range n {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("p%03d", i), Namespace: "default", Labels: map[string]string{"n": fmt.Sprint(i % every)},
		}}
		if _, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	selector := labels.SelectorFromSet(labels.Set{"n": "7"})
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	ways := map[string]func(informers.SharedInformerFactory) (int, error){
		"all": func(f informers.SharedInformerFactory) (int, error) {
			found, err := f.Core().V1().Pods().Lister().List(selector)
			return len(found), err
		},
		"a namespace": func(f informers.SharedInformerFactory) (int, error) {
			found, err := f.Core().V1().Pods().Lister().Pods("default").List(selector)
			return len(found), err
		},
		"generic": func(f informers.SharedInformerFactory) (int, error) {
			i, err := f.ForResource(pods)
			if err != nil {
				return 0, err
			}
			found, err := i.Lister().List(selector)
			return len(found), err
		},
	}
	for name, list := range ways {
		t.Run(name, func(t *testing.T) {
			f := informers.NewSharedInformerFactory(client, 0)
			x := f.Core().V1().Pods().Informer().GetIndexer()
			runs(t, f)
			found, err := list(f)
			if err != nil || found != n/every {
				t.Errorf("%d were found, %v, want %d", found, err, n/every)
			}
			decoded := 0
			records := x.(dropin.Records)
			for r := range records.Records() {
				if obj, _ := records.Wanted(r, engine.ReadAll); obj != nil {
					decoded++
				}
			}
			if decoded != n/every {
				t.Errorf("%d are decoded, want the %d that were returned", decoded, n/every)
			}
		})
	}
}

// runs runs a factory's informers until the test ends, and returns when they have synced.
func runs(t *testing.T, f informers.SharedInformerFactory) {
	t.Helper()
	ctx := start(t, f)
	for kind, ok := range f.WaitForCacheSync(ctx.Done()) {
		if !ok {
			t.Fatalf("%v has not synced", kind)
		}
	}
}

// TestListersAfterTransform: what counts is what a transform made of the labels.
func TestListersAfterTransform(t *testing.T) {
	client := connect(t, dropintest.Server(t).Config())
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default", Labels: map[string]string{"a": "1"}}}
	if _, err := client.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(func(obj any) (any, error) {
		obj.(*corev1.Pod).Labels = map[string]string{"b": "1"}
		return obj, nil
	}))
	lister := f.Core().V1().Pods().Lister()
	runs(t, f)
	for key, want := range map[string]int{"a": 0, "b": 1} {
		if found, err := lister.List(labels.SelectorFromSet(labels.Set{key: "1"})); err != nil || len(found) != want {
			t.Errorf("%s: %d were found, %v, want %d", key, len(found), err, want)
		}
	}
}
