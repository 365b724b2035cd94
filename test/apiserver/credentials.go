package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// credentials are the secrets of one Server, made again for each.
type credentials struct {
	caPEM          []byte
	adminToken     string
	powerlessToken string

	// Files for kube-apiserver.
	certFile, keyFile, tokenFile, serviceAccountKeyFile string
}

func makeCredentials(dir string) (*credentials, error) {
	c := &credentials{
		adminToken:            rand.Text(),
		powerlessToken:        rand.Text(),
		certFile:              filepath.Join(dir, "server.crt"),
		keyFile:               filepath.Join(dir, "server.key"),
		tokenFile:             filepath.Join(dir, "tokens.csv"),
		serviceAccountKeyFile: filepath.Join(dir, "service-account.key"),
	}
	cert, key, err := c.issueServerCertificate()
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the test server: %w", err)
	}
	_, accountKey, err := newKey()
	if err != nil {
		return nil, fmt.Errorf("make the service-account key of the test server: %w", err)
	}
	tokens := fmt.Sprintf("%s,administrator,1,system:masters\n%s,powerless,2\n", c.adminToken, c.powerlessToken)
	for file, content := range map[string][]byte{
		c.certFile:              cert,
		c.keyFile:               key,
		c.tokenFile:             []byte(tokens),
		c.serviceAccountKeyFile: accountKey,
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			return nil, fmt.Errorf("write the credentials of the test server: %w", err)
		}
	}
	return c, nil
}

// issueServerCertificate makes an authority, remembers its certificate for the
// clients, and has it sign one certificate for the loopback address.
func (c *credentials) issueServerCertificate() (cert, key []byte, err error) {
	caKey, _, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	ca := certificateTemplate(1, "kinform test authority")
	ca.IsCA, ca.BasicConstraintsValid = true, true
	ca.KeyUsage = x509.KeyUsageCertSign
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, caKey.Public(), caKey)
	if err != nil {
		return nil, nil, err
	}
	c.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER})

	serverKey, key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	server := certificateTemplate(2, "kube-apiserver")
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	server.DNSNames = []string{"localhost"}
	der, err := x509.CreateCertificate(rand.Reader, server, ca, serverKey.Public(), caKey)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), key, nil
}

func certificateTemplate(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
