package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
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
