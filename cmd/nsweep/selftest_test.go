package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/testengine"
)

// TestUnfitMachine: where an engine fails its self-test, neither a worker nor a
// run computes with it; runs of other engines go on.
func TestUnfitMachine(t *testing.T) {
	var out bytes.Buffer
	a := &app{streams: streams{out: &out, err: &out}, reg: engine.NewRegistry(testengine.New(testengine.Options{Unfit: true}))}
	err := a.selfTest(context.Background(), []string{"toy"})
	if err == nil || exitCode(err) != codeFailed || !strings.Contains(err.Error(), "engine toy computes wrong values on this machine") || !strings.Contains(err.Error(), "told to be unfit") {
		t.Errorf("self-test: %v", err)
	}
	if err := a.selfTest(context.Background(), nil); err != nil {
		t.Errorf("without an engine: %v", err)
	}
	b := &app{reg: engines()}
	if err := b.selfTest(context.Background(), []string{"hopping", "bezout"}); err != nil {
		t.Error(err)
	}
	if err := b.selfTest(context.Background(), []string{"nosuch"}); exitCode(err) != codeUsage {
		t.Errorf("an unknown engine: %v", err)
	}
}

// TestUnfitRun is the same through the command line: nothing is computed.
func TestUnfitRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "toy.yaml", toyYAML)
	unfit := []string{"NSWEEP_TOY_UNFIT=1"}
	for _, args := range [][]string{{"run", "toy.yaml"}, {"worker", "--engine", "toy"}} {
		if _, errs := call(t, dir, unfit, codeFailed, args...); !strings.Contains(errs, "told to be unfit") {
			t.Errorf("%v says %s", args, errs)
		}
	}
	out, _ := call(t, dir, unfit, codeDone, "status", "toy")
	if !strings.Contains(out, "0.0 %") {
		t.Errorf("something was computed:\n%s", out)
	}
}
