package hopping

// The loops below are where the time goes for large n. They are not inlined, so
// that all of each fits into registers, and take several values a turn. h is
// less than 32 anyway: the mask tells the compiler that a shift by it needs no
// check.

// wideApply writes the value of a row, which is list by class, at each of the
// biased slacks in xs.
//
//go:noinline
func wideApply(out, xs, cell []uint32, h uint, list []uint32) {
	h &= 31
	out = out[:len(xs)]
	i := 0
	for ; i < len(xs)-7; i += 8 {
		x, y := (*[8]uint32)(xs[i:]), (*[8]uint32)(out[i:])
		z := x[0]
		y[0] = list[(cell[z>>h]+z)>>h]
		z = x[1]
		y[1] = list[(cell[z>>h]+z)>>h]
		z = x[2]
		y[2] = list[(cell[z>>h]+z)>>h]
		z = x[3]
		y[3] = list[(cell[z>>h]+z)>>h]
		z = x[4]
		y[4] = list[(cell[z>>h]+z)>>h]
		z = x[5]
		y[5] = list[(cell[z>>h]+z)>>h]
		z = x[6]
		y[6] = list[(cell[z>>h]+z)>>h]
		z = x[7]
		y[7] = list[(cell[z>>h]+z)>>h]
	}
	for ; i < len(xs); i++ {
		z := xs[i]
		out[i] = list[(cell[z>>h]+z)>>h]
	}
}

// wideApply1 is wideApply for a row that was merged once before.
//
//go:noinline
func wideApply1(out, xs, cell []uint32, h uint, ids, list []uint32) {
	h &= 31
	out = out[:len(xs)]
	i := 1
	for ; i < len(xs); i += 2 {
		a, b := xs[i-1], xs[i]
		out[i-1] = list[ids[(cell[a>>h]+a)>>h]]
		out[i] = list[ids[(cell[b>>h]+b)>>h]]
	}
	if i == len(xs) {
		x := xs[i-1]
		out[i-1] = list[ids[(cell[x>>h]+x)>>h]]
	}
}

// wideApply2 is wideApply for a row that was merged more often.
//
//go:noinline
func wideApply2(out, xs, cell []uint32, h uint, ids, ids2, list []uint32) {
	h &= 31
	out = out[:len(xs)]
	i := 1
	for ; i < len(xs); i += 2 {
		a, b := xs[i-1], xs[i]
		out[i-1] = list[ids2[ids[(cell[a>>h]+a)>>h]]]
		out[i] = list[ids2[ids[(cell[b>>h]+b)>>h]]]
	}
	if i == len(xs) {
		x := xs[i-1]
		out[i-1] = list[ids2[ids[(cell[x>>h]+x)>>h]]]
	}
}

// wideFirst writes the values of successive classes of a first full row that
// reset again in its second half. They get there with slack x = base + s·i − w,
// w being weights[i], and leave with top + t·k − ends[k], where k is the class
// of x and ends the weights from the second on.
//
//go:noinline
func wideFirst(out, weights []uint32, s, base uint32, cell []uint32, h uint, ends []uint32, t, top uint32) {
	h &= 31
	weights = weights[:len(out)]
	i := 1
	for ; i < len(out); i += 2 {
		a := base - weights[i-1]
		b := base + s - weights[i]
		base += 2 * s
		a = (cell[a>>h] + a) >> h
		b = (cell[b>>h] + b) >> h
		out[i-1] = top + t*a - ends[a]
		out[i] = top + t*b - ends[b]
	}
	if i == len(out) {
		a := base - weights[i-1]
		a = (cell[a>>h] + a) >> h
		out[i-1] = top + t*a - ends[a]
	}
}

// wideLine writes base + s·i − weights[i] to out[i].
//
//go:noinline
func wideLine(out, weights []uint32, s, base uint32) {
	weights = weights[:len(out)]
	for i, w := range weights {
		out[i] = base - w
		base += s
	}
}
