package hopping

import "errors"

// classesReach is the largest n of the algorithm classes. The arithmetic holds
// to wideMax; memory, some 15 bytes for each slack, sets the limit: 3 GB.
const classesReach = 200_000_000

// The class representation.
//
// Write d = n − u for the slack of a distance u. In slacks σ_w takes d to d − w
// if d ≥ w and to n otherwise (a reset): before its first reset a walk only
// slides down, and after it the start is forgotten.
//
// Row m of group s is C_{m,s−m+1}, a walk of 2^m − 1 steps. At step i = 0, 1, …
// it is at index k = 2^m − 1 − i of weight m − w(i), raised by s − m: the weight
// is s − w(i), the same in every row of the group. With P_0 = 0 and
// P_{i+1} = P_i + s − w(i), a slack d resets first at step i exactly when
// P_i ≤ d < P_{i+1}. Call that i the class of d. A row is a function of the
// class alone, together with the slide d − P_{2^m−1} for those d that never
// reset; it is full when P_{2^m−1} > n and there are none.
//
// Closed forms. If p = P_{2^m−1} ≤ n, no walk of the row resets twice: after
// the reset at step i there are steps of total weight p − P_{i+1} ≤ n to come.
// So the row sends d to d − p if d ≥ p, else to n − (p − P_{i+1}), and is not
// stored. P_{2^s−1} = s·2^(s−1) is the total weight of the indices below 2^s.
// If that is at most n, C_{s,1} is not constant: it sends n to n − p, and n − 1
// either to n − 1 − p or, if p = n, to n because the last weight is 1. So the
// work starts at the first s with s·2^(s−1) > n. In that group and later ones
// row s is full.
//
// Full rows. Let first be the first full row of the group, m ≥ first,
// j = s−m+1, half = 2^(m−1) − 1, so that C_{m,j} is row m−1 of the group, then
// σ_j as step half, then row m−1 of group s−1.
//   - If m > first, row m−1 is full, every class is below half, and the value of
//     class i in row m is row m−1 of group s−1 at σ_j of the value in row m−1.
//   - If m = first, both rows m−1 are closed forms (P grows with s, so what is
//     closed in group s is closed in group s−1). A class i > half slides through
//     row m−1 and σ_j and resets at step i−half−1 of row m−1 of group s−1;
//     class half resets at σ_j and goes on from slack n.
//
// Merging. σ_j moves the n+1 slacks around a circle without passing one
// another, so in class order the values of a row are in cyclic order, and equal
// values are neighbours (unless they are the first and the last, which costs
// one entry and changes nothing). Removing repeated neighbours leaves the
// distinct values, and a map from classes to their places. All later rows of
// the group are functions of these places.
//
// M(n) is n less the slack that C_{s,1} is constant at, for the first s where
// it is; the list of row s holds all its values, because every class below the
// count holds some d ≤ n.

// word is the unsigned integer that slacks, classes and places are stored in.
type word interface{ uint16 | uint32 }

// lookup knows the classes of every group. It is the part of the algorithm that
// depends on the size of n.
type lookup[T word] interface {
	// begin is told of every n before anything else is asked.
	begin(n int)
	// fits reports whether group s can be handled for n.
	fits(s, first int) bool
	// prepare makes the classes of group s known for the slacks 0, …, n and
	// returns how many there are. In a group with s·2^(s−1) ≤ n it knows the
	// slacks below s·2^(s−1), the others have no class, and the count is 0.
	prepare(s, n int, p *poller) (int, error)
	// firstRow writes the entries lo ≤ c < hi of the first full row m of
	// group s, and what it likes into up to 3 words behind them, which are in the
	// capacity of out. Groups s and s−1 are prepared.
	firstRow(out []T, lo, hi, s, m, n int)
	// rows computes the rows m+1, …, to of g, which is group s, from row m and
	// from group s−1, which is before. They have the places of row m.
	rows(g, before *group[T], s, m, to, n int, p *poller) error
	// slack returns the slack that the value x of row m of group s stands for,
	// and word the value that stands for slack d.
	slack(x T, s, m int) int
	word(d, s, m int) T
	// class returns the class of slack d < s·2^(s−1) in group s, prepared or not,
	// and end the slack at which a class found so ends, P_{i+1}.
	class(s, d int) int
	end(s, i int) int
}

