package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// TLSConfig returns the client's TLS settings, or nil when the URL asks for no
// TLS. It reads the certificate files. The server's name is left to the dialer,
// which knows the host it dials.
func (r Redis) TLSConfig() (*tls.Config, error) {
	e, err := r.Endpoint()
	if err != nil {
		return nil, fmt.Errorf("redis.url: %w", err)
	}
	if !e.TLS {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.CAFile != "" {
		pem, err := readSmall(r.CAFile, 1<<20)
		if err != nil {
			return nil, fmt.Errorf("redis.ca_file: %s %w", label(r.CAFile), err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("redis.ca_file: %s holds no PEM certificate", label(r.CAFile))
		}
	}
	if r.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(r.CertFile, r.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("redis.cert_file and redis.key_file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// readPassword returns the first line of a file.
func readPassword(path string) (Secret, error) {
	b, err := readSmall(path, 1<<16)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", errors.New("has an empty first line")
	}
	return Secret(line), nil
}

// readSmall reads a regular file of at most limit bytes. Its errors are short
// and name no path, which the caller does.
func readSmall(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, plainPathError(err)
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, errors.New("is a folder, not a file")
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, plainPathError(err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("is larger than %d bytes", limit)
	}
	return b, nil
}

// plainPathError returns the reason of a file error without "open PATH:".
func plainPathError(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("cannot be read: %w", p.Err)
	}
	return fmt.Errorf("cannot be read: %w", err)
}
