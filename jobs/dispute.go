package jobs

// Dispute is a finished cell or point whose computations do not agree. The
// stored value is the first that came; the claims are those that came after it
// and spoke up about this cell, the stored value's own supporters included.
type Dispute struct {
	// Cell is the grid index, or −1 for a point.
	Cell int64
	// N is the first n of the cell as the sweep clips it, or the point.
	N      int64
	Claims []Claim
}

// Claim is one computation's word in a dispute.
type Claim struct {
	// By names the worker and the task.
	By string
	// CRC and Data are as in [CellValues]; for a point Data is the decimal
	// text of the value.
	CRC  uint32
	Data []byte
}
