// Package informers stands in for k8s.io/client-go/informers: change the import
// path, keep the program.
//
// The factories have client-go's interface and kinform's implementation: each
// informer that [NewSharedInformerFactory] and its variants give reads bytes through
// the clientset's REST client. A fake clientset, or any other whose clients are
// not client-go's own, is served through its objects. Listers are client-go's, on
// kinform's store.
//
// The packages below stand in for client-go's packages of the same names; they
// are generated, and nothing else may live in them.
package informers

//go:generate go run ./internal/generate
