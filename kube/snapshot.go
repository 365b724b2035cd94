package kube

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/snapshot"
)

// SnapshotPlace says where snapshots are kept, and how they are sealed.
type SnapshotPlace struct {
	Dir string
	Key []byte
}

// errClear: Secrets are not written as they are.
var errClear = errors.New("Secrets are written to disk only with a key: set the Key of the snapshot")

// Open opens the snapshot of what a query requests from a client's server. Form says
// what is stored of each object.
//
// Possible errors: those of snapshot.Open; that Secrets need a key.
func (p SnapshotPlace) Open(client rest.Interface, q Query, form string) (*snapshot.File, error) {
	if q.Resource.GroupResource() == (schema.GroupResource{Resource: "secrets"}) && len(p.Key) == 0 {
		return nil, errClear
	}
	r := q.Resource
	s := snapshot.Scope{
		Resource:      strings.TrimPrefix(r.Group+"/"+r.Version+"/"+r.Resource, "/"),
		Namespace:     q.Namespace,
		LabelSelector: q.LabelSelector,
		FieldSelector: q.FieldSelector,
		Form:          form,
	}
	s.Server, s.CA = Identity(client)
	return snapshot.Open(p.Dir, s, snapshot.Options{Key: p.Key})
}

// Own returns a copy of the place, with a key that the program cannot erase.
func (p SnapshotPlace) Own() SnapshotPlace {
	p.Key = slices.Clone(p.Key)
	return p
}

// FormWithoutManagedFields is added to a form where metadata.managedFields is not stored.
const FormWithoutManagedFields = ", no managed fields"

// Form says what a query asks for of each object.
func (q Query) Form() string {
	form := "json"
	if q.Protobuf {
		form = "protobuf"
	}
	if q.MetadataOnly {
		form += ", metadata"
	}
	return form
}
