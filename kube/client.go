package kube

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

// statusCodecs decode only the statuses in error responses: the REST client never
// decodes objects.
var statusCodecs = func() serializer.CodecFactory {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(s)
}()

// NewClient returns a REST client for any resource of the server of cfg. Uncompressed
// lists come over HTTP/1.1, on connections that are closed soon after; everything else
// shares one HTTP/2 connection. If cfg has its own Transport or NextProtos, they are
// used instead.
func NewClient(cfg *rest.Config) (rest.Interface, error) {
	client, err := newClient(forAnyResource(cfg))
	if err != nil {
		return nil, fmt.Errorf("no REST client for %s: %w", cfg.Host, err)
	}
	return client, nil
}

// NewClientOn is like NewClient but uses the program's own connections.
func NewClientOn(cfg *rest.Config, h *http.Client) (rest.Interface, error) {
	client, err := rest.RESTClientForConfigAndClient(forAnyResource(cfg), h)
	if err != nil {
		return nil, fmt.Errorf("no REST client for %s: %w", cfg.Host, err)
	}
	return client, nil
}

// forAnyResource returns a copy of cfg whose client is not bound to one API group and
// decodes no objects.
func forAnyResource(cfg *rest.Config) *rest.Config {
	c := rest.CopyConfig(cfg)
	c.GroupVersion = &schema.GroupVersion{}
	c.APIPath = "/"
	c.NegotiatedSerializer = statusCodecs.WithoutConversion()
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	return c
}

func newClient(c *rest.Config) (rest.Interface, error) {
	if c.Transport != nil {
		return rest.RESTClientFor(c) // the program makes its own connections
	}
	tc, err := c.TransportConfig()
	if err != nil {
		return nil, err
	}
	tc.DialHolder = patientDialOf(tc.DialHolder, c.Dial != nil)
	if len(c.NextProtos) == 0 {
		if err := splitLists(tc); err != nil {
			return nil, err
		}
	}
	rt, err := transport.New(tc)
	if err != nil {
		return nil, err
	}
	client, err := rest.RESTClientForConfigAndClient(c, &http.Client{Transport: rt, Timeout: c.Timeout})
	if err != nil {
		return nil, err
	}
	return &patientClient{client, authorityOf(c)}, nil
}

// patientDial makes patient connections. There is only one, because client-go shares
// connections among clients whose settings, including the dialer, are all equal.
var patientDial = &transport.DialHolder{
	Dial: patiently((&net.Dialer{Timeout: 30 * time.Second, KeepAliveConfig: keepAlive}).DialContext),
}

var patientDials struct {
	sync.Mutex
	of map[*transport.DialHolder]*transport.DialHolder
}

// patientDialOf returns a dialer whose connections are patient. It wraps no dialer, the
// program's own, or that of a credential plugin, which tracks connections so that it
// can close them when it has a new certificate. Each plugin keeps the same dialer.
func patientDialOf(d *transport.DialHolder, own bool) *transport.DialHolder {
	switch {
	case d == nil:
		return patientDial
	case own:
		return &transport.DialHolder{Dial: patiently(d.Dial)}
	}
	patientDials.Lock()
	defer patientDials.Unlock()
	p := patientDials.of[d]
	if p == nil {
		p = &transport.DialHolder{Dial: patiently(d.Dial)}
		if patientDials.of == nil {
			patientDials.of = map[*transport.DialHolder]*transport.DialHolder{}
		}
		patientDials.of[d] = p
	}
	return p
}

// keepAlive detects a dead server within 45 s. HTTP/2 does so with pings, which
// HTTP/1.1 lacks.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 5 * time.Second, Count: 3}

// patientClient is a client with patient connections.
type patientClient struct {
	*rest.RESTClient
	authority string // what Identity says of it
}