// classes is the recursion on classes for all n: narrow where 16 bits suffice,
// else wide.
type classes struct {
	narrow *classSolver[uint16]
	wide   *classSolver[uint32]
	exact  bool // find the stopping group always
}

// newClasses returns the solver for values. Its results do not always have the
// stopping group: see late.go.
func newClasses() *classes {
	return &classes{
		narrow: newClassSolver(&narrow{}, narrowWords, 8, 4),
		wide:   newWideSolver(newWide(wideBelow)),
	}
}

func newWideSolver(look *wide) *classSolver[uint32] {
	c := newClassSolver(look, 0, 6, 4)
	c.late, c.shelved = 2, true
	return c
}

// tuneWide sets what is best for n. From some millions on the maps of merged
// rows no longer come from the caches, so that merging pays later, and entering
// one more late column costs less than it saves.
func (c *classes) tuneWide(n int) {
	c.wide.mergeFirst, c.wide.late = 6, 2
	if n >= 3_000_000 {
		c.wide.mergeFirst, c.wide.late = 7, 3
	}
	if c.exact {
		c.wide.late = 0
	}
}

// newExactClasses returns a solver whose results all have the stopping group.
func newExactClasses() *classes {
	c := newClasses()
	c.exact = true
	return c
}

func (c *classes) solve(n int, p *poller) (result, error) {
	if n <= narrowMax {
		r, err := c.narrow.solve(n, p)
		if !errors.Is(err, errDeep) {
			return r, err
		}
	}
	c.tuneWide(n)
	for {
		r, err := c.wide.solve(n, p)
		if !errors.Is(err, errDeep) {
			return r, err
		}
		c.wide.look = newWide(2 * c.wide.look.(*wide).below)
	}
}

// errDeep says that row s is further from the first full row than the lookup can
// handle, 64 rows as a rule. A few rows halve the number of values, so that is
// not expected of any n, but it is not impossible either.
var errDeep = errors.New("stopping group beyond the prepared rows")

// classSolver is the recursion on classes with one kind of lookup.
type classSolver[T word] struct {
	look lookup[T]
	// mergeFirst and mergeEvery say after which rows values are merged, counted
	// from the first full row: the first rows have hardly any equal values, and
	// a merge costs about as much as two rows.
	mergeFirst, mergeEvery int
	// two holds the group in work and the one before it, and shelf their long
	// lists if shelved is set.
	two     [2]group[T]
	shelf   shelf[T]
	shelved bool
	// late is how many columns are left out of the first groups. See late.go,
	// also for the rest.
	late   int
	kept   []kept[T]
	points []int
	places []int
}

func newClassSolver[T word](look lookup[T], pad, mergeFirst, mergeEvery int) *classSolver[T] {
	c := &classSolver[T]{look: look, mergeFirst: mergeFirst, mergeEvery: mergeEvery}
	for i := range c.two {
		c.two[i].shelf, c.two[i].pad = &c.shelf, pad
	}
	return c
}

// leastGroup returns the first s with s·2^(s−1) > n.
func leastGroup(n int) int {
	s := 1
	for s<<(s-1) <= n {
		s++
	}
	return s
}

// rowSum returns P_{2^m−1} of group s, the total weight of row m:
// m·2^(m−1) + (s−m)·(2^m−1). Row m is row m−1, a step of weight s−m+1, and row
// m−1 of group s−1, which is not heavier. So up to the first full row, whose
// row m−1 has at most n, the sum is at most 2n + s.
func rowSum(s, m int) int { return m<<m>>1 + (s-m)*(1<<m-1) }

// firstFull returns the first full row of group s ≥ leastGroup(n), given a row m
// that is not before it. As rowSum rises with m, the rows from the first full one on
// are full and those below it are not. As it rises with s, the first full row of
// group s−1 will do for m, and so will row leastGroup(n).
func firstFull(s, n, m int) int {
	for m > 1 && rowSum(s, m-1) > n {
		m--
	}
	return m
}

