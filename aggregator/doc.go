// Package aggregator turns stored values into results, and proves that none is
// missing, doubled or damaged.
//
// A [Fold] walks through the finished prefix of one sweep in the order of n:
// the points below the dense part, its cells, the points above. For each cell
// it checks the stored CRC, adds the exact powers, feeds two digests and
// compares the checkpoints. It reads values only; no counter that was kept on
// the way enters a result. [Prove] is a fold from nothing over everything.
//
// # Digests
//
// Both are SHA-256, and are the same on every machine and for every cutting
// into tasks.
//
//	text: over the lines "n value\n" in order of n, where values are kept.
//	tree: over the lines "lo hi hash\n" of the cells in order of n; lo and hi
//	      are the first and the last n of the cell in decimal, hash is the
//	      SHA-256 in hex of its values in the stored fixed-width encoding. A
//	      point is a cell with lo = hi whose value is 16 bytes of big-endian
//	      two's complement.
//
// Package aggregator imports engine and jobs; the store satisfies its [Reader].
package aggregator
