// Package engine defines what nsweep can evaluate: a function of n with exact
// integer values, computed over ranges of n.
//
// An [Engine] is pure. It sees a [Work] (a half-open range of n, an algorithm
// and parameters) and hands values to a [Sink], in order of n and in pieces. It
// knows no clock, log, network or environment, so the same code serves the
// command line, the workers and the tests. Engines live in the packages below
// this one; [Registry] is how the rest of the program finds them by name.
//
// The package also owns the [Grid]: the fixed cutting of n = 1, 2, 3, … into
// cells that the ledger counts. The grid belongs to the engine because cell
// sizes follow from how dear one n is, and it never depends on a run.
//
// Package engine imports nothing else of this module.
package engine
