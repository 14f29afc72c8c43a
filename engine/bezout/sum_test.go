package bezout

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nsweep/nsweep/engine"
)

// Known sums at powers of ten, exponents from 1 on: the Mertens function, OEIS
// A084237, and Φ(10^k) = Σ φ(m), OEIS A064018.
var (
	knownMertens = []int64{-1, 1, 2, -23, -48, 212, 1037, 1928, -222, -33722, -87856, 62366, 599582, -875575, -3216373,
		-3195437, -21830254, -46758740}
	knownPhi = []string{"32", "3044", "304192", "30397486", "3039650754", "303963552392", "30396356427242",
		"3039635516365908", "303963551173008414", "30396355092886216366", "3039635509283386211140", "303963550927059804025910"}
)

func summed(t testing.TB, n int64, opts sumOptions) *summation {
	t.Helper()
	s, err := newSummation(context.Background(), n, opts)
	if err == nil {
		err = s.run(context.Background(), engine.Sink{})
	}
	if err != nil {
		t.Fatalf("W(%d): %v", n, err)
	}
	return s
}

// checkPower compares M and Φ at 10^k with the tables, and everything at a
// second cut.
func checkPower(t *testing.T, k int, n int64) {
	t.Helper()
	s := summed(t, n, sumOptions{details: true})
	if got := s.mertens(); got != knownMertens[k-1] {
		t.Errorf("M(10^%d) = %d, want %d", k, got, knownMertens[k-1])
	}
	if k <= len(knownPhi) && s.totals[1].String() != knownPhi[k-1] {
		t.Errorf("Φ(10^%d) = %s, want %s", k, s.totals[1], knownPhi[k-1])
	}
	t.Logf("W(10^%d) = %s by cut %d", k, s.totals[0], s.cut)
	other := summed(t, n, sumOptions{details: true, cut: s.cut*2/3 + 1, highWords: 20_000})
	if other.cut == s.cut && n > 10_000_000 {
		t.Errorf("10^%d: both cuts are %d", k, s.cut)
	}
	if s.totals[0] != other.totals[0] || s.totals[1] != other.totals[1] || s.mertens() != other.mertens() {
		t.Errorf("10^%d: cut %d gives W = %s, Φ = %s, M = %d, cut %d gives %s, %s, %d", k,
			s.cut, s.totals[0], s.totals[1], s.mertens(), other.cut, other.totals[0], other.totals[1], other.mertens())
	}
}

func TestSumPowersOfTen(t *testing.T) {
	n := int64(1)
	for k := 1; k <= 11; k++ {
		n *= 10
		checkPower(t, k, n)
	}
}

func TestSumLargePowersOfTen(t *testing.T) {
	soak(t)
	n := int64(100_000_000_000)
	for k := 12; k <= 15; k++ {
		n *= 10
		checkPower(t, k, n)
	}
	if got := summed(t, n, sumOptions{}).totals[0].String(); got != "202642367284675754311123909409" {
		t.Errorf("W(10^15) = %s", got)
	}
	// From testdata/bench/memo.cpp.
	if got := summed(t, 1_000_000_000_000, sumOptions{}).totals[0].String(); got != "202642367284809138396117" {
		t.Errorf("W(10^12) = %s", got)
	}
}

// TestSumHugePower does the same for the power of ten in NSWEEP_SOAK_POWER, from 1
// to 18: 10^17 takes some eight minutes.
func TestSumHugePower(t *testing.T) {
	text := os.Getenv("NSWEEP_SOAK_POWER")
	if text == "" {
		t.Skip("NSWEEP_SOAK_POWER is not set")
	}
	k, err := strconv.Atoi(text)
	if err != nil || k < 1 || k > 18 {
		t.Fatalf("NSWEEP_SOAK_POWER=%s: want 1 to 18", text)
	}
	n := int64(1)
	for range k {
		n *= 10
	}
	checkPower(t, k, n)
}

