package kube

import (
	"net"
	"net/http"
	"net/url"
	"os"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// Compression says whether a server is asked to compress its lists.
type Compression uint8

const (
	// CompressFar compresses unless the server is near: on the same machine, or the API
	// server of the cluster that the program runs in. Compressing a list is the larger
	// part of a server's work on it and takes longer than sending it over such a
	// network. Clients that were made neither by NewClient nor from a Tuned
	// configuration always compress: it saves them wake-ups and HTTP/2 frames.
	// rest.Config.DisableCompression is respected.
	CompressFar Compression = iota
	// CompressAlways is for networks inside a cluster that are slow or billed by volume.
	CompressAlways
	// CompressNever is for fast networks to remote servers.
	CompressNever
)

// plan says how a list is requested from a server.
func (c Compression) plan(client rest.Interface, server *url.URL) listPlan {
	switch c {
	case CompressAlways:
		return listPlan{compressed: true}
	case CompressNever:
		return listPlan{alone: true}
	}
	_, alone := client.(*patientClient)
	switch isNear := near(server.Hostname()); {
	case disabled(client), alone && isNear:
		return listPlan{alone: true}
	case isNear:
		return listPlan{alone: true, compressed: true} // compressed, unless it can be alone
	}
	return listPlan{compressed: true}
}

// listPlan is how a list is requested.
type listPlan struct {
	// alone: the list should have its own connection, if the client supports that, and
	// is not compressed there.
	alone bool
	// compressed: the list is compressed if it has no connection of its own.
	compressed bool
}

// near reports whether a server is on this machine or belongs to the cluster that the
// program runs in.
func near(host string) bool {
	switch host {
	case "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc":
		return true
	case os.Getenv("KUBERNETES_SERVICE_HOST"):
		return host != ""
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// disabled reports whether compression is disabled in the client's configuration.
func disabled(client rest.Interface) bool {
	if p, ok := client.(*patientClient); ok {
		client = p.RESTClient
	}
	c, ok := client.(*rest.RESTClient)
	if !ok || c.Client == nil {
		return false
	}
	rt := c.Client.Transport
	for {
		switch t := rt.(type) {
		case *http.Transport:
			return t.DisableCompression
		case utilnet.RoundTripperWrapper:
			rt = t.WrappedRoundTripper()
		default:
			return false
		}
	}
}
