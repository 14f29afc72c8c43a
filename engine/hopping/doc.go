// Package hopping computes M(n), the winning opening move of the hopping game.
//
// The game. Let w(k) be the number of ones in the binary expansion of k and
// s_k = w(0) + … + w(k), the sequence 0, 1, 2, 4, 5, 7, 9, 12, … (OEIS A000788,
// with w = A000120). A counter starts at 0; a move adds one of 1, …, n and must
// land on some s_k; who cannot move loses. M(n) is the highest winning opening
// move, 0 when there is none, for n ≥ 1.
//
// The walk. Two losing counter values are more than n apart and every value
// above the last one reaches it, so {0, …, n} holds exactly one losing value,
// and that is M(n). Let u_k be the distance from s_k up to the nearest losing
// value. Then u_{k−1} = σ_{w(k)}(u_k) with
//
//	σ_j(u) = u + j if u + j ≤ n, else 0,
//
// M(n) = u_0, and the walk may start anywhere from k = 2^(n+1) − 1 upwards with
// any value: k = 2^(n+1) − 1 has weight n+1 and sends everything to 0.
//
// The groups. Because w(2^m + r) = w(r) + 1 for r < 2^m, the map C_{m,j} of the
// walk over k = 2^m − 1, …, 1 with every weight raised by j − 1 satisfies
//
//	C_{0,j} = id,   C_{m,j} = C_{m−1,j} ∘ σ_j ∘ C_{m−1,j+1}.
//
// Group s is the rows (m, j) with m + j − 1 = s; it needs group s − 1 only.
// C_{s,1} is the walk over the lowest 2^s − 1 indices, so its image shrinks as
// s grows. At the first s where it is one value, the stopping group t(n), that
// value is M(n).
//
// Five algorithms compute M(n) in increasingly clever ways; the slower ones
// are there to check the faster ones. See [New].
//
// Package hopping imports engine.
package hopping
