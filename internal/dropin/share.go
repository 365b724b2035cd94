package dropin

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/kube"
)

// Share says what an informer requests, from which server, as which user. Informers with
// equal Shares may have one watch. The zero Share is equal to none.
type Share struct {
	// client is the HTTP client itself, not an equal one: all its users have the same
	// credentials, certificates and proxies. Two clients that only look the same never
	// share: whether they act for the same user is not known.
	client *http.Client
	server string

	resource  schema.GroupVersionResource
	namespace string
	labels    string
	fields    string

	variant  string
	snapshot string
}

// Kept returns a Share that is equal only to those of informers that keep what they have
// in the same way.
func (s Share) Kept(how string) Share {
	s.snapshot = how
	return s
}

// Variant returns a Share that is equal only to those of the same variant: of
// informers that ask the same, and want it done in another way.
func (s Share) Variant(name string) Share {
	s.variant = name
	return s
}

// ShareOf returns the Share of a query; zero if nothing can be said of the client.
func ShareOf(client rest.Interface, q kube.Query) Share {
	c, ok := client.(*rest.RESTClient)
	if !ok || c == nil || c.Client == nil {
		return Share{}
	}
	return Share{
		client:    c.Client,
		server:    c.Get().AbsPath("/").URL().String(),
		resource:  q.Resource,
		namespace: q.Namespace,
		labels:    q.LabelSelector,
		fields:    q.FieldSelector,
	}
}

// Needs says what a reader can make its objects of. What serves one that needs
// more serves those that need less.
type Needs uint8

const (
	// Metadata: of the objects' metadata alone.
	Metadata Needs = iota + 1
	// Anything: of whole objects, in protobuf or JSON.
	Anything
	// JSON: of whole objects in JSON.
	JSON
)

// String says what is asked for.
func (n Needs) String() string {
	switch n {
	case Metadata:
		return "metadata"
	case Anything:
		return "protobuf"
	case JSON:
		return "json"
	}
	return ""
}
