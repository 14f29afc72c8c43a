package hopping

// Late columns.
//
// Column j is the rows (m, j) of all groups. M(n) needs column 1 at one point
// only, column 2 at a few, and so on, yet in the first groups, which have the
// most classes, the lowest columns are the only full rows. So columns 1, …, J are
// left out of the first groups. They are entered at the first group S in which
// the image of row S−J, in column J+1, is down to a few values: row S−j+1 is
//
//	C_{S−j+1,j} = C_{S−j,j} ∘ σ_j ∘ (row S−j),   j = J, …, 1,
//
// and C_{m,j} is evaluated at these few values by the recursion itself,
// C_{m−1,j} ∘ σ_j ∘ C_{m−1,j+1}, down to closed forms and to rows in column J+1,
// which have been kept of every group. That is of the order of S^J/J!
// evaluations a value, and values coalesce on the way. From then on every row
// is computed as usual.
//
// If C_{S,1} turns out to be constant, its value is M(n), but the stopping group
// may have been an earlier one: then it is not known.

// lateValues is the number of values of column J+1 at which the columns below
// are entered. Entering costs as much for each of them, and to wait for very few
// risks to go past the stopping group. J is 2 or 3: each column saves some five
// percent of the evaluations, and entering costs ten times more with each.
const lateValues = 8

// kept is the row in column J+1 of one group, if it has that as a full row.
type kept[T word] struct {
	first int // the group's first full row
	list  []T
	// last[k] is the last class that place k of the list stands for. It is empty
	// when places are classes.
	last []T
	// near[i] is the place of class i·nearEvery.
	near []T
}

// nearEvery is the distance of the classes whose place is written down.
const nearEvery = 32

// keep copies row m of g, which is group s, if it is full.
func (c *classSolver[T]) keep(s, m int, g *group[T]) {
	for len(c.kept) <= s {
		c.kept = append(c.kept, kept[T]{})
	}
	k := &c.kept[s]
	k.first, k.last = g.first, k.last[:0]
	if m < g.first {
		return
	}
	r := &g.rows[m]
	k.list = append(k.list[:0], g.list(r)...)
	if r.ids == none {
		return
	}
	ids := g.mem[r.ids:][:g.rows[g.first].n]
	k.near = grow(k.near, (len(ids)-1)/nearEvery+1)
	for i := range k.near {
		k.near[i] = ids[i*nearEvery]
	}
	if r.ids2 == none {
		k.last = append(k.last, g.last[:g.places]...)
		return
	}
	k.last = grow(k.last, g.places)
	ids2 := g.mem[r.ids2:][:g.places]
	for id, id2 := range ids2 { // which do not fall, so the last to write is right
		k.last[id2] = g.last[id]
	}
	for i, id := range k.near {
		k.near[i] = ids2[id]
	}
	k.last = k.last[:r.n]
}

// place returns the place in the kept list of a class.
func (k *kept[T]) place(class int) int {
	if len(k.last) == 0 {
		return class
	}
	at := int(k.near[class/nearEvery])
	for k.last[at] < T(class) { // at most nearEvery times, as no place is without a class
		at++
	}
	return at
}

// few reports whether list has at most lateValues values.
func few[T word](list []T) bool {
	values := 1
	for i := 1; i < len(list) && values <= lateValues; i++ {
		if list[i] != list[i-1] {
			values++
		}
	}
	return values <= lateValues
}

// enter computes the rows s−late+1, …, s of group s in g from row s−late, and
// returns how many values it evaluated.
func (c *classSolver[T]) enter(s, n int, g *group[T], p *poller) (int64, error) {
	late := c.late
	g.merge(s - late)
	r := g.rows[s-late]
	c.points = grow(c.points, r.n)
	for i, x := range g.list(&r) {
		c.points[i] = c.look.slack(x, s, s-late)
	}
	e := entry[T]{c: c, n: n, least: leastGroup(n), slacks: c.points, poll: p}
	c.places = grow(c.places, r.n)
	for i := range c.places {
		c.places[i] = i
	}
	for j := late; j >= 1; j-- {
		e.sigma(j)
		if err := e.through(s-j, j); err != nil {
			return 0, err
		}
		r.at, r.shelved = g.alloc(r.n), false
		for i, k := range c.places {
			g.mem[r.at+i] = c.look.word(e.slacks[k], s, s-j+1)
		}
		g.rows[s-j+1] = r
	}
	return e.work, nil
}

// entry is a list of slacks on their way through C_{m,j} of the columns that
// were left out.
type entry[T word] struct {
	c        *classSolver[T]
	n, least int
	// slacks are the different values under way; value i of the list that was
	// entered has become slacks[c.places[i]].
	slacks []int
	work   int64
	poll   *poller
}

func (e *entry[T]) sigma(j int) {
	for i, d := range e.slacks {
		if d -= j; d < 0 {
			d = e.n
		}
		e.slacks[i] = d
	}
}

// pointUnits is what one of these evaluations counts for a poller: it is a few
// cache misses, for the largest n also a binary search.
const pointUnits = 100

// through replaces each slack by its image under C_{m,j}.
func (e *entry[T]) through(m, j int) error {
	s := m + j - 1
	full := s >= e.least && m >= e.c.kept[s].first
	if full && j <= e.c.late {
		if err := e.through(m-1, j+1); err != nil {
			return err
		}
		e.sigma(j)
		return e.through(m-1, j)
	}
	e.work += int64(len(e.slacks))
	if err := e.poll.spend(pointUnits * len(e.slacks)); err != nil {
		return err
	}
	met := false
	for i, d := range e.slacks {
		if full {
			d = e.stored(s, m, d)
		} else {
			d = e.closed(s, m, d)
		}
		e.slacks[i] = d
		met = met || i > 0 && d == e.slacks[i-1]
	}
	if met {
		e.merge()
	}
	return nil
}

// merge removes slacks that equal the one before.
func (e *entry[T]) merge() {
	k := 0
	var to [lateValues]int
	for i, d := range e.slacks {
		if i > 0 && d != e.slacks[k] {
			k++
		}
		e.slacks[k] = d
		to[i] = k
	}
	e.slacks = e.slacks[:k+1]
	for i, p := range e.c.places {
		e.c.places[i] = to[p]
	}
}

// closed evaluates row m of group s, a closed form.
func (e *entry[T]) closed(s, m, d int) int {
	q := rowSum(s, m)
	if d >= q {
		return d - q
	}
	return e.n - q + e.c.look.end(s, e.c.look.class(s, d))
}

// stored evaluates row m of group s, in column late + 1.
func (e *entry[T]) stored(s, m, d int) int {
	k := &e.c.kept[s]
	return e.c.look.slack(k.list[k.place(e.c.look.class(s, d))], s, m)
}
