package bezout

import "unsafe"

// word is the unsigned type that a dense sieve computes in. uint32 serves
// numbers below 2³¹, uint64 those below 2⁶³.
type word interface{ uint32 | uint64 }

// cell is an odd number m on its way to be factored. Of the primes divided out
// so far, with their powers, c is the cofactor and phi the value of φ. The top
// bit of c is set once a prime 1 modulo 4 has been met.
//
// Dividing c by a prime factor is a multiplication with its inverse modulo the
// word: the division is exact, so the product is the quotient. The cofactor
// leaves the top bit free, and as every inverse is odd, multiplying by it
// leaves a set top bit set. phi never exceeds m.
//
// At the end, when all primes up to √m have been met, c is 1 or a prime.
//
// g needs no factors of its own: when all prime factors of m are 3 modulo 4,
// each contributes exactly one factor 2 to φ(m), so 2^ω(m) is the largest power
// of 2 in φ(m), and m ≡ (−1)^Ω(m) modulo 4. Hence g(m) = χ(m)·2^v₂(φ(m)), or 0
// when a prime 1 modulo 4 divides m.
type cell[T word] struct{ c, phi T }

// topBit returns the top bit of the word.
func topBit[T word]() T { return ^(^T(0) >> 1) }

// oddInverse returns the inverse of odd p modulo the word.
func oddInverse[T word](p T) T {
	x := p // correct to 3 bits: p² ≡ 1 modulo 8
	for range 5 {
		x *= 2 - p*x // doubles the correct bits: 6, 12, 24, 48, 96
	}
	return x
}

// divisor is a prime p, or a power of it, that a sieve divides by.
type divisor[T word] struct {
	inv   T      // of p
	scale T      // what φ grows by: p−1 for a prime, p for a higher power
	step  uint32 // cells between its multiples in one chain
}

// divideOut divides the cells at i, i+step, … and returns the next index less
// the number of cells. mark is the top bit for a prime 1 modulo 4, else 0.
func divideOut[T word](cells []cell[T], i uint, d divisor[T]) uint {
	step, inv, scale := uint(d.step), d.inv, d.scale
	for ; i < uint(len(cells)); i += step {
		e := &cells[i]
		e.c *= inv
		e.phi *= scale
	}
	return i - uint(len(cells))
}

// divideOutMarking is divideOut for a prime 1 modulo 4.
func divideOutMarking[T word](cells []cell[T], i uint, d divisor[T]) uint {
	step, inv, scale, top := uint(d.step), d.inv, d.scale, topBit[T]()
	for ; i < uint(len(cells)); i += step {
		e := &cells[i]
		e.c = e.c*inv | top
		e.phi *= scale
	}
	return i - uint(len(cells))
}

// entry is what a finished cell leaves: φ(m) with the top bit set when g(m) = 0.
// finish writes the entries of the cells to out.
func finish[T word](out []T, cells []cell[T]) {
	top := topBit[T]()
	last := lastShift[T]()
	out = out[:len(cells)]
	for i := range cells {
		c, phi := cells[i].c, cells[i].phi
		// φ(c) is c−1, or 1 for c = 1. c−1 is even and below the top bit, so
		// subtracting 1 reaches the top bit only from 0.
		d := c&^top - 1
		d += (d - 1) >> last
		// d is 0 modulo 4 exactly when c is a prime 1 modulo 4.
		zero := (d&3 - 1 | c) & top
		out[i] = phi*d | zero
	}
}

// lastShift is the number of bits of the word less one.
func lastShift[T word]() uint { return uint(8*unsafe.Sizeof(T(0)) - 1) }
