package apiserver

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// An object made by the server, copied under other names of the same length in
// etcd, is many objects to the server.
func TestObjectsMultipliedInEtcd(t *testing.T) {
	const copies = 500
	s := Shared(t)
	ctx := limited(t)
	client := connect(t, s.Config())
	key := func(name string) string { return "/registry/configmaps/default/" + name }
	createConfigMap(t, client, "copy-0000")
	original, err := s.GetRaw(ctx, key("copy-0000"))
	if err != nil {
		t.Fatal(err)
	}
	named := func(i int) (string, []byte) {
		name := fmt.Sprintf("copy-%04d", i)
		return key(name), bytes.ReplaceAll(original, []byte("copy-0000"), []byte(name))
	}
	one, value := named(1)
	if err := s.PutRaw(ctx, one, value); err != nil {
		t.Fatal(err)
	}
	err = s.PutMany(ctx, func(yield func(string, []byte) bool) {
		for i := 2; i < copies; i++ {
			if !yield(named(i)) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names, versions := sets.New[string](), sets.New[string]()
	for _, c := range list.Items {
		names.Insert(c.Name)
		versions.Insert(c.ResourceVersion)
	}
	for i := range copies {
		if name := fmt.Sprintf("copy-%04d", i); !names.Has(name) {
			t.Errorf("the server does not list %s", name)
		}
	}
	if len(versions) != len(list.Items) {
		t.Errorf("%d objects share %d versions, want one each", len(list.Items), len(versions))
	}
}

func TestPutManyStopsAtAnError(t *testing.T) {
	s := Shared(t)
	fed := 0
	err := s.PutMany(limited(t), func(yield func(string, []byte) bool) {
		for yield("", nil) { // etcd refuses the empty key
			fed++
		}
	})
	if err == nil {
		t.Error("got no error for an empty key")
	}
	t.Logf("stopped after %d pairs: %v", fed, err)
}

func TestGetRawOfNothing(t *testing.T) {
	s := Shared(t)
	if _, err := s.GetRaw(limited(t), "/registry/no/such/key"); !errors.Is(err, ErrNoKey) {
		t.Errorf("got %v, want ErrNoKey", err)
	}
}

// The server is shared, so its clients must not keep goroutines until its end:
// they would look like a leak of the test that runs at the time.
func TestEtcdAccessLeavesNoGoroutines(t *testing.T) {
	s := Shared(t)
	ctx := limited(t)
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"PutRaw", func() error { return s.PutRaw(ctx, "kinform/test", []byte("one")) }},
		{"GetRaw", func() error { _, err := s.GetRaw(ctx, "kinform/test"); return err }},
		{"PutMany", func() error {
			return s.PutMany(ctx, maps.All(map[string][]byte{"kinform/a": nil, "kinform/b": nil}))
		}},
		{"Compact", func() error { return s.Compact(ctx) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			if err := c.do(); err != nil {
				t.Error(err)
			}
		})
	}
}
