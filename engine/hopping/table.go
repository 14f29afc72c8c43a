package hopping

// tableReach is set by patience and memory: at n = 200000 the table algorithm
// takes a fifth of a second and 40 MB for one value.
const tableReach = 200_000

// table runs the group recursion on full tables: each row C_{m,j} as its n + 1
// values. Up to the stopping group t it writes (n+1)·t(t+1)/2 entries and keeps
// about (n+1)·(t+2) of four bytes.
type table struct {
	// row[m] is C_{m, s−m+1} of the group s in work for the rows already
	// done, and C_{m, s−m} of the group before it for the others. Row 0 is the
	// identity in both.
	row [][]int32
	// free holds buffers of n + 1 entries or more that no row uses.
	free [][]int32
	size int
}

func (t *table) solve(n int, p *poller) (result, error) {
	t.reset(n)
	updates := int64(0)
	for s := 1; ; s++ {
		t.row = append(t.row, nil)
		before := t.row[0] // row m−1 of group s−1
		for m := 1; m <= s; m++ {
			dst := t.take()
			compose(dst[:n+1], before[:n+1], t.row[m-1][:n+1], s-m+1)
			if m > 1 {
				t.free = append(t.free, before)
			}
			// Row m+1 still needs row m of the group before.
			before, t.row[m] = t.row[m], dst
			updates += int64(n + 1)
			if err := p.spend(n + 1); err != nil {
				return result{}, err
			}
		}
		if c := t.row[s][:n+1]; constant(c) {
			return result{value: int(c[0]), group: s, work: updates}, nil
		}
	}
}

// reset frees all rows but the identity, and all memory when it is too small
// for n or far too large.
func (t *table) reset(n int) {
	if t.size < n+1 || t.size > 4*(n+1) {
		t.size = max(n+1, 1024)
		t.row, t.free = make([][]int32, 1, 64), nil
		t.row[0] = make([]int32, t.size)
		for u := range t.row[0] {
			t.row[0][u] = int32(u)
		}
	}
	for _, r := range t.row[1:] {
		if r != nil { // nil in a group that was cancelled
			t.free = append(t.free, r)
		}
	}
	t.row = t.row[:1]
}

func (t *table) take() []int32 {
	if len(t.free) == 0 {
		return make([]int32, t.size)
	}
	r := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	return r
}

// compose sets dst = upper ∘ σ_j ∘ lower, three maps of {0, …, n} of equal
// length n + 1 ≤ tableReach + 1, so that u + j fits easily.
func compose(dst, upper, lower []int32, j int) {
	n := len(dst) - 1
	upper = upper[:len(dst)]
	for u, v := range lower {
		x := int(v) + j
		if x > n {
			x = 0
		}
		dst[u] = upper[x]
	}
}

// constant reports whether all values of c, at least one, are equal.
func constant(c []int32) bool {
	for _, v := range c {
		if v != c[0] {
			return false
		}
	}
	return true
}
