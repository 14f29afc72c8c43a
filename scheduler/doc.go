// Package scheduler gives the unfinished cells of a run to the workers.
//
// Planning is pure: [Model] estimates costs, a planner cuts unfinished cells
// into tasks of a few seconds. [Feeder] runs the loop for one run: it keeps a
// small window of tasks outstanding in asynq, watches their heartbeats, gives
// out again what was lost, hands finished cells to a [Checker] and declares the
// run complete from a freshly read ledger. [Service] does this for every run of
// a store, and leads each run alone by a lock.
//
// The scheduler never trusts its own memory: after a restart, a reconnect or a
// takeover it starts from the ledger and the list of outstanding tasks.
//
// Package scheduler imports engine and jobs. It reaches the store, asynq and the
// aggregator through the small interfaces it declares.
package scheduler
