package main

import (
	"testing"
	"time"

	"github.com/nsweep/nsweep/internal/testengine"
)

// TestProbe: an engine whose cost is exact calibrates to about 1. The bounds
// leave room for timers and a busy machine.
func TestProbe(t *testing.T) {
	k, err := probe(testengine.New(testengine.Options{PerCell: 20 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	if k < 0.9 || k > 20 {
		t.Errorf("calibration %g, want about 1", k)
	}
}
