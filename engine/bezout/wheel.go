package bezout

// A sieve word is eight bytes, one for each residue coprime to 30: word w
// stands for the numbers 30w + residues[i].
const wheelSpan = 30

var residues = [8]int64{1, 7, 11, 13, 17, 19, 23, 29}

// slotOf is the index of a residue in residues, or -1 when it shares a factor
// with 30.
var slotOf = func() (t [wheelSpan]int8) {
	for i := range t {
		t[i] = -1
	}
	for i, r := range residues {
		t[r] = int8(i)
	}
	return t
}()

// phaseGap[i] is the distance from a number that is residues[i] modulo 30 to
// the next one coprime to 30.
var phaseGap = [8]int64{6, 4, 2, 4, 2, 4, 6, 2}

// phaseStep[s][i] is the part of the byte distance between p·c and its successor
// among the multiples of p coprime to 30 that does not grow with p: for
// p = 30a + residues[s] and c ≡ residues[i] the distance is
// 8·a·phaseGap[i] + phaseStep[s][i].
var phaseStep = func() (t [8][8]int64) {
	for s, r := range residues {
		for i, c := range residues {
			at := r * c % wheelSpan
			next := at + r*phaseGap[i]
			t[s][i] = 8*(next/wheelSpan) + int64(slotOf[next%wheelSpan]) - int64(slotOf[at])
		}
	}
	return t
}()

// bytePos returns the index of the byte of v, which is coprime to 30, in a
// sieve that starts at word 0.
func bytePos(v int64) int64 { return 8*(v/wheelSpan) + int64(slotOf[v%wheelSpan]) }

// coprimeFrom returns the least c ≥ from that is coprime to 30 and the index of
// its residue.
func coprimeFrom(from int64) (c int64, phase uint8) {
	for c = from; ; c++ {
		if s := slotOf[c%wheelSpan]; s >= 0 {
			return c, uint8(s)
		}
	}
}

// roughSpan is 2·3·5·7·11; a number coprime to it is called rough here.
const (
	roughSpan  = 2310
	roughCount = 480 // φ(2310)
)

// rough are the residues modulo 2310 that are coprime to it, and roughUpto[r]
// is how many of them are at most r.
var rough, roughUpto = func() (list [roughCount]uint16, upto [roughSpan]uint16) {
	k := 0
	for r := range int64(roughSpan) {
		if gcd(r, roughSpan) == 1 {
			list[k] = uint16(r)
			k++
		}
		upto[r] = uint16(k)
	}
	return list, upto
}()

// countRough returns C(t), the number of rough numbers 1 ≤ d ≤ t.
func countRough(t int64) int64 { return roughCount*(t/roughSpan) + int64(roughUpto[t%roughSpan]) }

// roughAt returns the rough number with index j, so that roughAt(0) = 1 and
// countRough(roughAt(j)) = j+1.
func roughAt(j int64) int64 { return roughSpan*(j/roughCount) + int64(rough[j%roughCount]) }
