package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestExitCodesAreDescribed compares the table of exit codes in the
// documentation with the constants.
func TestExitCodesAreDescribed(t *testing.T) {
	b, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(b), "## Exit codes")
	if !ok {
		t.Fatal("docs/ARCHITECTURE.md has no exit codes")
	}
	for code, word := range map[int]string{
		codeDone: "done and checked", codeFailed: "failed", codeUsage: "bad usage", codeMismatch: "does not hold",
		codeStopped: "resumable", codeUnreachable: "Redis out of reach",
	} {
		row := regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \| .*$`, code)).FindString(table)
		if !strings.Contains(row, word) {
			t.Errorf("exit code %d: row %q does not say %q", code, row, word)
		}
	}
}

// fences finds the shell blocks of a document.
var fences = regexp.MustCompile("(?s)```sh\n(.*?)```")

// TestReadmeTour runs the commands of the README's tour as they stand, in a
// folder of their own, with the built binary.
func TestReadmeTour(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, ok := strings.Cut(string(b), "## A tour")
	if !ok {
		t.Fatal("README.md has no tour")
	}
	block := fences.FindStringSubmatch(tour)
	if block == nil {
		t.Fatal("the tour has no commands")
	}
	dir := t.TempDir()
	ran := 0
	for _, line := range strings.Split(block[1], "\n") {
		line, _, _ = strings.Cut(line, "#")
		args, ok := strings.CutPrefix(strings.TrimSpace(line), "./nsweep ")
		if !ok {
			continue
		}
		call(t, dir, nil, codeDone, strings.Fields(args)...)
		ran++
	}
	if ran < 8 {
		t.Errorf("ran %d commands, want the tour's", ran)
	}
}

// TestPrometheusExample reads the example for Prometheus as YAML: it asks for
// /metrics, which is Prometheus' default, at the ports of the other examples.
func TestPrometheusExample(t *testing.T) {
	b, err := os.ReadFile("../../docs/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Global  map[string]string `yaml:"global"`
		Scrapes []struct {
			Job           string            `yaml:"job_name"`
			Authorization map[string]string `yaml:"authorization"`
			Static        []struct {
				Targets []string          `yaml:"targets"`
				Labels  map[string]string `yaml:"labels"`
			} `yaml:"static_configs"`
			DNS []struct {
				Names []string `yaml:"names"`
				Type  string   `yaml:"type"`
				Port  int      `yaml:"port"`
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&c); err != nil {
		t.Fatal(err)
	}
	compose, err := os.ReadFile("../../docker-compose.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range c.Scrapes {
		if s.Authorization["credentials_file"] == "" || len(s.Static)+len(s.DNS) == 0 {
			t.Errorf("job %s: %+v", s.Job, s)
		}
		for _, x := range s.Static {
			port := map[string]string{"scheduler": ":8392", "worker": ":8393"}[x.Labels["part"]]
			for _, target := range x.Targets {
				if !strings.HasSuffix(target, port) {
					t.Errorf("%s at %s, want %s", x.Labels["part"], target, port)
				}
			}
		}
		for _, x := range s.DNS {
			if !strings.Contains(string(compose), fmt.Sprintf("0.0.0.0:%d", x.Port)) {
				t.Errorf("the containers do not listen on %d", x.Port)
			}
			for _, name := range x.Names {
				if !strings.Contains(string(compose), "\n  "+name+":\n") {
					t.Errorf("there is no service %s", name)
				}
			}
		}
	}
	if len(c.Scrapes) < 2 {
		t.Errorf("jobs %+v", c.Scrapes)
	}
}
