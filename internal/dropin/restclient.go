package dropin

import (
	"reflect"
	"unsafe"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// The dynamic and the metadata client have what bytes need, a REST client, and no
// method that gives it. Making our own would need the configuration, which they do
// not give either. So it is read from the field that they keep it in. This
// file is the only place that knows of such fields; where one is not as expected
// (another client-go, somebody else's client) there are no bytes, and the client
// is served through its objects.

// RESTClientOfDynamic returns the REST client of client-go's own dynamic client,
// or nil.
func RESTClientOfDynamic(client dynamic.Interface) rest.Interface {
	if c, ok := client.(*dynamic.DynamicClient); ok && c != nil {
		return field(c)
	}
	return nil
}

// RESTClientOfMetadata returns the REST client of client-go's own metadata
// client, or nil.
func RESTClientOfMetadata(client metadata.Interface) rest.Interface {
	if c, ok := client.(*metadata.Client); ok && c != nil {
		return field(c)
	}
	return nil
}

// field returns the REST client in the field "client" of the struct that owner
// points at. It only reads.
func field(owner any) rest.Interface {
	f := reflect.ValueOf(owner).Elem().FieldByName("client")
	if !f.IsValid() || !f.CanAddr() {
		return nil
	}
	// The field is not exported, so reflection alone does not give its value; its
	// type is checked before anything is made of it.
	readable := reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
	c, _ := readable.Interface().(rest.Interface)
	return Usable(c)
}

// Usable returns a REST client that requests can be made with, or nil: those of
// fake clients are nil pointers.
func Usable(c rest.Interface) rest.Interface {
	if IsNil(c) {
		return nil
	}
	return c
}

// IsNil reports whether a client is nil, or a nil pointer: programs give such to
// informers that they will not run.
func IsNil(client any) bool {
	v := reflect.ValueOf(client)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}
