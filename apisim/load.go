package apisim

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// loadBatch is how many objects Load stores under one lock.
const loadBatch = 256

// Load creates objects without HTTP. Each gets what the server adds to every
// object (uid, version, time of creation), unless it has it already; status
// and all the rest stay as given. Watches see the creations; one that reads
// slower than objects are loaded is cut. Namespaces that are missing are made.
// At the first error the rest is left out; the error names the object.
func (s *Server) Load(objects iter.Seq[runtime.Object]) error {
	l := loader{store: s.store, byKind: map[schema.GroupVersionKind]*resource{}}
	for obj := range objects {
		if err := l.add(obj); err != nil {
			return err
		}
		if len(l.batch) == loadBatch {
			if err := l.flush(); err != nil {
				return err
			}
		}
	}
	return l.flush()
}

type loader struct {
	store  *store
	byKind map[schema.GroupVersionKind]*resource
	batch  []loaded
	packer packer
}

type loaded struct {
	resource *resource
	key      string
	family   string // objects that are likely to be nearly equal have the same
	data     []byte
}

// family is the owner of an object, or what its name has in common with those
// of others.
func family(res *resource, meta metav1.Object) string {
	if owners := meta.GetOwnerReferences(); len(owners) > 0 {
		return string(owners[0].UID)
	}
	stem := meta.GetName()
	if end := strings.LastIndexAny(stem, "-."); end > 0 {
		stem = stem[:end]
	}
	return res.gvr.Resource + "/" + meta.GetNamespace() + "/" + stem
}

// ownMetadata returns a copy that shares everything with obj but the values
// that stand directly in its metadata.
func ownMetadata(obj runtime.Object) runtime.Object {
	if _, ok := obj.(*unstructured.Unstructured); ok {
		return obj.DeepCopyObject()
	}
	copied := reflect.New(reflect.TypeOf(obj).Elem())
	copied.Elem().Set(reflect.ValueOf(obj).Elem())
	return copied.Interface().(runtime.Object)
}

// add encodes an object, with room for its version.
func (l *loader) add(obj runtime.Object) error {
	res, err := l.resourceOf(obj)
	if err != nil {
		return err
	}
	hub, err := convert(obj, res.gvk, res.store.codec.kind())
	if err != nil {
		return err
	}
	hub = ownMetadata(hub)
	meta := metaOf(hub)
	if meta.GetName() == "" && meta.GetGenerateName() != "" {
		meta.SetName(generateName(meta.GetGenerateName()))
	}
	if !res.namespaced {
		meta.SetNamespace("")
	} else if meta.GetNamespace() == "" {
		meta.SetNamespace("default")
	}
	fillSystemFields(meta)
	if err := validate(res, hub); err != nil {
		return l.failed(res, res.key(meta.GetNamespace(), meta.GetName()), err)
	}
	if res.gvr == crdGVR {
		establish(hub.(*unstructured.Unstructured))
	}
	data, err := res.store.codec.encode(hub)
	if err != nil {
		return err
	}
	l.batch = append(l.batch, loaded{
		resource: res,
		key:      res.key(meta.GetNamespace(), meta.GetName()),
		family:   family(res, meta),
		data:     data,
	})
	if res.gvr == crdGVR {
		return l.flush() // what comes next may be of this kind
	}
	return nil
}

func (l *loader) failed(res *resource, key string, err error) error {
	return fmt.Errorf("apisim: load %s %s: %w", res.gvr.Resource, key, err)
}

// resourceOf finds the resource of an object by its kind.
func (l *loader) resourceOf(obj runtime.Object) (*resource, error) {
	var gvk schema.GroupVersionKind
	if custom, ok := obj.(*unstructured.Unstructured); ok {
		gvk = custom.GroupVersionKind()
	} else {
		kinds, _, err := scheme.Scheme.ObjectKinds(obj)
		if err != nil {
			return nil, fmt.Errorf("apisim: load %T: %w", obj, err)
		}
		gvk = kinds[0]
	}
	if res, ok := l.byKind[gvk]; ok {
		return res, nil
	}
	for _, res := range l.store.served() {
		l.byKind[res.gvk] = res
	}
	if res, ok := l.byKind[gvk]; ok {
		return res, nil
	}
	return nil, fmt.Errorf("apisim: load %v: no such kind is served", gvk)
}

// flush stores the batch.
func (l *loader) flush() error {
	l.store.mu.Lock()
	defer l.store.mu.Unlock()
	for _, item := range l.batch {
		if err := l.store.loadLocked(item, &l.packer); err != nil {
			return l.failed(item.resource, item.key, err)
		}
	}
	clear(l.batch)
	l.batch = l.batch[:0]
	return nil
}

func (s *store) loadLocked(item loaded, p *packer) error {
	c := item.resource.store
	if c.gone {
		return errGone
	}
	if c.getLocked(item.key) != nil {
		_, name := splitKey(item.key)
		return apierrors.NewAlreadyExists(item.resource.gr(), name)
	}
	if namespace, _ := splitKey(item.key); namespace != "" {
		if err := s.ensureNamespaceLocked(namespace); err != nil && !errors.Is(err, errChanged) {
			return err
		}
	}
	data, err := c.codec.stamp(item.data, s.version+1)
	if err != nil {
		return err
	}
	s.commitLocked(c, &event{kind: eventAdded, object: &object{key: item.key, version: s.version + 1, blob: p.pack(item.family, data)}})
	return nil
}

// ensureNamespaceLocked makes a namespace if it is not there.
func (s *store) ensureNamespaceLocked(name string) error {
	namespaces := s.resources[namespacesGVR]
	if namespaces.store.getLocked(name) != nil {
		return nil
	}
	namespace := newNamespace(name)
	fillSystemFields(namespace)
	prepareCreate(namespaces, namespace)
	_, err := s.putLocked(namespaces.store, name, nil, namespace)
	return err
}
