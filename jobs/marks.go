package jobs

import "fmt"

// Hand is a worker together with the algorithm that it used.
type Hand struct {
	// Worker is the worker's ID.
	Worker    string
	Algorithm string
}

// Marks says of each finished cell and point of a sweep who stored it and who
// confirmed it by a second computation. Hands are numbered from 1; 0 is nobody
// or not known. What it says of cells that are not finished means nothing.
type Marks struct {
	// First is the grid index of the first cell.
	First     int64
	by, check []uint16
	points    map[int64][2]uint16
	hands     []Hand
}

// NewMarks returns the marks of the cells [first, last), none of which is
// stored by anybody, for the given hands.
func NewMarks(first, last int64, hands []Hand) *Marks {
	return &Marks{First: first, by: make([]uint16, last-first), check: make([]uint16, last-first), points: map[int64][2]uint16{}, hands: hands}
}

// Set notes author and checker of a cell; an index outside is ignored.
func (m *Marks) Set(index int64, by, check uint16) {
	if i := index - m.First; i >= 0 && i < int64(len(m.by)) {
		m.by[i], m.check[i] = by, check
	}
}

// SetPoint notes author and checker of a point.
func (m *Marks) SetPoint(n int64, by, check uint16) { m.points[n] = [2]uint16{by, check} }

// Cell returns the numbers of a cell's author and checker.
func (m *Marks) Cell(index int64) (by, check uint16) {
	if i := index - m.First; i >= 0 && i < int64(len(m.by)) {
		return m.by[i], m.check[i]
	}
	return 0, 0
}

// Point returns the numbers of a point's author and checker.
func (m *Marks) Point(n int64) (by, check uint16) { p := m.points[n]; return p[0], p[1] }

// Hand returns the hand of a number, and whether it is known.
func (m *Marks) Hand(number uint16) (Hand, bool) {
	if number == 0 || int(number) > len(m.hands) {
		return Hand{}, false
	}
	h := m.hands[number-1]
	return h, h.Worker != ""
}

// Confirmed returns the cells and points that have a checker, as a ledger.
func (m *Marks) Confirmed() *Ledger {
	l := NewLedger(m.First, m.First+int64(len(m.by)))
	for i, c := range m.check {
		if c != 0 {
			l.Mark(m.First + int64(i))
		}
	}
	for n, p := range m.points {
		if p[1] != 0 {
			l.MarkPoint(n)
		}
	}
	return l
}

// Quarantine says why commits of a worker are refused for the rest of a run.
type Quarantine struct {
	// Worker is the worker's ID.
	Worker string `json:"worker"`
	Sweep  string `json:"sweep"`
	// N is where its value lost: the first n of the cell whose values differ, or
	// the cell's first n where only records are kept.
	N int64 `json:"n"`
	// Value is its value there and Won the one that two others agree on; both
	// are empty where only records are kept.
	Value string `json:"value,omitempty"`
	Won   string `json:"won,omitempty"`
	// By is the worker whose computation decided, AtMs the store's clock then.
	By   string `json:"by"`
	AtMs int64  `json:"at_ms"`
	// Pending says that its cells are not all opened again yet, Reopened how many
	// cells and points were.
	Pending  bool  `json:"pending,omitempty"`
	Reopened int64 `json:"reopened"`
}

// Why says what convicted the worker, as in "it computed 7 for n = 51 of sweep a,
// two others 8".
func (q Quarantine) Why() string {
	if q.Value == "" {
		return fmt.Sprintf("two others agree on another result for the cell of n = %d of sweep %s", q.N, q.Sweep)
	}
	return fmt.Sprintf("it computed %s for n = %d of sweep %s, two others %s", q.Value, q.N, q.Sweep, q.Won)
}
