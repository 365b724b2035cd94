package cache

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/internal/dropin"
	"github.com/kinform/kinform/internal/engine"
)

// WaitForVersion waits until a shared informer has everything that the server had at a
// resource version, as kinform's Informer.WaitFor does.
//
// Possible errors: *engine.WaitError; that the informer is not kinform's.
func WaitForVersion(ctx context.Context, informer SharedInformer, resourceVersion string) error {
	s, err := ours(informer)
	if err != nil {
		return err
	}
	v := engine.ParseVersion(resourceVersion)
	if v.IsZero() {
		return errors.New("WaitForVersion needs a resource version")
	}
	return s.engine().WaitFor(ctx, v)
}

// WaitForObject waits until a shared informer has an object as the server returned it, or
// a newer state of it, as kinform's Informer.WaitForObject does.
//
// Possible errors: *engine.WaitError; that the informer is not kinform's, or that the
// object has no resource version.
func WaitForObject(ctx context.Context, informer SharedInformer, obj metav1.Object) error {
	s, err := ours(informer)
	if err != nil {
		return err
	}
	v := engine.ParseVersion(obj.GetResourceVersion())
	if v.IsZero() {
		return fmt.Errorf("%s/%s has no resource version: pass what the server returned; after a delete call WaitForDeleted",
			obj.GetNamespace(), obj.GetName())
	}
	return s.engine().WaitForObject(ctx, nameOf(obj), v)
}

// WaitForDeleted waits, after the server has accepted the deletion of an object, until a
// shared informer does not have it any more, as kinform's Informer.WaitForDeleted does.
//
// Possible errors: *engine.WaitError; that the informer is not kinform's.
func WaitForDeleted(ctx context.Context, informer SharedInformer, obj metav1.Object) error {
	s, err := ours(informer)
	if err != nil {
		return err
	}
	_, err = s.engine().WaitForDeleted(ctx, nameOf(obj), engine.ParseVersion(obj.GetResourceVersion()))
	return err
}

// WaitForWrites waits until a shared informer of a factory has all writes of its resource
// that a transport has noted, as kinform's Informer.WaitForWrites does: what its listers
// give is then not older.
//
// Possible errors: *engine.WaitError; that the informer is not of a factory of kinform's.
func WaitForWrites(ctx context.Context, informer SharedInformer, w *kinform.Writes, keys ...string) error {
	s, err := ours(informer)
	if err != nil {
		return err
	}
	lw, ok := s.lw.(*dropin.ListWatch)
	if !ok {
		return fmt.Errorf("which resource %s lists is not known: make the informer with a factory of kinform's", s.description)
	}
	return w.Wait(ctx, s.engine(), lw.Query.Resource.GroupResource(), s.onlyNamespace(lw), keys...)
}

// ours returns the informer of this package that an informer is, or is around.
func ours(informer SharedInformer) (*sharedIndexInformer, error) {
	if s, ok := informer.(*sharedIndexInformer); ok {
		return s, nil
	}
	if inner, ok := informer.GetController().(sharedController); ok { // something is around it
		return inner.sharedIndexInformer, nil
	}
	return nil, fmt.Errorf("%T is not an informer of kinform's", informer)
}

// engine returns the engine that the informer runs on, or will.
func (s *sharedIndexInformer) engine() *engine.Informer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.core.Informer
}

func nameOf(obj metav1.Object) engine.Object {
	return engine.Object{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: string(obj.GetUID())}
}
