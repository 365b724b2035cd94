package kube

import (
	"fmt"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// statusCodecs decode nothing but the statuses that servers answer errors with:
// objects are never decoded by the REST client.
var statusCodecs = func() serializer.CodecFactory {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(s)
}()

// NewClient returns a REST client for any resource of the server of cfg.
func NewClient(cfg *rest.Config) (rest.Interface, error) {
	c := rest.CopyConfig(cfg)
	c.GroupVersion = &schema.GroupVersion{}
	c.APIPath = "/"
	c.NegotiatedSerializer = statusCodecs.WithoutConversion()
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := newClient(c)
	if err != nil {
		return nil, fmt.Errorf("no REST client for %s: %w", cfg.Host, err)
	}
	return client, nil
}

func newClient(c *rest.Config) (rest.Interface, error) {
	if c.Transport != nil {
		return rest.RESTClientFor(c) // connections are somebody else's business
	}
	tc, err := c.TransportConfig()
	if err != nil {
		return nil, err
	}
	tc.DialHolder = patientDial
	if c.Dial != nil {
		tc.DialHolder = &transport.DialHolder{Dial: patiently(c.Dial)}
	}
	rt, err := transport.New(tc)
	if err != nil {
		return nil, err
	}
	client, err := rest.RESTClientForConfigAndClient(c, &http.Client{Transport: rt, Timeout: c.Timeout})
	if err != nil {
		return nil, err
	}
	return &patientClient{client}, nil
}

// patientDial makes patient connections. It is one for all, as client-go shares the
// connections of clients that have all settings in common, this one included.
var patientDial = &transport.DialHolder{
	Dial: patiently((&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext),
}

// patientClient is a client with patient connections.
type patientClient struct{ *rest.RESTClient }
