package apisim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// firstNamespaces are there when a server starts.
var firstNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

func newStore(history int) *store {
	s := &store{resources: map[schema.GroupVersionResource]*resource{}}
	for _, r := range builtinResources(history) {
		s.resources[r.gvr] = r
	}
	s.resources[crdGVR] = crdResource(history)
	s.onChange = s.changedLocked
	s.version = 1
	return s
}

// begin makes the first objects.
func (s *store) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range firstNamespaces {
		if err := s.ensureNamespaceLocked(name); err != nil {
			return err
		}
	}
	return nil
}

func newNamespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// admitLocked says whether an object may be created now: its namespace is
// there and not about to go.
func (s *store) admitLocked(res *resource, meta metav1.Object) error {
	if !res.namespaced {
		return nil
	}
	namespaces := s.resources[namespacesGVR]
	o := namespaces.store.getLocked(meta.GetNamespace())
	if o == nil {
		return apierrors.NewNotFound(namespaces.gr(), meta.GetNamespace())
	}
	if terminating(o) {
		err := apierrors.NewForbidden(res.gr(), meta.GetName(), errTerminating(meta.GetNamespace()))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type:    corev1.NamespaceTerminatingCause,
			Message: "namespace " + meta.GetNamespace() + " is being terminated",
			Field:   "metadata.namespace",
		})
		return err
	}
	return nil
}

// terminating reports whether a namespace is about to go.
func terminating(namespace *object) bool {
	return string(protoPath(namespace.data(), 3, 1)) == string(corev1.NamespaceTerminating)
}

type errTerminating string

func (e errTerminating) Error() string {
	return "unable to create new content in namespace " + string(e) + " because it is being terminated"
}

// deleteNamespace marks a namespace as terminating, deletes what is in it, and
// then the namespace, which is what the controllers of a cluster do. While
// objects with finalizers are left, it stays.
func (s *Server) deleteNamespace(res *resource, before *object, o *metav1.DeleteOptions) (*object, bool, error) {
	if len(o.DryRun) > 0 {
		return before, true, nil
	}
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	if res.store.getLocked(before.key) != before {
		return nil, false, errChanged
	}
	marked, err := s.store.terminateLocked(res, before)
	if err != nil {
		return nil, false, err
	}
	if err := s.store.emptyLocked(before.key); err != nil {
		return nil, false, err
	}
	return marked, res.store.getLocked(before.key) == nil, nil
}

// terminateLocked sets the phase and the deletion timestamp, once.
func (s *store) terminateLocked(res *resource, before *object) (*object, error) {
	obj, err := res.store.codec.decode(before.data())
	if err != nil {
		return nil, err
	}
	namespace := obj.(*corev1.Namespace)
	if namespace.DeletionTimestamp != nil {
		return before, nil
	}
	deleted, zero := now(), int64(0)
	namespace.DeletionTimestamp = &deleted
	namespace.DeletionGracePeriodSeconds = &zero
	namespace.Status.Phase = corev1.NamespaceTerminating
	return s.putLocked(res.store, before.key, before, namespace)
}

// emptyLocked deletes the objects of a namespace; those with finalizers are
// marked. The namespace goes with the last of them.
func (s *store) emptyLocked(namespace string) error {
	s.emptying = true
	defer func() { s.emptying = false }()
	for _, r := range s.resources {
		if !r.namespaced {
			continue
		}
		for _, o := range r.store.under(namespace + "/") {
			if err := s.deleteOrMarkLocked(r, o); err != nil {
				return err
			}
		}
	}
	return s.finishNamespaceLocked(namespace)
}

func (s *store) deleteOrMarkLocked(r *resource, o *object) error {
	obj, err := r.store.codec.decode(o.data())
	if err != nil {
		return err
	}
	meta := metaOf(obj)
	if len(meta.GetFinalizers()) == 0 {
		_, err := s.removeLocked(r.store, o)
		return err
	}
	if meta.GetDeletionTimestamp() != nil {
		return nil
	}
	deleted, zero := now(), int64(0)
	meta.SetDeletionTimestamp(&deleted)
	meta.SetDeletionGracePeriodSeconds(&zero)
	_, err = s.putLocked(r.store, o.key, o, obj)
	return err
}

// under returns the objects whose key has a prefix.
func (c *collection) under(prefix string) []*object {
	var out []*object
	c.tree.AscendGreaterOrEqual(&object{key: prefix}, func(o *object) bool {
		if !strings.HasPrefix(o.key, prefix) {
			return false
		}
		out = append(out, o)
		return true
	})
	return out
}

// finishNamespaceLocked removes a terminating namespace that is empty and has
// no finalizers of its own.
func (s *store) finishNamespaceLocked(name string) error {
	namespaces := s.resources[namespacesGVR]
	o := namespaces.store.getLocked(name)
	if o == nil || !terminating(o) {
		return nil
	}
	for _, r := range s.resources {
		if r.namespaced && r.store.anyUnder(name+"/") {
			return nil
		}
	}
	obj, err := namespaces.store.codec.decode(o.data())
	if err != nil || len(metaOf(obj).GetFinalizers()) > 0 {
		return err
	}
	_, err = s.removeLocked(namespaces.store, o)
	return err
}

func (c *collection) anyUnder(prefix string) bool {
	found := false
	c.tree.AscendGreaterOrEqual(&object{key: prefix}, func(o *object) bool {
		found = strings.HasPrefix(o.key, prefix)
		return false
	})
	return found
}

// changedLocked follows up on a change: a definition that came or went, the
// last object of a namespace that is going.
func (s *store) changedLocked(c *collection, before, after *object) {
	if c == s.resources[crdGVR].store {
		s.defineLocked(before, after)
		return
	}
	if after != nil || before == nil || s.emptying {
		return
	}
	if namespace, _ := splitKey(before.key); namespace != "" {
		_ = s.finishNamespaceLocked(namespace)
	}
}
