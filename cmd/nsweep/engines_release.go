//go:build !nsweep_testengine

package main

import "github.com/nsweep/nsweep/engine"

// extraEngines is empty in release builds.
func extraEngines() []engine.Engine { return nil }

// speedup divides the intervals of heartbeats and locks; only builds for tests
// change it.
func speedup() int { return 1 }

// taskCells bounds the cells in a task; only builds for tests do.
func taskCells() int64 { return 0 }

// testTable tells processes apart as if they were on different machines; only
// builds for tests do.
func testTable() string { return "" }

// uncalibrated has the engines' estimates taken as they are; only builds for
// tests do.
func uncalibrated() bool { return false }
