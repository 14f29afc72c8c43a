//go:build nsweep_testengine

package main

import (
	"os"
	"strconv"
	"time"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/internal/testengine"
)

// extraEngines adds the test engine, set up by NSWEEP_TOY_ variables.
func extraEngines() []engine.Engine {
	perCell, _ := time.ParseDuration(os.Getenv("NSWEEP_TOY_PER_CELL"))
	return []engine.Engine{testengine.New(testengine.Options{
		Version: int(envInt("NSWEEP_TOY_VERSION")), Cell: envInt("NSWEEP_TOY_CELL"), PerCell: perCell, Hurry: os.Getenv("NSWEEP_TOY_HURRY"),
		Deaf: os.Getenv("NSWEEP_TOY_DEAF") != "", FailAt: envInt("NSWEEP_TOY_FAIL_AT"), PanicAt: envInt("NSWEEP_TOY_PANIC_AT"),
		KillAt: envInt("NSWEEP_TOY_KILL_AT"), WrongEvery: envInt("NSWEEP_TOY_WRONG_EVERY"),
		Ballast: envInt("NSWEEP_TOY_BALLAST"), FailEvery: envInt("NSWEEP_TOY_FAIL_EVERY"),
		Unfit: os.Getenv("NSWEEP_TOY_UNFIT") != "",
	})}
}

func envInt(name string) int64 {
	v, _ := strconv.ParseInt(os.Getenv(name), 10, 64)
	return v
}

// speedup divides the intervals of heartbeats and locks.
func speedup() int { return max(1, int(envInt("NSWEEP_TEST_SPEEDUP"))) }

// taskCells bounds the cells in a task.
func taskCells() int64 { return envInt("NSWEEP_TEST_TASK_CELLS") }

// testTable tells processes apart as if they were on different machines.
func testTable() string { return os.Getenv("NSWEEP_TEST_MACHINE") }

// uncalibrated has the engines' estimates taken as they are: the test engine's
// are exact, and the probes of the others take half a minute in a race build on
// a busy machine.
func uncalibrated() bool { return true }