// classLimits returns how many slacks, from 0, must have their class in group s
// for n, and for how many it is found in advance, which is up to ahead more. A
// walk of all 2^s − 1 steps resets slacks below s·2^(s−1) only.
func classLimits(s, n, ahead int) (need, until int) {
	need, until = n+1, n+1+ahead
	if s < 28 { // s·2^(s−1) is beyond any n otherwise
		need, until = min(need, s<<(s-1)), min(until, s<<(s-1))
	}
	return need, until
}

func (c *classSolver[T]) solve(n int, p *poller) (result, error) {
	c.look.begin(n)
	least := leastGroup(n)
	late := c.late
	before, g := &c.two[0], &c.two[1]
	before.first, before.prepared = least, false // no row of group least−1 is full
	c.shelf.slot = 0
	work := int64(0)
	for s := least; ; s++ {
		g.tracked = late > 0
		k, err := c.group(s, s-late, n, g, before, p)
		if err != nil {
			return result{}, err
		}
		work += k
		group := s
		if late > 0 {
			c.keep(s, s-late, g)
			if s-late >= g.first && few(g.list(&g.rows[s-late])) {
				k, err := c.enter(s, n, g, p)
				if err != nil {
					return result{}, err
				}
				work += k
				late, group = 0, 0
			}
		}
		if p.within != nil {
			// Groups cost about the same, one by one.
			p.within(min(float64(s-least+1)/(usualGroup(float64(n))-float64(least)+1), 1))
		}
		if late == 0 {
			if list := g.list(&g.rows[s]); same(list) {
				return result{value: n - c.look.slack(list[0], s, s), group: group, work: work}, nil
			}
		}
		before, g = g, before
	}
}

const (
	// tile is how many values are computed between two looks at the context.
	// Much shorter stretches would keep each row in the cache for the next one,
	// and yet be slower: it is the long runs through the tables that count.
	tile = 1 << 18
	// mergeLeast is the length of a list below which merging does not pay.
	mergeLeast = 40
)

// group computes the full rows of group s up to last into g, given group s−1,
// and returns how many values it evaluated.
func (c *classSolver[T]) group(s, last, n int, g, before *group[T], p *poller) (int64, error) {
	first := firstFull(s, n, before.first)
	if !c.look.fits(s, first) {
		return 0, errDeep
	}
	g.reset(s, first)
	if last < first {
		return 0, nil
	}
	// After a group without full rows, the one before is not prepared yet.
	if !before.prepared {
		if _, err := c.look.prepare(s-1, n, p); err != nil {
			return 0, err
		}
	}
	count, err := c.look.prepare(s, n, p)
	if err != nil {
		return 0, err
	}
	g.prepared = true
	if c.shelved && c.shelf.slot == 0 {
		// The first group with full rows has the most classes. A group has
		// mergeFirst + 1 long lists. The next group may begin one row earlier,
		// and so takes three slots before the first one comes back.
		c.shelf.reset(c.mergeFirst+4, count, g.pad)
	}
	// Room for the lists to the first merge, if they are not on the shelf, and as
	// a rule for all the others.
	reserve := 4
	if !c.shelved {
		reserve += min(c.mergeFirst, last-first) + 1
	}
	g.reserve(reserve * count)

	list := g.begin(first, count)
	for lo := 0; lo < count; lo += tile {
		hi := min(lo+tile, count)
		c.look.firstRow(list, lo, hi, s, first, n)
		if err := p.spend(2 * (hi - lo)); err != nil {
			return 0, err
		}
	}
	work := int64(count)
	for m, step := first, c.mergeFirst; m < last; step = c.mergeEvery {
		to := last
		if g.rows[m].n >= mergeLeast {
			to = min(m+step, last)
		}
		if err := c.look.rows(g, before, s, m, to, n, p); err != nil {
			return 0, err
		}
		work += int64(to-m) * int64(g.rows[m].n)
		if m = to; m < last {
			g.merge(m)
		}
	}
	return work, nil
}
