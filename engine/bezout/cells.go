package bezout

import (
	"math/bits"
)

// word is the unsigned type that a dense sieve computes in. uint32 serves
// numbers below 2³¹, uint64 those below 2⁶³.
type word interface{ uint32 | uint64 }

// cell is a number m on its way to be factored: of the primes divided out so
// far, with their powers, c is the cofactor and phi the value of φ, so that
// phi ≤ m. Dividing c by a prime factor is a multiplication with its inverse
// modulo the word: the division is exact, so the product is the quotient. At
// the end, when all primes up to √m have been met, c is 1 or a prime.
//
// Of the prime factors themselves g needs only to know whether one is 1 modulo
// 4, which is marked beside the cell. When all of them are 3 modulo 4, each
// contributes exactly one factor 2 to φ(m), so 2^ω(m) is the largest power of 2
// in φ(m), and m ≡ (−1)^Ω(m) modulo 4. Hence g(m) = χ(m)·2^v₂(φ(m)), or 0 when a
// prime 1 modulo 4 divides m.
type cell[T word] struct{ c, phi T }

// marked is the mark of a prime factor 1 modulo 4.
const marked = 1

// divisor is a prime p, or a power of it, that a sieve divides by.
type divisor[T word] struct {
	inv   T      // of p
	scale T      // what φ grows by: p−1 for a prime, p for a higher power
	step  uint32 // cells between its multiples in one chain
}

// oddInverse returns the inverse of odd p modulo the word.
func oddInverse[T word](p T) T {
	x := p // correct to 3 bits: p² ≡ 1 modulo 8
	for range 5 {
		x *= 2 - p*x // doubles the correct bits: 6, 12, 24, 48, 96
	}
	return x
}

// divideOut divides the cells at i, i+step, … and returns the next index less
// the number of cells.
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
func divideOutMarking[T word](cells []cell[T], marks []uint8, i uint, d divisor[T]) uint {
	step, inv, scale := uint(d.step), d.inv, d.scale
	marks = marks[:len(cells)]
	for ; i < uint(len(cells)); i += step {
		e := &cells[i]
		e.c *= inv
		e.phi *= scale
		marks[i] = marked
	}
	return i - uint(len(cells))
}

// cofactor returns φ(c) of the cofactor c of a finished cell, which is 1 or a
// prime: c less 1 unless 1−c does not borrow.
func cofactor[T word](c T) T {
	_, borrow := bits.Sub64(1, uint64(c), 0)
	phi, _ := bits.Sub64(uint64(c), 0, borrow)
	return T(phi)
}

// zeroSign returns 1 when g is zero, else 0: the mark of an earlier prime is set,
// or c is a prime 1 modulo 4, the only case with φ(c) ≡ 0 modulo 4.
func zeroSign[T word](phi T, mark uint8) T { return T(mark) | T(uint32(phi&3-1)>>31) }

// finish returns φ of the number of a finished cell, and 1 when g is zero, else 0.
func finish[T word](e cell[T], mark uint8) (phi, zero T) {
	d := cofactor(e.c)
	return e.phi * d, zeroSign(d, mark)
}

// plusStep returns W(m) − W(m−1) = (φ − g)/2 for m ≡ 1 modulo 4, where g is the
// lowest bit of φ, or 0 when zero is 1. φ is even but for m = 1, so the lowest
// bit of φ + zero is either that of φ or the added 1, and in both cases what is
// left without it is φ − g.
func plusStep[T word](phi, zero T) T {
	e := phi + zero
	return e & (e - 1) >> 1
}

// minusStep returns the step (φ − g)/2 for m ≡ 3 modulo 4, where −g is the lowest
// bit of φ, or 0 when zero is 1. In the second case the lowest bit of φ − 1 makes
// up for the 1. A number plus its lowest bit is one more than the number with
// all bits below that one set.
func minusStep[T word](phi, zero T) T {
	e := phi - zero
	return ((e | (e - 1)) + 1) >> 1
}

// finishTotients writes φ of the numbers of the cells to out.
func finishTotients[T word](out []T, cells []cell[T]) {
	out = out[:len(cells)]
	i := 0
	for ; i < len(cells)-3; i += 4 {
		out[i] = cells[i].phi * cofactor(cells[i].c)
		out[i+1] = cells[i+1].phi * cofactor(cells[i+1].c)
		out[i+2] = cells[i+2].phi * cofactor(cells[i+2].c)
		out[i+3] = cells[i+3].phi * cofactor(cells[i+3].c)
	}
	for ; i < len(cells); i++ {
		out[i] = cells[i].phi * cofactor(cells[i].c)
	}
}

// finishSteps writes the steps at the numbers of the cells, the first of which is 1 modulo 4 and the next 3.
func finishSteps[T word](out []T, cells []cell[T], marks []uint8) {
	out, marks = out[:len(cells)], marks[:len(cells)]
	for i := 0; i < len(cells)-1; i += 2 {
		d := cofactor(cells[i].c)
		out[i] = plusStep(cells[i].phi*d, zeroSign(d, marks[i]))
		d = cofactor(cells[i+1].c)
		out[i+1] = minusStep(cells[i+1].phi*d, zeroSign(d, marks[i+1]))
	}
}
