package apiserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// errExited: the process ended while it was waited for.
var errExited = errors.New("the process ended")

// A probe asks starting servers whether they are ready, as the administrator.
type probe struct {
	client *http.Client
	token  string
}

func newProbe(c *credentials) *probe {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.caPEM)
	return &probe{
		token: c.adminToken,
		client: &http.Client{
			Timeout: 5 * time.Second,
			// A connection kept alive would be a goroutine left over.
			Transport: &http.Transport{
				TLSClientConfig:   &tls.Config{RootCAs: roots},
				DisableKeepAlives: true,
			},
		},
	}
}

// await asks for url until the answer is 200. It gives up when ctx ends, with
// the last answer, and when exited is closed, with errExited.
func (p *probe) await(ctx context.Context, exited <-chan struct{}, url string) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.ask(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-exited:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("%w; the last answer was: %w", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

func (p *probe) ask(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s: %s", url, response.Status, bytes.TrimSpace(body))
	}
	return nil
}
