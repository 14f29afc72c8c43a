package hopping

// none is the offset of a map that a row does not have.
const none = -1

// row is one full row. Its value for class c is list[c], list[ids[c]] or
// list[ids2[ids[c]]], depending on how often its group was merged before. Lists
// and maps are in the group's memory at these offsets.
type row struct {
	at, n     int // the list and its length
	ids, ids2 int
}

// group holds the full rows m = first, …, s of one group.
type group[T word] struct {
	first int
	rows  []row // by m
	mem   []T
	used  int
	// places is how many places the first merge left: the length of an ids2.
	places int
}

// reset empties g for the rows first, …, s.
func (g *group[T]) reset(s, first int) {
	g.first, g.used = first, 0
	g.rows = grow(g.rows, s+1)
}

// reserve makes room for n words in an empty group.
func (g *group[T]) reserve(n int) {
	if len(g.mem) < n {
		g.mem = make([]T, n)
	}
}

// alloc reserves n words, keeps pad words after them addressable and returns
// the offset. Slices of g.mem are not valid after it.
func (g *group[T]) alloc(n, pad int) int {
	at := g.used
	g.used += n
	if len(g.mem) < g.used+pad {
		mem := make([]T, g.used+g.used/2+pad)
		copy(mem, g.mem[:at])
		g.mem = mem
	}
	return at
}

// list returns the list of r.
func (g *group[T]) list(r row) []T { return g.mem[r.at:][:r.n] }

// merge removes repeated neighbours from the list of r and returns the row with
// the map that leads to the places left.
func (g *group[T]) merge(r row, pad int) row {
	at := g.alloc(r.n, pad)
	ids := g.mem[at:][:r.n]
	k := compact(g.list(r), ids)
	switch {
	case r.ids == none:
		r.ids, g.places = at, k
	case r.ids2 == none:
		r.ids2 = at
	default:
		// A third map would slow every evaluation: join it with the second,
		// in a new place, for the rows before still use the old one.
		joined := g.alloc(g.places, pad)
		ids = g.mem[at:][:r.n]
		to := g.mem[joined:][:g.places]
		for i, x := range g.mem[r.ids2:][:g.places] {
			to[i] = ids[x]
		}
		r.ids2 = joined
	}
	r.n = k
	return r
}

// compact removes each value that equals the one before it from list, which is
// not empty, sets ids[i] to the place of what was value i and returns how many
// values are left.
func compact[T word](list, ids []T) int {
	ids = ids[:len(list)]
	last, k := list[0], 0
	for i, x := range list {
		// Computed without a branch: whether neighbours are equal is as good
		// as random.
		step := 0
		if x != last {
			step = 1
		}
		last = x
		k += step
		list[k] = x
		ids[i] = T(k)
	}
	return k + 1
}

// same reports whether all values of list, at least one, are equal.
func same[T word](list []T) bool {
	for _, x := range list {
		if x != list[0] {
			return false
		}
	}
	return true
}
