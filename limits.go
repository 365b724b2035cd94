package kinform

import (
	"errors"
	"io"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/kinform/kinform/kube"
)

// largestError is how much of an error response is read. The REST client reads such
// responses whole, however long they are; no real error is that long.
const largestError = 64 << 10

// newClient returns a client for the server of cfg.
func newClient(cfg *rest.Config) (rest.Interface, error) {
	if cfg == nil {
		return nil, errors.New("the rest.Config is nil: clientcmd and rest.InClusterConfig make one")
	}
	return kube.NewClient(bounded(cfg))
}

// bounded returns a configuration whose client reads at most largestError of an
// error response. Other responses are bounded where they are read, by
// Options.MaxObjectSize; headers are bounded by net/http.
func bounded(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return boundedErrors{rt} })
	return cfg
}

type boundedErrors struct{ http.RoundTripper }

func (b boundedErrors) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		resp.Body = boundedBody{io.LimitReader(resp.Body, largestError), resp.Body}
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find what is below.
func (b boundedErrors) WrappedRoundTripper() http.RoundTripper { return b.RoundTripper }

type boundedBody struct {
	io.Reader
	io.Closer
}
