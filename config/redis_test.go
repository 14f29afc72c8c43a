package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestEndpoint(t *testing.T) {
	for url, want := range map[string]Endpoint{
		"embedded":                            {Kind: Embedded},
		"redis://h":                           {Kind: TCP, Addrs: []string{"h:6379"}},
		"redis://h/":                          {Kind: TCP, Addrs: []string{"h:6379"}},
		"redis://127.0.0.1:7000/3":            {Kind: TCP, Addrs: []string{"127.0.0.1:7000"}, DB: 3},
		"redis://[::1]:7000":                  {Kind: TCP, Addrs: []string{"[::1]:7000"}},
		"redis://[::1]":                       {Kind: TCP, Addrs: []string{"[::1]:6379"}},
		"redis://u:p@h:1":                     {Kind: TCP, Addrs: []string{"h:1"}},
		"rediss://h:6380/1":                   {Kind: TCP, Addrs: []string{"h:6380"}, DB: 1, TLS: true},
		"redis-socket:///run/redis.sock?db=2": {Kind: Socket, Addrs: []string{"/run/redis.sock"}, DB: 2},
		"redis-socket://u:p@/run/a%20b":       {Kind: Socket, Addrs: []string{"/run/a b"}},
		"redis-sentinel://a?master=m":         {Kind: Sentinel, Addrs: []string{"a:26379"}, Master: "m"},
		"redis-sentinel://u:p@a:1,b,[::1]:3/4?master=my%20m&tls=true":     {Kind: Sentinel, Addrs: []string{"a:1", "b:26379", "[::1]:3"}, Master: "my m", DB: 4, TLS: true},
		"redis-sentinel://a,b:2?master=m&db=5&tls=false":                  {Kind: Sentinel, Addrs: []string{"a:26379", "b:2"}, Master: "m", DB: 5},
		"redis-sentinel://u:p%2Fq%40r@a:1,b:2?master=redis.example_1-2/x": {Kind: Sentinel, Addrs: []string{"a:1", "b:2"}, Master: "redis.example_1-2/x"},
	} {
		got, err := Redis{URL: url}.Endpoint()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", url, got, err, want)
		}
		// Without its user the URL means the same place.
		if got, err := (Redis{URL: withoutUser(url)}).Endpoint(); err != nil || !reflect.DeepEqual(got, want) || strings.Contains(withoutUser(url), "p@") {
			t.Errorf("%s: %+v, %v; want %+v", withoutUser(url), got, err, want)
		}
	}
}

