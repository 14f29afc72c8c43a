package hopping

// none is the offset of a map that a row does not have.
const none = -1

// row is one full row. Its value for class c is list[c], list[ids[c]] or
// list[ids2[ids[c]]], depending on how often its group was merged before.
//
// The long lists, of the rows before the first merge, are on the shelf, all else
// is in the group's memory. Offsets stand for slices so that rows have no
// pointers and lists may move.
type row struct {
	at, n     int // the list and its length
	ids, ids2 int
	shelved   bool
}

// set sets r, field by field: to copy a row of which one word was just written
// stalls.
func (r *row) set(at, n, ids, ids2 int) {
	r.at, r.n, r.ids, r.ids2, r.shelved = at, n, ids, ids2, false
}

// group holds the full rows m = first, …, s of one group.
type group[T word] struct {
	first int
	// prepared is whether the lookup has prepared the group for the n in work.
	prepared bool
	rows     []row // by m
	shelf    *shelf[T]
	mem      []T
	used     int
	// pad is how many words stay addressable beyond each list.
	pad int
	// places is how many places the first merge left: the length of an ids2.
	places int
	// last, if tracked is set, has the last class of each of these places.
	last    []T
	tracked bool
}

// reset empties g for the rows first, …, s.
func (g *group[T]) reset(s, first int) {
	g.first, g.prepared, g.used = first, false, 0
	g.rows = grow(g.rows, s+1)
}

// reserve makes room for n words in an empty group.
func (g *group[T]) reserve(n int) {
	if len(g.mem) < n+g.pad {
		g.mem = make([]T, n+g.pad)
	}
}

// alloc takes n words and returns their offset. Slices of g.mem are not valid
// after it.
func (g *group[T]) alloc(n int) int {
	at := g.used
	g.used += n
	if len(g.mem) < g.used+g.pad {
		mem := make([]T, g.used+g.used/2+g.pad)
		copy(mem, g.mem[:at])
		g.mem = mem
	}
	return at
}

// from returns the memory from the list of r on.
func (g *group[T]) from(r *row) []T {
	if r.shelved {
		return g.shelf.mem[r.at:]
	}
	return g.mem[r.at:]
}

// list returns the list of r.
func (g *group[T]) list(r *row) []T { return g.from(r)[:r.n] }

// begin adds row m with a place for each of count classes and returns its list.
func (g *group[T]) begin(m, count int) []T {
	return g.add(m, row{n: count, ids: none, ids2: none})
}

// extend adds row m with the places of row m−1 and returns its list.
func (g *group[T]) extend(m int) []T { return g.add(m, g.rows[m-1]) }

func (g *group[T]) add(m int, r row) []T {
	if r.shelved = r.ids == none && len(g.shelf.free) > 0; r.shelved {
		r.at = g.shelf.take()
	} else {
		r.at = g.alloc(r.n)
	}
	g.rows[m] = r
	return g.list(&r)
}

// drop gives back what row m has on the shelf.
func (g *group[T]) drop(m int) {
	if r := &g.rows[m]; r.shelved {
		g.shelf.put(r.at)
	}
}

// merge removes repeated neighbours from the list of row m and sets the map that
// leads to the places left.
func (g *group[T]) merge(m int) {
	r := &g.rows[m]
	at := g.alloc(r.n)
	ids := g.mem[at:][:r.n]
	if g.tracked && r.ids == none {
		g.last = grow(g.last, r.n)
		g.places = compactTracked(g.list(r), ids, g.last)
		r.ids, r.n = at, g.places
		return
	}
	k := compact(g.list(r), ids)
	switch {
	case r.ids == none:
		r.ids, g.places = at, k
	case r.ids2 == none:
		r.ids2 = at
	default:
		// A third map would slow every evaluation: join it with the second,
		// in a new place, for the rows before still use the old one.
		joined := g.alloc(g.places)
		ids = g.mem[at:][:r.n]
		to := g.mem[joined:][:g.places]
		for i, x := range g.mem[r.ids2:][:g.places] {
			to[i] = ids[x]
		}
		r.ids2 = joined
	}
	r.n = k
}

// shelf holds the long lists of two groups, each in a slot of one size. A list
// is used for the last time when the row after it in the next group is done.
// Its slot, just read, is then the best place to write to: that halves the
// memory that goes through the caches.
type shelf[T word] struct {
	mem  []T
	slot int
	free []int // offsets of free slots
}

// reset frees everything and makes slots of n words, with pad words addressable
// beyond the last.
func (f *shelf[T]) reset(slots, n, pad int) {
	if len(f.mem) < slots*n+pad {
		n += n / 32
		f.mem = make([]T, slots*n+pad)
	}
	f.slot = n
	f.free = grow(f.free, slots)
	for i := range slots {
		f.free[i] = n * (slots - 1 - i)
	}
}

func (f *shelf[T]) take() int {
	at := f.free[len(f.free)-1]
	f.free = f.free[:len(f.free)-1]
	return at
}

func (f *shelf[T]) put(at int) { f.free = append(f.free, at) }

// compact removes each value that equals the one before it from list, which is
// not empty, sets ids[i] to the place of what was value i and returns how many
// values are left.
func compact[T word](list, ids []T) int {
	ids = ids[:len(list)]
	last, k := list[0], 0
	// Computed without a branch: whether neighbours are equal is as good as
	// random. Places are written behind what is read.
	i := 1
	for ; i < len(list); i += 2 {
		x, y := list[i-1], list[i]
		step := 0
		if x != last {
			step = 1
		}
		k += step
		list[k] = x
		ids[i-1] = T(k)
		step = 0
		if y != x {
			step = 1
		}
		k += step
		list[k] = y
		ids[i] = T(k)
		last = y
	}
	if i == len(list) {
		if list[i-1] != last {
			k++
			list[k] = list[i-1]
		}
		ids[i-1] = T(k)
	}
	return k + 1
}

// compactTracked is compact for a list by class, and leaves in last the last class
// of each place.
func compactTracked[T word](list, ids, last []T) int {
	ids, last = ids[:len(list)], last[:len(list)]
	before, k := list[0], 0
	for i, x := range list {
		step := 0
		if x != before {
			step = 1
		}
		before = x
		k += step
		list[k] = x
		ids[i] = T(k)
		last[k] = T(i)
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
