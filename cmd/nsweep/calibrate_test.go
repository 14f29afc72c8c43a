package main

import (
	"context"
	"testing"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/testengine"
)

// spinning is an engine whose every work takes 20 ms of the processor, and is
// estimated at 10.
type spinning struct{ engine.Engine }

func (spinning) Cost(engine.Work) engine.Cost { return engine.Cost{Run: 1e7} }

func (spinning) Compute(context.Context, engine.Work, engine.Sink) error {
	begin, err := processorTime()
	end := begin + 20*time.Millisecond
	for at := begin; err == nil && at < end; {
		at, err = processorTime()
	}
	return err
}

// TestProbe: the ratio is that of the processor's time to the estimate. The
// bounds leave room for its ticks and for tests in the same process.
func TestProbe(t *testing.T) {
	k, err := probe(spinning{testengine.New(testengine.Options{})})
	if err != nil {
		t.Fatal(err)
	}
	if k < 1.99 || k > 4 {
		t.Errorf("calibration %g, want about 2", k)
	}
}
