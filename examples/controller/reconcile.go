package main

import (
	"context"
	"errors"
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform"
)

// reconcile makes one copy what it has to be. It reads from the caches and writes
// to the server. The caches may be a moment behind; the server then refuses the
// write (409), and the next try sees more.
func (c *controller) reconcile(ctx context.Context, key copyKey) error {
	if key.namespace == home {
		return nil // an original is no copy of itself
	}
	want, err := c.wanted(key)
	if err != nil {
		return err
	}
	have, err := c.present(key.namespace, key.name)
	if err != nil {
		return err
	}
	configMaps := c.client.CoreV1().ConfigMaps(key.namespace)
	switch {
	case want == nil && (have == nil || !isCopy(have)):
		return nil
	case want == nil:
		c.log.Info("delete", "namespace", key.namespace, "name", key.name)
		// The version makes sure that what goes is what was looked at.
		err = configMaps.Delete(ctx, key.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{
			UID: &have.UID, ResourceVersion: &have.ResourceVersion,
		}})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	case have == nil:
		c.log.Info("create", "namespace", key.namespace, "name", key.name)
		_, err = configMaps.Create(ctx, want, metav1.CreateOptions{})
		return err
	case !isCopy(have):
		c.log.Warn("in the way, left alone", "namespace", key.namespace, "name", key.name)
		return nil
	case reflect.DeepEqual(have.Data, want.Data) && reflect.DeepEqual(have.BinaryData, want.BinaryData):
		return nil
	}
	c.log.Info("update", "namespace", key.namespace, "name", key.name)
	changed := have.DeepCopy() // what a cache gives is shared: never change it
	changed.Data, changed.BinaryData = want.Data, want.BinaryData
	_, err = configMaps.Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// wanted is what the copy has to be; nil if there must be none.
func (c *controller) wanted(key copyKey) (*corev1.ConfigMap, error) {
	original, err := c.present(home, key.name)
	if err != nil || original == nil || !originalLabels.AsSelector().Matches(labels.Set(original.Labels)) {
		return nil, err
	}
	namespace, err := c.namespaces.Lister().Get(key.namespace)
	if errors.Is(err, kinform.ErrNotFound) || err == nil && namespace.DeletionTimestamp != nil {
		return nil, nil // nothing can be created there
	}
	if err != nil {
		return nil, err
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.namespace, Name: key.name, Labels: maps.Clone(copyLabels)},
		Data:       original.Data,
		BinaryData: original.BinaryData,
	}, nil
}

// present is a ConfigMap as the cache has it; nil if it has none.
func (c *controller) present(namespace, name string) (*corev1.ConfigMap, error) {
	cm, err := c.configMaps.Lister().Namespace(namespace).Get(name)
	if errors.Is(err, kinform.ErrNotFound) {
		return nil, nil
	}
	return cm, err
}

func isCopy(cm *corev1.ConfigMap) bool {
	return copyLabels.AsSelector().Matches(labels.Set(cm.Labels))
}
