package kube

import (
	"net/url"
	"testing"

	"k8s.io/client-go/rest"
)

func TestCompressionFollowsTheDistance(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	for _, test := range []struct {
		server   string
		mode     Compression
		disabled bool
		want     bool
	}{
		{"https://api.example.com:6443", CompressFar, false, true},
		{"https://api.example.com:6443", CompressFar, true, false},
		{"https://api.example.com:6443", CompressNever, false, false},
		{"https://api.example.com:6443", CompressAlways, true, true},
		{"https://10.96.0.1:443", CompressFar, false, false},
		{"https://10.96.0.2:443", CompressFar, false, true},
		{"https://kubernetes.default.svc", CompressFar, false, false},
		{"https://127.0.0.1:6443", CompressFar, false, false},
		{"https://[::1]:6443", CompressFar, false, false},
		{"http://localhost:8001", CompressFar, false, false},
		{"http://localhost:8001", CompressAlways, false, true},
	} {
		// Without any TLS options client-go would take net/http's own transport, which
		// compresses.
		client, err := NewClient(&rest.Config{Host: test.server, DisableCompression: test.disabled, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
		if err != nil {
			t.Fatal(err)
		}
		server, err := url.Parse(test.server)
		if err != nil {
			t.Fatal(err)
		}
		if got := test.mode.plan(client, server).compressed; got != test.want {
			t.Errorf("%s, mode %d, disabled %t: %t", test.server, test.mode, test.disabled, got)
		}
	}
}
