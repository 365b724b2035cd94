package cache

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MetaNamespaceKeyFunc is the key of an API object: namespace/name, or the name
// alone for an object that has no namespace. An [ExplicitKey] is its own key.
func MetaNamespaceKeyFunc(obj any) (string, error) {
	if key, ok := obj.(ExplicitKey); ok {
		return string(key), nil
	}
	name, err := ObjectToName(obj)
	if err != nil {
		return "", err
	}
	return name.String(), nil
}

// DeletionHandlingMetaNamespaceKeyFunc is [MetaNamespaceKeyFunc] for what a delete
// handler gets, which may be a [DeletedFinalStateUnknown].
func DeletionHandlingMetaNamespaceKeyFunc(obj any) (string, error) {
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return tombstone.Key, nil
	}
	return MetaNamespaceKeyFunc(obj)
}

// SplitMetaNamespaceKey takes a key apart that [MetaNamespaceKeyFunc] made.
func SplitMetaNamespaceKey(key string) (namespace, name string, err error) {
	first, second, namespaced := strings.Cut(key, "/")
	switch {
	case !namespaced:
		return "", first, nil
	case strings.Contains(second, "/"):
		return "", "", fmt.Errorf("unexpected key format: %q", key)
	}
	return first, second, nil
}

// ObjectToName is the name of an object that has metadata.
func ObjectToName(obj any) (ObjectName, error) {
	object, err := meta.Accessor(obj)
	if err != nil {
		return ObjectName{}, fmt.Errorf("object has no meta: %w", err)
	}
	return MetaObjectToName(object), nil
}

// DeletionHandlingObjectToName is [ObjectToName] for what a delete handler gets.
func DeletionHandlingObjectToName(obj any) (ObjectName, error) {
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return ParseObjectName(tombstone.Key)
	}
	return ObjectToName(obj)
}

// MetaObjectToName is the name that an object's metadata says.
func MetaObjectToName(obj metav1.Object) ObjectName {
	return ObjectName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// ParseObjectName reads what ObjectName.String writes.
func ParseObjectName(str string) (ObjectName, error) {
	namespace, name, err := SplitMetaNamespaceKey(str)
	return ObjectName{Namespace: namespace, Name: name}, err
}

// NewObjectName puts a name together.
func NewObjectName(namespace, name string) ObjectName {
	return ObjectName{Namespace: namespace, Name: name}
}

// NamespacedNameAsObjectName converts a name of the API machinery.
func NamespacedNameAsObjectName(nn types.NamespacedName) ObjectName {
	return ObjectName{Namespace: nn.Namespace, Name: nn.Name}
}

// MetaNamespaceIndexFunc indexes by namespace.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	object, err := meta.Accessor(obj)
	if err != nil {
		return []string{""}, fmt.Errorf("object has no meta: %w", err)
	}
	return []string{object.GetNamespace()}, nil
}

// IndexFuncToKeyFuncAdapter makes a key of an index function that gives exactly
// one value per object; an object with none or several is an error.
func IndexFuncToKeyFuncAdapter(indexFunc IndexFunc) KeyFunc {
	return func(obj any) (string, error) {
		values, err := indexFunc(obj)
		switch {
		case err != nil:
			return "", err
		case len(values) == 0:
			return "", fmt.Errorf("unexpected empty indexKeys")
		case len(values) > 1:
			return "", fmt.Errorf("too many keys: %v", values)
		}
		return values[0], nil
	}
}
