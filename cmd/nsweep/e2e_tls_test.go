package main

import (
	"strings"
	"testing"

	"github.com/nsweep/nsweep/internal/redistest"
)

// tlsFiles returns the variables that name the files of a TLS client.
func tlsFiles(ca string, p redistest.Pair) []string {
	return []string{"NSWEEP_REDIS_CA_FILE=" + ca, "NSWEEP_REDIS_CERT_FILE=" + p.Cert, "NSWEEP_REDIS_KEY_FILE=" + p.Key}
}

// TestTLS is a whole job on a Redis that speaks TLS only and asks every client
// for a certificate. The files are given in each of the three ways that there
// are. The digests are those of a run without Redis.
func TestTLS(t *testing.T) {
	t.Parallel()
	alone, dir := t.TempDir(), t.TempDir()
	write(t, alone, "toy.yaml", toyYAML)
	call(t, alone, nil, codeDone, "run", "toy.yaml")
	want := digests(result(t, alone, nil, "toy"))

	ca := redistest.NewAuthority(t)
	srv := redistest.StartTLS(t, ca)
	client := ca.Issue("client")
	write(t, dir, "toy.yaml", toyYAML+"redis:\n  url: "+srv.URL()+"\n  ca_file: "+ca.File()+"\n  cert_file: "+client.Cert+"\n  key_file: "+client.Key+"\n")
	env := append(tlsFiles(ca.File(), client), "NSWEEP_REDIS_URL="+srv.URL())
	flags := []string{"--redis", srv.URL(), "--redis-ca-file", ca.File(), "--redis-cert-file", client.Cert, "--redis-key-file", client.Key}

	call(t, dir, nil, codeDone, "doctor", "toy.yaml")
	cli(t, dir, env, "scheduler")
	worker := cli(t, dir, nil, append([]string{"worker", "--concurrency", "2"}, flags...)...)
	call(t, dir, nil, codeDone, "submit", "toy.yaml", "--wait")
	if got := digests(result(t, dir, env, "toy")); got != want {
		t.Errorf("digests differ:\n%s\nwant\n%s", got, want)
	}
	if out, _ := call(t, dir, nil, codeDone, append([]string{"get", "toy", "toy", "1"}, flags...)...); out != "1 10\n" {
		t.Errorf("get gives %q", out)
	}
	if out, _ := call(t, dir, env, codeDone, "status", "toy"); !strings.Contains(out, "complete") {
		t.Errorf("status says %s", out)
	}
	if out, _ := call(t, dir, env, codeDone, "doctor"); !strings.Contains(out, srv.Addr()+" answers") {
		t.Errorf("doctor says %s", out)
	}
	if s := worker.err.String(); strings.Contains(s, "level=WARN") || strings.Contains(s, "level=ERROR") {
		t.Errorf("the worker says %s", s)
	}
}

// TestTLSRefused: whoever cannot prove who he is, and a server that cannot, end
// in one line. Nothing is stored.
func TestTLSRefused(t *testing.T) {
	t.Parallel()
	ca, foreign := redistest.NewAuthority(t), redistest.NewAuthority(t)
	client, stranger := ca.Issue("client"), foreign.Issue("client")
	elsewhere := ca.Issue("elsewhere", "redis.example.org")
	srv := redistest.StartTLS(t, ca)
	misnamed := redistest.StartTLS(t, ca, "--tls-cert-file", elsewhere.Cert, "--tls-key-file", elsewhere.Key)
	plain := redistest.Start(t)
	with := func(url, ca string, p redistest.Pair) []string {
		return append(tlsFiles(ca, p), "NSWEEP_REDIS_URL="+url)
	}
	refuseAll(t, []refusal{
		{"no certificate", with(srv.URL(), ca.File(), redistest.Pair{}), []string{"cannot be reached", "it may want a certificate, redis.cert_file and redis.key_file"}},
		{"a certificate of another authority", with(srv.URL(), ca.File(), stranger), []string{"cannot be reached", "it may not trust redis.cert_file"}},
		{"a server of another authority", with(srv.URL(), foreign.File(), client), []string{"unknown authority", "redis.ca_file"}},
		{"no authority", with(srv.URL(), "", client), []string{"unknown authority", "redis.ca_file"}},
		{"another host's certificate", with(misnamed.URL(), ca.File(), client), []string{"127.0.0.1", "the certificate must be for the host in redis.url"}},
		{"plain on the TLS port", []string{"NSWEEP_REDIS_URL=redis://" + srv.Addr()}, []string{"where it speaks TLS, use rediss://"}},
		{"TLS on the plain port", with("rediss://"+plain.Addr(), ca.File(), client), []string{"where it does not speak TLS, use redis://"}},
	})
	for what, env := range map[string][]string{
		"TLS": with(srv.URL(), ca.File(), client), "plain": on(plain),
	} {
		if out, _ := call(t, t.TempDir(), env, codeDone, "runs"); !strings.Contains(out, "no runs") {
			t.Errorf("the %s server has %s", what, out)
		}
	}
}
