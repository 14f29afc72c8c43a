//go:build !nsweep_testengine

package main

import "github.com/nsweep/nsweep/engine"

// extraEngines is empty in release builds.
func extraEngines() []engine.Engine { return nil }

// speedup divides the intervals of heartbeats and locks; only builds for tests
// change it.
func speedup() int { return 1 }
