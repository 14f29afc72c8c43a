// Package jobs holds what the scheduler, the workers, the store and the
// aggregator agree on: the description of a run ([Manifest], [Sweep], [Set]),
// the unit of the ledger as it travels ([CellValues], [Commit]), the payload of
// a task with its identity and queue ([Task]), and the fixed-width encoding of
// values. It also adapts those tasks to asynq, so that no other package has to
// know asynq's options.
//
// Everything here is data. Package jobs imports package engine and nothing else
// of this module.
package jobs
