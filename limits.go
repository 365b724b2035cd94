package kinform

import (
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// largestError is what is read of an answer that is an error. The REST client reads
// such answers whole, however long they are; no server has that much to say.
const largestError = 64 << 10

// bounded returns a configuration whose client reads no more than that of an error.
// What is no error is bounded where it is read, by Options.MaxObjectSize; headers
// are bounded by net/http.
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
