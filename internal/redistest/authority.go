package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for a test. Its own certificate and those that it
// issues are PEM files in a folder of the test and hold for an hour.
type Authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// Pair is a certificate and its key, as files.
type Pair struct{ Cert, Key string }

// NewAuthority makes an authority.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t, dir: t.TempDir()}
	a.Issue("ca")
	return a
}

// File returns the path of the authority's own certificate.
func (a *Authority) File() string { return filepath.Join(a.dir, "ca.pem") }

// Pool returns a pool that holds the authority alone.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.cert)
	return p
}

// Issue makes a certificate for hosts, which are names or IP addresses. One
// without hosts serves clients. The authority's first one is its own.
func (a *Authority) Issue(name string, hosts ...string) Pair {
	a.t.Helper()
	p := Pair{Cert: filepath.Join(a.dir, name+".pem"), Key: filepath.Join(a.dir, name+".key")}
	if err := a.issue(name, hosts, p); err != nil {
		a.t.Fatalf("redistest: certificate %s: %v", name, err)
	}
	return p
}

func (a *Authority) issue(name string, hosts []string, p Pair) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		template.IsCA, template.KeyUsage = true, x509.KeyUsageCertSign
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return err
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			return err
		}
		a.key = key
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for file, block := range map[string]*pem.Block{
		p.Cert: {Type: "CERTIFICATE", Bytes: der},
		p.Key:  {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// TLSConfig returns a client's configuration: it trusts the authority and shows
// the certificate, if there is one.
func (a *Authority) TLSConfig(client Pair) *tls.Config {
	a.t.Helper()
	c := &tls.Config{RootCAs: a.Pool(), MinVersion: tls.VersionTLS12}
	if client.Cert != "" {
		pair, err := tls.LoadX509KeyPair(client.Cert, client.Key)
		if err != nil {
			a.t.Fatalf("redistest: %v", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c
}