// TestSumWays compares W, M and Φ at every cut for small n, without and with
// divisions in floating point, against plain sums over μ.
func TestSumWays(t *testing.T) {
	mu := plainMu(3000)
	for n := int64(1); n <= 3000; n += 1 + n/50 {
		var w, phi, mertens int64
		for d := int64(1); d <= n; d++ {
			q, m := n/d, int64(mu[d])
			mertens += m
			phi += m * (q * (q + 1) / 2)
			if d%2 == 1 {
				w += m * (q * (q + 1) / 4)
			}
		}
		for _, cut := range []int64{-1, 1, 2, 3, 7, 20, 1 << 40} {
			for _, exact := range []bool{false, true} {
				s := summed(t, n, sumOptions{details: true, cut: cut, exact: exact, highWords: 1 + n%5})
				if got, ok := s.totals[0].Int64(); !ok || got != w || s.totals[1] != engine.Int128From(phi) || s.mertens() != mertens {
					t.Fatalf("n = %d, cut %d: W = %s, Φ = %s, M = %d, want %d, %d, %d", n, cut, s.totals[0], s.totals[1], s.mertens(), w, phi, mertens)
				}
			}
		}
	}
}

func TestSumRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 1<<rapid.IntRange(1, 33).Draw(t, "bits")).Draw(t, "n")
		cut := 1 + balancedCut(n)*rapid.Int64Range(3, 30).Draw(t, "tenths")/10
		words := rapid.Int64Range(200, 40_000).Draw(t, "words")
		exact := rapid.Bool().Draw(t, "exact")
		run := func(o sumOptions) engine.Int128 {
			s, err := newSummation(context.Background(), n, o)
			if err == nil {
				err = s.run(context.Background(), engine.Sink{})
			}
			if err != nil {
				t.Fatal(err)
			}
			return s.totals[0]
		}
		if a, b := run(sumOptions{}), run(sumOptions{cut: cut, highWords: words, exact: exact}); a != b {
			t.Fatalf("W(%d) = %s, with cut %d %s", n, a, cut, b)
		}
	})
}

// TestSumFloatBorder compares floating-point and exact division on both sides of
// 10^15, and around the proven bound of the former.
func TestSumFloatBorder(t *testing.T) {
	soak(t)
	for _, n := range []int64{999_999_999_999_998, 1_000_000_000_000_003, floatMax, floatMax + 2} {
		a := summed(t, n, sumOptions{details: true})
		b := summed(t, n, sumOptions{details: true, exact: true, cut: a.cut * 3 / 2})
		if a.totals[0] != b.totals[0] || a.totals[1] != b.totals[1] || a.mertens() != b.mertens() {
			t.Errorf("n = %d: in floating point W = %s, Φ = %s, M = %d, exactly %s, %s, %d", n,
				a.totals[0], a.totals[1], a.mertens(), b.totals[0], b.totals[1], b.mertens())
		}
	}
}

// errEnough ends a summation from within Save, like a killed process.
var errEnough = errors.New("enough")

// stopAfter returns a context and a sink that keep the count-th saved state and
// end there.
func stopAfter(count int) (context.Context, engine.Sink, *[]byte) {
	ctx, cancel := context.WithCancelCause(context.Background())
	state := new([]byte)
	return ctx, engine.Sink{Save: func(b []byte) {
		if count--; count == 0 {
			*state = bytes.Clone(b)
			cancel(errEnough)
		}
	}}, state
}

// eager makes a summation offer a state at every pause.
func eager(s *summation, sink engine.Sink) *pacer {
	p := newPacer(s, sink)
	p.pauseEvery, p.saveEvery = 2e4, 2e4
	return p
}

