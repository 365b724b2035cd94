package apisim_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/kinform/kinform/apisim"
)

// TestGzip: large answers are compressed for who asks, small ones and those
// of watches are not.
func TestGzip(t *testing.T) {
	s := start(t, apisim.Options{})
	if err := s.Load(podObjects(40)); err != nil {
		t.Fatal(err)
	}
	c := talk(t, s)
	for _, accept := range []string{asJSON, asProtobuf} {
		_, plain := c.do("GET", "/api/v1/pods", "", "Accept", accept)
		for path, zipped := range map[string]bool{"/api/v1/pods": true, "/api/v1/pods?limit=2": false, "/api/v1/pods?watch=1&timeoutSeconds=1": false} {
			response, err := c.send(t.Context(), "GET", path, "", "Accept", accept, "Accept-Encoding", "deflate, gzip")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			if got := response.Header.Get("Content-Encoding") == "gzip"; got != zipped {
				t.Errorf("%s of %d bytes was compressed: %v", path, len(body), got)
			}
			if !zipped {
				continue
			}
			reader, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if unzipped, err := io.ReadAll(reader); err != nil || !bytes.Equal(unzipped, plain) {
				t.Errorf("unzipped %d bytes of %d: %v", len(unzipped), len(plain), err)
			}
		}
	}
}