func TestEndpointRefuses(t *testing.T) {
	for url, want := range map[string]string{
		"":                                   "has no known scheme",
		"EMBEDDED":                           "has no known scheme",
		"embedded://":                        "has no known scheme",
		"valkey://h":                         "has no known scheme",
		"redis:h":                            "has no known scheme",
		"redis://":                           "names no host",
		"redis://:6379":                      "names no host",
		"redis://h:":                         "has a colon without a port",
		"redis://h:0":                        "has a port that is not 1 to 65535",
		"redis://h:65536":                    "has a port that is not 1 to 65535",
		"redis://h:x":                        "cannot be read as a URL (write special characters in a password as %XX)",
		"redis://a,b":                        "names more than one host, which only redis-sentinel:// takes",
		"redis://h/x":                        "has a database that is not a number from 0 to 65535",
		"redis://h/-1":                       "has a database that is not a number from 0 to 65535",
		"redis://h/1/2":                      "has a database that is not a number from 0 to 65535",
		"redis://h?db=1":                     "has a query parameter that redis:// does not know",
		"redis://h#1":                        "has a part after # (write # in a password as %23)",
		"redis-socket://run/redis.sock":      "names no absolute path of a socket",
		"redis-socket://":                    "names no absolute path of a socket",
		"redis-socket:///":                   "names no absolute path of a socket",
		"redis-socket:///s?db=1&db=2":        "gives db twice",
		"redis-socket:///s?master=m":         "has a query parameter that redis-socket:// does not know",
		"redis-sentinel://a":                 "lacks ?master=NAME, the name of the Redis that the sentinels watch",
		"redis-sentinel://?master=m":         "names no host",
		"redis-sentinel://a,,b?master=m":     "names no host",
		"redis-sentinel://a:b,c?master=m":    "has a host or port that cannot be read",
		"redis-sentinel://a?master=m&tls=":   "has a tls that is neither true nor false",
		"redis-sentinel://a/1?master=m&db=1": "gives the database twice",
	} {
		if e, err := (Redis{URL: url}).Endpoint(); err == nil || err.Error() != want {
			t.Errorf("%q: %+v, %v; want %s", url, e, err, want)
		}
	}
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"embedded":                         "embedded",
		"redis://h:6379/0":                 "redis://h:6379/0",
		"redis://:s@h":                     "redis://:***@h",
		"redis://u:s@h/1":                  "redis://u:***@h/1",
		"redis://s@h":                      "redis://***@h",
		"redis://u:s@t@h":                  "redis://u:***@h",
		"redis://u:s/t@h":                  "redis://u:***@h",
		"redis://u:s?t@h":                  "redis://***",
		"redis-sentinel://a?master=m&db=1": "redis-sentinel://a?master=m&db=1",
		"redis://h?password=s&db=1":        "redis://h?password=***&db=1",
		"redis://h?%zz=s":                  "redis://h?%zz=***",
		"u:s@h":                            "u:***@h",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestRedactHidesPasswords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Any password, raw or escaped, of characters that appear nowhere else.
		secret := rapid.StringMatching(`[A-Z@:/?#&=%]{0,6}[A-Z]{4}`).Draw(t, "secret")
		url := rapid.SampledFrom([]string{"redis://u:", "rediss://:", "redis-sentinel://u:", "redis-socket://u:", "u:"}).Draw(t, "start") +
			secret + rapid.SampledFrom([]string{"@h:1/0", "@a,b?master=m", "@/s"}).Draw(t, "end")
		if got := Redact(url); strings.ContainsAny(got, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			t.Fatalf("Redact(%q) = %q", url, got)
		}
	})
}

func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{"embedded", "redis://u:p@h:1/2", "rediss://[::1]", "redis-socket:///a?db=1", "redis-sentinel://u:p@a:1,b?master=m&tls=true", "redis://[fe80::1%25eth0]:6379"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := Redis{URL: s}.Endpoint()
		if err != nil {
			if msg := err.Error(); strings.ContainsAny(msg, "\n\r") || len(msg) > 200 {
				t.Fatalf("error is not one short line: %q", msg)
			}
			return
		}
		again, err := Redis{URL: withoutUser(s)}.Endpoint()
		if err != nil || !reflect.DeepEqual(e, again) {
			t.Fatalf("%q is %+v, without its user %q %+v, %v", s, e, withoutUser(s), again, err)
		}
	})
}

// writePair writes a self-signed certificate and its key.
func writePair(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestTLSConfig(t *testing.T) {
	dir := t.TempDir()
	cert, key := writePair(t, dir)
	c, err := Redis{URL: "redis-sentinel://a?master=m&tls=true", CAFile: cert, CertFile: cert, KeyFile: key}.TLSConfig()
	if err != nil || c.RootCAs == nil || len(c.Certificates) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	junk := filepath.Join(dir, "junk.pem")
	if err := os.WriteFile(junk, []byte("no certificate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := (Redis{URL: "redis://h"}).TLSConfig(); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := (Redis{URL: "rediss://h"}).TLSConfig(); err != nil || c.MinVersion != tls.VersionTLS12 || c.RootCAs != nil {
		t.Errorf("%v, %v", c, err)
	}
	for want, r := range map[string]Redis{
		"redis.url: has no known scheme":                                                            {URL: "x"},
		"redis.ca_file: " + junk + " holds no PEM certificate":                                      {URL: "rediss://h", CAFile: junk},
		"redis.ca_file: /nonexistent cannot be read: no such file or directory":                     {URL: "rediss://h", CAFile: "/nonexistent"},
		"redis.cert_file and redis.key_file: tls: failed to find any PEM data in certificate input": {URL: "rediss://h", CertFile: junk, KeyFile: junk},
	} {
		if _, err := r.TLSConfig(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
