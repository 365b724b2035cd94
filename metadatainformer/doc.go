// Package metadatainformer stands in for
// k8s.io/client-go/metadata/metadatainformer: change the import path, keep the
// program.
//
// Informers read bytes through the REST client of client-go's metadata client,
// and through the objects of any other metadata client, fakes among them. Objects
// equal what client-go's metadata client gives. What the packages of this kind
// share lives in internal/dropin.
package metadatainformer
