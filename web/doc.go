// Package web is the live page of nsweep, and its metrics.
//
// A [Server] serves pages that work without script, in plain html/template. A
// small script of our own replaces the parts that have changed, as they arrive
// over one stream of server-sent events, and draws the map of cells. Nothing is
// ever loaded from elsewhere.
//
// One poller reads the store for all viewers and publishes a [Snapshot], which
// is immutable from then on. A viewer holds no queue: it is told that there is
// something new and takes the latest snapshot when it can, so a slow one misses
// what lay between and slows nobody. Sums and checkpoints come from an
// aggregator's fold that goes on, a slice at a time, only while somebody looks.
//
// The server is made for a hostile page in the same browser and a hostile
// neighbour in the same network: see docs/DASHBOARD.md.
//
// Package web imports engine, jobs, aggregator and report; the store satisfies
// its [Store].
package web
