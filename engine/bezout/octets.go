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
func (e *eighths[T]) fill(out []int64, j0 int64) error {
	low := ^topBit[T]()
	for k, s := range e.strands {
		// n = 2^a·m with a = k+3, so j is an odd multiple of 2^k.
		step := int64(2) << k
		for i := (step/2 - j0) & (step - 1); i < int64(len(out)); {
			for _, x := range s.take((len(out) - int(i) + int(step) - 1) / int(step)) {
				out[i] = int64(x&low) << (k + 2)
				i += step
			}
		}
	}
	if e.tail == nil {
		return nil
	}
	step := int64(1) << (tailPower - 3)
	for i := -j0 & (step - 1); i < int64(len(out)); i += step {
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

// addSteps writes the running sums of the steps of 8·len(octets) successive n,
// the first of them 1 modulo 8, into values: odd holds the entries of the odd n,
// twice and fourfold those of n/2 and n/4 for the n with one or two factors 2,
// and octets φ of the n divisible by 8.
func addSteps[T word](values []int64, odd, twice, fourfold []T, octets []int64) {
	const eight = 8
	low, last := ^topBit[T](), lastShift[T]()
	w := int64(0)
	fourfold = fourfold[:len(octets)]
	for i, phi8 := range octets {
		v := (*[eight]int64)(values[eight*i:])
		o := (*[4]T)(odd[4*i:])
		t := (*[2]T)(twice[2*i:])
		// For odd n the step is (φ − g)/2, g = χ(n)·2^v₂(φ) unless the top bit
		// is set; n is 1, 3, 5, 7 modulo 8 in turn.
		phi := o[0] & low
		w += int64((phi - phi&-phi&(o[0]>>last-1)) >> 1)
		v[0] = w
		w += int64(t[0] & low)
		v[1] = w
		phi = o[1] & low
		w += int64((phi + phi&-phi&(o[1]>>last-1)) >> 1)
		v[2] = w
		w += int64(fourfold[i]&low) << 1
		v[3] = w
		phi = o[2] & low
		w += int64((phi - phi&-phi&(o[2]>>last-1)) >> 1)
		v[4] = w
		w += int64(t[1] & low)
		v[5] = w
		phi = o[3] & low
		w += int64((phi + phi&-phi&(o[3]>>last-1)) >> 1)
		v[6] = w
		w += phi8
		v[7] = w
	}
}