func TestSumResume(t *testing.T) {
	const n = 3_000_000_019
	opts := sumOptions{details: true, highWords: 1000}
	want := summed(t, n, opts)
	stops, last := 0, []byte(nil)
	for count := 1; ; count = count*3/2 + 1 {
		ctx, sink, state := stopAfter(count)
		s, err := newSummation(ctx, n, opts)
		if err != nil {
			t.Fatal(err)
		}
		s.pace = eager(s, sink)
		if err = s.run(ctx, sink); err == nil {
			break
		}
		if *state == nil {
			t.Fatal(err)
		}
		stops, last = stops+1, *state
		r, err := newSummation(context.Background(), n, opts)
		if err != nil {
			t.Fatal(err)
		}
		err = r.run(context.Background(), engine.Sink{
			Load: func() []byte { return *state },
			Warn: func(msg string) { t.Errorf("state %d: %s", count, msg) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.totals[0] != want.totals[0] || r.totals[1] != want.totals[1] || r.mertens() != want.mertens() {
			t.Fatalf("resumed from state %d: W = %s, want %s", count, r.totals[0], want.totals[0])
		}
	}
	if stops < 6 {
		t.Fatalf("only %d states were offered", stops)
	}
	testBadStates(t, n, opts, want, last)
}

// testBadStates gives spoilt states to a summation, which warns and starts anew.
func testBadStates(t *testing.T, n int64, opts sumOptions, want *summation, good []byte) {
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	resign := func(at int, v uint64) []byte { // a valid digest over a changed number
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint64(b[len(stateMagic)+8*at:], v)
		sum := sha256.Sum256(b[:len(b)-sha256.Size])
		return append(b[:len(b)-sha256.Size], sum[:]...)
	}
	shorter := bytes.Clone(good[:len(good)-sha256.Size-8])
	sum := sha256.Sum256(shorter)
	shorter = append(shorter, sum[:]...)
	for name, b := range map[string][]byte{
		"empty": {}, "short": good[:40], "cut off": good[:len(good)-1], "version": flip(len(stateMagic) - 1), "body": flip(200),
		"digest": flip(len(good) - 1), "other n": resign(0, uint64(n+1)), "other cut": resign(1, 17), "value version": resign(2, 99),
		"word": resign(4, 1<<62), "k": resign(5, 1<<40), "m": resign(6, 1<<40), "length": shorter,
	} {
		s, err := newSummation(context.Background(), n, opts)
		if err != nil {
			t.Fatal(err)
		}
		warned := ""
		err = s.run(context.Background(), engine.Sink{Load: func() []byte { return b }, Warn: func(msg string) { warned = msg }})
		if err != nil || s.totals[0] != want.totals[0] {
			t.Errorf("%s: W = %s, %v", name, s.totals[0], err)
		}
		if !strings.Contains(warned, "discarded") {
			t.Errorf("%s: warning %q", name, warned)
		}
	}
}

// TestSumProgress checks that progress is honest: the fractions reported where
// the walk changes from low to high and at the end are near the truth.
func TestSumProgress(t *testing.T) {
	for _, n := range []int64{10_000_000_000, 100_000_000_000} {
		s, err := newSummation(context.Background(), n, sumOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last := 0.0
		if err := s.run(context.Background(), engine.Sink{Progress: func(f float64) {
			if f < last || f > 1 {
				t.Errorf("progress %v after %v", f, last)
			}
			last = f
		}}); err != nil {
			t.Fatal(err)
		}
		if r := s.pace.done / s.pace.total; r < 0.95 || r > 1.05 {
			t.Errorf("n = %d: the work done is %.3f of the estimate", n, r)
		}
	}
}

func FuzzState(f *testing.F) {
	const n = 20_000_003
	opts := sumOptions{cut: 50}
	s, err := newSummation(context.Background(), n, opts)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(nil))
	f.Add(s.encode(0))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := newSummation(context.Background(), n, opts)
		if err != nil {
			t.Fatal(err)
		}
		s.pace = newPacer(s, engine.Sink{})
		before := s.encode(0)
		if err := s.decode(b); err != nil && !bytes.Equal(before, s.encode(0)) {
			t.Fatal("a refused state changed the summation")
		}
	})
}
