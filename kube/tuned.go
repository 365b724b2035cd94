package kube

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// Tuned returns a copy of a configuration for clients of a program's own, a clientset
// or a dynamic client, on which drop-in informers are made:
//
//	cfg, err := kube.Tuned(cfg)
//	client, err := kubernetes.NewForConfig(cfg)
//	factory := informers.NewSharedInformerFactory(client, 0)
//
// Informers on such a client read long lists as those of package kinform do: not
// compressed where the server is near, and over HTTP/1.1, on connections that are closed
// soon after. All other requests stay as they are. Where cfg has its own Transport or
// NextProtos, these decide, and the copy is not changed.
func Tuned(cfg *rest.Config) (*rest.Config, error) {
	c := rest.CopyConfig(cfg)
	if c.Transport != nil || len(c.NextProtos) > 0 {
		return c, nil
	}
	tc, err := c.TransportConfig()
	if err == nil {
		tc.DialHolder = patientDialOf(tc.DialHolder, c.Dial != nil)
		tc.WrapTransport = nil // the program's are around both
		err = splitLists(tc)
	}
	if err != nil {
		return nil, fmt.Errorf("tune the configuration of %s: %w", cfg.Host, err)
	}
	c.WrapTransport = transport.Wrappers(tc.WrapTransport, c.WrapTransport)
	return c, nil
}
