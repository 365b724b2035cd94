// Package dynamicinformer stands in for
// k8s.io/client-go/dynamic/dynamicinformer: change the import path, keep the
// program.
//
// Informers read bytes through the REST client of client-go's dynamic client, and
// through the objects of any other dynamic client, fakes among them. Objects
// equal what client-go's dynamic client gives. What the packages of this kind
// share lives in internal/dropin.
package dynamicinformer
