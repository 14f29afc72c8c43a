// Package worker computes tasks: it decodes an asynq payload, runs the engine,
// cuts the values into cells of the grid and commits them to the store while
// the engine goes on.
//
// A worker decides nothing. What it commits is judged by the ledger, what it
// leaves undone is given out again by the scheduler. Its heartbeat tells the
// scheduler that a task lives, and learns in return when the run no longer
// wants it.
//
// The way of a value: [Worker.ProcessTask] → job.compute → cutter → committer →
// Store.Commit.
//
// Package worker imports engine, jobs and asynq. It reaches the store through
// the small [Store] interface.
package worker
