package ctrlcache_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secret has the same value everywhere.
func secret(name, value string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, Labels: map[string]string{"value": value}, Annotations: map[string]string{"value": value},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "X", Name: value, UID: "u"}},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: value, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1",
				FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:` + value + `":{}}`)},
			}},
		},
		Data: map[string][]byte{"one": []byte(value), "two": []byte(value)},
	}
}

// TestCrowd: many read and list the same objects in all forms, with and without copies,
// and spoil what is their own, while the objects change, and informers and indexes come
// and go. Everybody sees whole objects that nobody has spoilt.
func TestCrowd(t *testing.T) {
	e := newEnv(t)
	for i := range 3 {
		e.create(secret(fmt.Sprint("s", i), "0"))
	}
	c := e.cache(cache.Options{})
	e.start(c)
	var all sync.WaitGroup
	for n := range uint64(8) {
		all.Go(func() {
			r := rand.New(rand.NewPCG(n, 0))
			for i := range 200 {
				e.jostle(c, r, i)
			}
		})
	}
	all.Wait()
}

func secretForms() []client.Object {
	u, m := ofKind("Secret")
	return []client.Object{m, &corev1.Secret{}, u}
}

func (e *env) jostle(c cache.Cache, r *rand.Rand, i int) {
	name := fmt.Sprint("s", r.IntN(3))
	obj := secretForms()[r.IntN(3)]
	var err error
	switch r.IntN(20) {
	case 0:
		err = c.RemoveInformer(e.ctx, obj)
	case 1, 2, 3:
		s := secret(name, fmt.Sprint(r.IntN(1000)))
		err = e.direct.Update(e.ctx, s)
	case 4:
		_ = c.IndexField(e.ctx, obj, fmt.Sprint("index", i), func(o client.Object) []string { e.whole(o); return []string{o.GetName()} })
	case 5, 6, 7:
		err = e.jostleList(c, r)
	case 8, 9, 10:
		if err = c.Get(e.ctx, client.ObjectKey{Namespace: "default", Name: name}, obj, client.UnsafeDisableDeepCopy); err == nil {
			e.whole(obj)
		}
	default:
		if err = c.Get(e.ctx, client.ObjectKey{Namespace: "default", Name: name}, obj); err == nil {
			e.whole(obj)
			spoil(obj)
		}
	}
	if err != nil && !apierrors.IsTimeout(err) {
		e.t.Error(err)
	}
}

func (e *env) jostleList(c cache.Cache, r *rand.Rand) error {
	var list corev1.SecretList
	o := []client.ListOption{client.Limit(int64(r.IntN(3)))}
	unsafe := r.IntN(2) == 0
	if unsafe {
		o = append(o, client.UnsafeDisableDeepCopy)
	}
	if err := c.List(e.ctx, &list, o...); err != nil {
		return err
	}
	for i := range list.Items {
		e.whole(&list.Items[i])
		if !unsafe {
			spoil(&list.Items[i])
		}
	}
	return nil
}

// whole checks that all parts of a secret are of one state.
func (e *env) whole(obj client.Object) {
	value := obj.GetLabels()["value"]
	parts := []string{obj.GetAnnotations()["value"], obj.GetOwnerReferences()[0].Name}
	for _, m := range obj.GetManagedFields() {
		parts = append(parts, m.Manager, string(m.FieldsV1.Raw[4:len(m.FieldsV1.Raw)-5]))
	}
	switch o := obj.(type) {
	case *corev1.Secret:
		parts = append(parts, string(o.Data["one"]), string(o.Data["two"]))
	case *unstructured.Unstructured:
		d, _, _ := unstructured.NestedStringMap(o.Object, "data")
		if d["one"] != d["two"] {
			e.t.Errorf("data %v", d)
		}
	}
	for _, p := range parts {
		if p != value {
			e.t.Errorf("%T %s has %q beside %q", obj, obj.GetName(), parts, value)
			return
		}
	}
}

// spoil changes all that can be reached from an object.
func spoil(obj client.Object) {
	obj.GetLabels()["value"] = "spoilt"
	obj.GetAnnotations()["value"] = "spoilt"
	obj.GetOwnerReferences()[0].Name = "spoilt"
	for _, m := range obj.GetManagedFields() {
		copy(m.FieldsV1.Raw, "spoilt")
	}
	switch o := obj.(type) {
	case *corev1.Secret:
		for _, b := range o.Data {
			copy(b, "spoilt")
		}
		o.Data["one"] = nil
	case *unstructured.Unstructured:
		o.Object["data"].(map[string]any)["one"] = "spoilt"
		o.Object["metadata"].(map[string]any)["labels"].(map[string]any)["value"] = "spoilt"
	}
}
