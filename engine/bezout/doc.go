// Package bezout counts the winning positions of Bézout's game.
//
// A position is a coprime ordered pair (a, b) of positive integers. A move
// goes to a position (u, v) with 1 ≤ u < a, 1 ≤ v < b and |av − bu| = 1; whoever
// moves to a pair with a 1 in it, or is given one, has won: a position with
// a = 1 or b = 1 is a win for the player to move. W(n) is the number of winning
// positions with a + b ≤ n.
//
// # Which positions lose
//
// A position (a, b) with a < b is lost exactly when a is even. Scaling a pair
// by an odd d keeps the parities, so by Möbius inversion over the odd common
// divisors
//
//	W(n) = Σ μ(d)·B(⌊n/d⌋) over odd d ≤ n,  B(q) = ⌊q(q+1)/4⌋,
//
// where B(q) counts the pairs with a + b ≤ q, coprime or not, that are not both
// even and whose smaller number is odd when the two differ in parity. Its steps
// are B(q) − B(q−1) = (q − χ(q))/2 with χ the nontrivial character modulo 4,
// hence
//
//	W(n) − W(n−1) = φ(n)             for even n,
//	W(n) − W(n−1) = (φ(n) − g(n))/2  for odd n,
//
// with g(n) = 2^ω(n)·(−1)^Ω(n) when every prime factor of n is 3 modulo 4, and
// 0 otherwise.
//
// # Algorithms
//
// Four independent ways lead to the same values: game plays by the rules,
// formula sums the losing positions with a table of μ, sum evaluates a single
// W(n) in O(n^(2/3)) time, and steps sieves φ and g over a range. docs/MATH.md
// has the proofs.
//
// Package bezout imports engine.
package bezout
