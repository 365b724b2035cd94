package apisim

import (
	"encoding/base64"
	"testing"
)

func TestContinueTokens(t *testing.T) {
	token, err := decodeContinue(encodeContinue("ns/name\x00", 17))
	if err != nil || token.Start != "ns/name\x00" || token.Version != 17 {
		t.Errorf("%+v, %v", token, err)
	}
	for _, bad := range []string{
		"", "!", "e30", "bm90IGpzb24",
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v2","rv":1,"start":"a"}`)),
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":0,"start":"a"}`)),
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":""}`)),
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}`)),
		base64.RawURLEncoding.EncodeToString([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"a//x"}`)),
	} {
		if token, err := decodeContinue(bad); err == nil {
			t.Errorf("%q was taken for %+v", bad, token)
		}
	}
}
