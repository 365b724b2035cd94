package kube

import (
	"crypto/sha256"
	"encoding/hex"
	"os"

	"k8s.io/client-go/rest"
)

// Identity returns what is known about a client's server without asking it: its
// address, and a hash of the certificate authorities that it is verified with, or "" if
// they are not known.
func Identity(client rest.Interface) (server, authority string) {
	server = client.Get().URL().String()
	if p, ok := client.(*patientClient); ok {
		authority = p.authority
	}
	return server, authority
}

// authorityOf returns the hash of a configuration's certificate authorities. A file
// that cannot be read is reported when a connection is made.
func authorityOf(c *rest.Config) string {
	pem := c.CAData
	if len(pem) == 0 && c.CAFile != "" {
		pem, _ = os.ReadFile(c.CAFile)
	}
	if len(pem) == 0 {
		return ""
	}
	sum := sha256.Sum256(pem)
	return hex.EncodeToString(sum[:16])
}
