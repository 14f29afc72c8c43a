package bezout

// tailPower is the first power of 2 whose multiples are not sorted into strands
// any more: one number in 1024 is left to the plain sieve.
const tailPower = 10

// eighths yields φ of the n divisible by 8.
type eighths[T word] struct {
	strands []strand[T] // strand 3, 4, …
	tail    *tail       // the n divisible by 2^tailPower, or nil
}

// fill writes φ(8j) for j = j0, j0+1, … into out.
func (e *eighths[T]) fill(out *[blockOctets]int64, j0 int64) error {
	for k, s := range e.strands {
		// n = 2^a·m with a = k+3, so j is an odd multiple of 2^k.
		step := int64(2) << k
		for i := (step/2 - j0) & (step - 1); i < blockOctets; {
			for _, x := range s.take((blockOctets - int(i) + int(step) - 1) / int(step)) {
				out[i] = int64(x) << (k + 2)
				i += step
			}
		}
	}
	if e.tail == nil {
		return nil
	}
	step := int64(1) << (tailPower - 3)
	for i := -j0 & (step - 1); i < blockOctets; i += step {
		phi, err := e.tail.take()
		if err != nil {
			return err
		}
		out[i] = phi
	}
	return nil
}

// tail yields φ(2^tailPower·j) for successive j by the plain sieve.
type tail struct {
	wk        *walker
	sieve     *plainSieve
	next, end int64 // j to come
	from, to  int64 // j in the sieve
}

const tailSegment = 8192

func (t *tail) take() (int64, error) {
	if t.next >= t.to {
		if t.sieve == nil {
			t.sieve = newPlainSieve(min(t.end-t.next, tailSegment))
		}
		t.from, t.to = t.next, min(t.next+tailSegment, t.end)
		if err := t.sieve.run(t.wk.ctx, t.from, t.to, t.wk.primes); err != nil {
			return 0, err
		}
	}
	j := t.next
	t.next++
	// φ(2j) is 2φ(j) for even j and φ(j) for odd j.
	phi := t.sieve.totient(j-t.from) << (tailPower - 1)
	if j%2 == 0 {
		phi *= 2
	}
	return phi, nil
}

// addSteps writes w plus the running sums of the steps of the successive n of a
// block, the first of them 1 modulo 8, into values: odd holds the steps of the
// odd n, twice and fourfold φ of n/2 and n/4 for the n with one or two factors
// 2, and octets φ of the n divisible by 8.
func addSteps[T word](values *[8 * blockOctets]int64, w int64, odd *[4 * blockOctets]T, twice *[2 * blockOctets]T,
	fourfold *[blockOctets]T, octets *[blockOctets]int64) {
	for i := range blockOctets {
		w += int64(odd[4*i])
		values[8*i] = w
		w += int64(twice[2*i])
		values[8*i+1] = w
		w += int64(odd[4*i+1])
		values[8*i+2] = w
		w += int64(fourfold[i]) << 1
		values[8*i+3] = w
		w += int64(odd[4*i+2])
		values[8*i+4] = w
		w += int64(twice[2*i+1])
		values[8*i+5] = w
		w += int64(odd[4*i+3])
		values[8*i+6] = w
		w += octets[i]
		values[8*i+7] = w
	}
}
