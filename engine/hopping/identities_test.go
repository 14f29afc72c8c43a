package hopping

import (
	"context"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The maps of the theory as explicit tables on distances 0…n, from their
// definitions alone: they are what the fast algorithms are compared with.

// walkMap is the map of the walk over k = hi, …, lo with every weight raised.
func walkMap(n, hi, lo, raise int) []int32 {
	f := make([]int32, n+1)
	for u := range f {
		v := u
		for k := hi; k >= lo; k-- {
			v = sigma(v, bits.OnesCount(uint(k))+raise, n)
		}
		f[u] = int32(v)
	}
	return f
}

// mapC is C_{m,j}.
func mapC(n, m, j int) []int32 { return walkMap(n, 1<<m-1, 1, j-1) }

// mapB is B_{m,j}, the walk over r = 2^m − 1, …, 0 with steps w(r) + j.
func mapB(n, m, j int) []int32 { return walkMap(n, 1<<m-1, 0, j) }

func mapSigma(n, j int) []int32 { return walkMap(n, 0, 0, j) }

// then is the map that applies the last of fs first.
func then(fs ...[]int32) []int32 {
	out := slices.Clone(fs[len(fs)-1])
	for k := len(fs) - 2; k >= 0; k-- {
		for u, v := range out {
			out[u] = fs[k][v]
		}
	}
	return out
}

func TestMapIdentities(t *testing.T) {
	for n := 1; n <= 8; n++ {
		for m := 0; m <= n+1; m++ {
			for j := 1; j <= n+2-m; j++ {
				check := func(name string, got, want []int32) {
					t.Helper()
					if !slices.Equal(got, want) {
						t.Errorf("n = %d, m = %d, j = %d: %s: %v, want %v", n, m, j, name, got, want)
					}
				}
				if m == 0 {
					check("B_0 = σ", mapB(n, 0, j), mapSigma(n, j))
					continue
				}
				check("B from B", mapB(n, m, j), then(mapB(n, m-1, j), mapB(n, m-1, j+1)))
				check("C from C", mapC(n, m, j), then(mapC(n, m-1, j), mapSigma(n, j), mapC(n, m-1, j+1)))
				check("B from C", mapB(n, m, j), then(mapSigma(n, j), mapC(n, m, j+1)))
				var bs [][]int32
				for i := range m {
					bs = append(bs, mapB(n, i, j))
				}
				check("C from all B", mapC(n, m, j), then(bs...))
			}
		}
	}
}

// TestTableRowsAreTheirDefinition compares every row of the table algorithm
// with the walk that it stands for.
func TestTableRowsAreTheirDefinition(t *testing.T) {
	for n := 1; n <= 10; n++ {
		var tb table
		r, err := tb.solve(n, newPoller(context.Background()))
		if err != nil {
			t.Fatal(err)
		}
		for m := range tb.row {
			if got, want := tb.row[m][:n+1], mapC(n, m, r.group-m+1); !slices.Equal(got, want) {
				t.Errorf("n = %d: row %d of group %d is %v, want %v", n, m, r.group, got, want)
			}
		}
	}
}

func TestImageShrinksToTheValue(t *testing.T) {
	for n := 1; n <= 10; n++ {
		last := n + 1
		for s := 0; s <= n+2; s++ {
			image := mapC(n, s, 1)
			slices.Sort(image)
			image = slices.Compact(image)
			if len(image) > last {
				t.Errorf("n = %d: image of C_{%d,1} has %d values after %d", n, s, len(image), last)
			}
			last = len(image)
			if last == 1 && int64(image[0]) != firstValues[n-1] {
				t.Errorf("n = %d: C_{%d,1} is constant at %d, want %d", n, s, image[0], firstValues[n-1])
			}
		}
		if last != 1 {
			t.Errorf("n = %d: image of C_{%d,1} has %d values, want 1", n, n+2, last)
		}
	}
}

// TestSigmaKeepsCyclicOrder is the fact that makes equal values of a row
// neighbours: going once around 0…n, the images go around at most once.
func TestSigmaKeepsCyclicOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		m := rapid.IntRange(0, 7).Draw(t, "m")
		j := rapid.IntRange(1, 20).Draw(t, "j")
		f := mapC(n, m, j)
		steps := 0
		for u := range f {
			next := f[(u+1)%len(f)]
			steps += (int(next) - int(f[u]) + n + 1) % (n + 1)
		}
		if steps != 0 && steps != n+1 {
			t.Fatalf("the images of C_{%d,%d} advance by %d around a circle of %d", m, j, steps, n+1)
		}
	})
}

func TestOneLosingValue(t *testing.T) {
	hi := plainReach
	if raceEnabled {
		hi = 14
	}
	for n := 1; n <= hi; n++ {
		var l labels
		if _, err := l.solve(n, newPoller(context.Background())); err != nil {
			t.Fatal(err)
		}
		var losses []int
		for k, s := 0, 0; k < len(l.loss); k++ {
			if s += bits.OnesCount(uint(k)); l.loss[k] {
				losses = append(losses, s)
			}
		}
		for i := 1; i < len(losses); i++ {
			if losses[i]-losses[i-1] <= n {
				t.Errorf("n = %d: losing values %d and %d", n, losses[i-1], losses[i])
			}
		}
		if losses[0] != int(firstValues[n-1]) || losses[1] <= n {
			t.Errorf("n = %d: losing values start %v, want only %d up to n", n, losses[:2], firstValues[n-1])
		}
		switch n {
		case 2: // by hand
			if want := []int{2, 5, 9}; !slices.Equal(losses, want) {
				t.Errorf("n = 2: losing values %v, want %v", losses, want)
			}
		case 5:
			if losses[0] != 2 || slices.Contains(losses, 4) {
				t.Errorf("n = 5: losing values %v, want 2 first and 4 a win", losses)
			}
		}
	}
}

func TestGrundyZerosAreLosses(t *testing.T) {
	for n := 1; n <= 14; n++ {
		var l labels
		var g grundy
		p := newPoller(context.Background())
		if _, err := l.solve(n, p); err != nil {
			t.Fatal(err)
		}
		if _, err := g.solve(n, p); err != nil {
			t.Fatal(err)
		}
		for k := range l.loss {
			if l.loss[k] != (g.value[k] == 0) {
				t.Fatalf("n = %d: position %d has Grundy value %d, loss %v", n, k, g.value[k], l.loss[k])
			}
		}
	}
}
