package kube_test

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/kube"
)

// foreign is a ListerWatcher of somebody else's.
type foreign struct {
	version string
	items   []corev1.ConfigMap
	watch   *watch.FakeWatcher
}

func (f *foreign) List(metav1.ListOptions) (runtime.Object, error) {
	return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: f.version}, Items: f.items}, nil
}

func (f *foreign) Watch(metav1.ListOptions) (watch.Interface, error) {
	f.watch = watch.NewFakeWithChanSize(100, false)
	return f.watch, nil
}

// sends sends an event. What is listed from then on agrees with it, unless it is late.
func (f *foreign) sends(ev watch.Event) {
	o := ev.Object.(*corev1.ConfigMap)
	if len(o.ResourceVersion) == len(f.version) && o.ResourceVersion > f.version {
		f.version, f.items = o.ResourceVersion, []corev1.ConfigMap{*o}
		if ev.Type == watch.Deleted {
			f.items = nil
		}
	}
	f.watch.Action(ev.Type, ev.Object)
	synctest.Wait()
}

// object returns an object, as a server makes it if its uid is u or w.
func object(uid, version string) *corev1.ConfigMap {
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "a", UID: types.UID(uid), CreationTimestamp: metav1.Unix(1e9, 0), ResourceVersion: version,
	}, Data: map[string]string{"at": fmt.Sprint(uid, version)}}
	switch uid {
	case "u":
		o.UID = "5a0a3d5c-5b0e-4b0e-9c0e-000000000001"
	case "w":
		o.UID = "5a0a3d5c-5b0e-4b0e-9c0e-000000000002"
	}
	return o
}

// TestVersionsOfObjects: where the versions of a ListerWatcher are a server's, an
// older state does not replace a newer one; those of fakes are not compared.
func TestVersionsOfObjects(t *testing.T) {
	modify := func(uid, version string) watch.Event {
		return watch.Event{Type: watch.Modified, Object: object(uid, version)}
	}
	remove := func(uid, version string) watch.Event {
		return watch.Event{Type: watch.Deleted, Object: object(uid, version)}
	}
	for _, c := range []struct {
		name    string
		version string
		listed  *corev1.ConfigMap
		events  []watch.Event
		want    string // the version that is stored; "": none
	}{
		{"late", "100", object("u", "50"), []watch.Event{modify("u", "110"), modify("u", "105")}, "110"},
		{"again after its end", "100", object("u", "50"), []watch.Event{remove("u", "120"), modify("u", "110")}, ""},
		{"another object", "100", object("u", "50"), []watch.Event{remove("u", "120"), modify("w", "130")}, "130"},
		{"after an empty list", "100", nil, []watch.Event{modify("u", "110"), modify("u", "105")}, "110"},
		{"a fake without a version of the list", "", object("u", "50"), []watch.Event{modify("u", "110"), modify("u", "105")}, "105"},
		{"a fake whose items are newer than its list", "1", object("u", "50"), []watch.Event{modify("u", "110"), modify("u", "105")}, "105"},
		{"a fake with uids of its own", "100", object("one", "50"), []watch.Event{modify("one", "110"), modify("one", "105")}, "105"},
		{"a fake without uids", "100", object("", "50"), []watch.Event{modify("", "110"), modify("", "105")}, "105"},
		{"a fake whose versions are words", "100", object("u", "new"), []watch.Event{modify("u", "110"), modify("u", "105")}, "105"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &foreign{version: c.version}
				if c.listed != nil {
					f.items = []corev1.ConfigMap{*c.listed}
				}
				inf := engine.NewInformer(engine.Options{}, engine.ReflectorOptions{},
					map[string]engine.Source{"": kube.NewObjectSource("foreign things", f)})
				defer run(t, inf)()
				synctest.Wait()
				for _, ev := range c.events {
					f.sends(ev)
				}
				got := ""
				if r := inf.Get("a"); r != nil {
					got = r.Version().String()
				}
				if got != c.want {
					t.Errorf("the store has version %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestFakeOfOneVersion: a fake that gives all of its states one version has each of
// them taken.
func TestFakeOfOneVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &foreign{version: "999", items: []corev1.ConfigMap{*object("u", "999")}}
		inf := engine.NewInformer(engine.Options{}, engine.ReflectorOptions{},
			map[string]engine.Source{"": kube.NewObjectSource("fake things", f)})
		defer run(t, inf)()
		synctest.Wait()
		next := object("u", "999")
		next.Data["at"] = "later"
		f.watch.Modify(next)
		time.Sleep(time.Second)
		if got := inf.Get("a").Object().(*corev1.ConfigMap).Data; !maps.Equal(got, next.Data) {
			t.Errorf("the store has %v, want %v", got, next.Data)
		}
	})
}
