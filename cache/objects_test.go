package cache_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform/cache"
)

// pod is a pod of the namespace "ns"; labels are key, value, key, value, …
func pod(name string, version int, labels ...string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: strconv.Itoa(version)}}
	for pair := range slices.Chunk(labels, 2) {
		metav1.SetMetaDataLabel(&p.ObjectMeta, pair[0], pair[1])
	}
	return p
}

// show renders whatever passes through a queue or a handler: an object as
// name@version, with a mark for what was done to it.
func show(obj any) string {
	switch obj := obj.(type) {
	case nil:
		return "nothing"
	case cache.DeletedFinalStateUnknown:
		return fmt.Sprintf("tombstone(%s %s)", obj.Key, show(obj.Obj))
	case cache.Deltas:
		return showAll([]cache.Delta(obj))
	case []cache.Delta:
		return showAll(obj)
	case cache.Delta:
		return fmt.Sprintf("%s %s", obj.Type, show(obj.Object))
	case cache.ReplacedAllInfo:
		return fmt.Sprintf("%s at %s", showAll(obj.Objects), obj.ResourceVersion)
	case cache.SyncAllInfo:
		return "all"
	case cache.BookmarkInfo:
		return "at " + obj.ResourceVersion
	case string:
		return obj
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Sprintf("%#v", obj)
	}
	marks := ""
	if n := object.GetAnnotations()["transformed"]; n != "" {
		marks = " transformed " + n
	}
	return object.GetName() + "@" + object.GetResourceVersion() + marks
}

func showAll[T any](objs []T) string {
	shown := make([]string, len(objs))
	for i, obj := range objs {
		shown[i] = show(obj)
	}
	return fmt.Sprintf("%v", shown)
}

// transform marks a copy of a pod, and counts how often it did.
func transform(obj any) (any, error) {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("%T is no pod", obj)
	}
	p = p.DeepCopy()
	n, _ := strconv.Atoi(p.Annotations["transformed"])
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, "transformed", strconv.Itoa(n+1))
	return p, nil
}

// known is a store that lists its keys in order, so that what is made of them has
// an order, too.
type known struct{ cache.Store }

func (k known) ListKeys() []string {
	keys := k.Store.ListKeys()
	slices.Sort(keys)
	return keys
}

func (k known) List() []any {
	var list []any
	for _, key := range k.ListKeys() {
		obj, _, _ := k.GetByKey(key)
		list = append(list, obj)
	}
	return list
}

// LastStoreSyncResourceVersion is left out: a store that is filled object by object
// has the version of the last, and which one that is, is chance.
func (known) LastStoreSyncResourceVersion() string { return "" }

func newKnown(pods ...*corev1.Pod) known {
	k := known{cache.NewStore(cache.DeletionHandlingMetaNamespaceKeyFunc)}
	for _, p := range pods {
		if err := k.Add(p); err != nil {
			panic(err)
		}
	}
	return k
}

// haunted is a store that lists keys it cannot give: one that has no object, and
// one that cannot be looked up.
type haunted struct{ known }

func (h haunted) ListKeys() []string { return append(h.known.ListKeys(), "ns/ghost", "ns/broken") }

func (h haunted) GetByKey(key string) (any, bool, error) {
	if key == "ns/broken" {
		return nil, false, errors.New("broken")
	}
	return h.known.GetByKey(key)
}

// consume does to a store what a queue hands out.
func consume(store cache.Store, deltas []cache.Delta) error {
	for _, d := range deltas {
		var err error
		switch d.Type {
		case cache.Deleted:
			err = store.Delete(d.Object)
		case cache.ReplacedAll:
			err = store.Replace(d.Object.(cache.ReplacedAllInfo).Objects, "")
		case cache.SyncAll, cache.Bookmark:
		default:
			err = store.Update(d.Object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
