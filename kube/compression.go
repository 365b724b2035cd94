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
	// CompressFar compresses unless the server is near: on the same machine, or
	// that of the cluster which the program runs in. Compressing a list is the
	// larger part of a server's work on it and takes longer than the network
	// between the two. Clients that were not made by NewClient always compress:
	// it spares them wake-ups and HTTP/2 frames. rest.Config.DisableCompression is
	// respected.
	CompressFar Compression = iota
	// CompressAlways is for networks inside a cluster that are slow or billed by volume.
	CompressAlways
	// CompressNever is for fast networks to remote servers.
	CompressNever
)

// wanted reports whether lists from a server should be compressed.
func (c Compression) wanted(client rest.Interface, server *url.URL) bool {
	switch c {
	case CompressAlways:
		return true
	case CompressNever:
		return false
	}
	_, patient := client.(*patientClient)
	return !(patient && near(server.Hostname())) && !disabled(client)
}

// near reports whether a server is on this machine, or is that of the cluster which
// the program runs in.
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

// disabled reports whether the client was configured not to ask for compression.
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
