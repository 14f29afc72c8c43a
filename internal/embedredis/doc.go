// Package embedredis is a Redis server inside the process that outlives it.
//
// The server is miniredis, which keeps everything in memory. This package adds
// what makes it a place for results: a file to which every change is written
// within a second and from which the data is loaded at the next start, a Unix
// socket over which other processes reach the data while one process owns it,
// and the passing of time, so that keys expire.
//
// The file is written in transactions that each hold the state of one moment,
// so after a crash the data is what it was a moment before the crash: never
// half of a script's or a transaction's writes. What was acknowledged more
// than a second before a crash is there. See [Server.Sync] for more.
//
// Only database 0 is kept, and of it only keys without a time to live that
// Options.Persist accepts.
//
// Package embedredis imports nothing else of this module.
package embedredis
