package store

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

// Disputes returns the open disputes of a sweep in the order of n. Committing
// such a cell again, from a computation that has no claim yet, decides it as
// soon as the value it brings has more votes than any other; the stored value
// has one from the start.
func (s *Store) Disputes(ctx context.Context, id jobs.RunID, w jobs.Sweep) ([]jobs.Dispute, error) {
	key := keysOf(id).disputes(w.Name)
	all, err := s.client.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("read the disputes of %s of run %s: %w", w.Name, id.Name, err)
	}
	byCell := map[string]*jobs.Dispute{}
	for _, field := range sorted(all) {
		addr, by, _ := strings.Cut(field, " ")
		d := byCell[addr]
		if d == nil {
			if d, err = newDispute(addr, w); err != nil {
				return nil, fmt.Errorf("key %s, field %q: %w", key, field, err)
			}
			byCell[addr] = d
		}
		text := all[field]
		crc, err := strconv.ParseUint(text[:min(8, len(text))], 16, 32)
		if err != nil {
			return nil, fmt.Errorf("key %s, field %q: no CRC", key, field)
		}
		d.Claims = append(d.Claims, jobs.Claim{By: by, CRC: uint32(crc), Data: []byte(text[8:])})
	}
	out := make([]jobs.Dispute, 0, len(byCell))
	for _, d := range byCell {
		out = append(out, *d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].N < out[j].N })
	return out, nil
}

// newDispute reads what a dispute is about: an address or "n" and a number.
func newDispute(addr string, w jobs.Sweep) (*jobs.Dispute, error) {
	if text, ok := strings.CutPrefix(addr, "n"); ok {
		n, err := strconv.ParseInt(text, 10, 64)
		return &jobs.Dispute{Cell: -1, N: n}, err
	}
	index, err := parseAddress(addr)
	if err != nil {
		return nil, err
	}
	if end := w.Grid.CellAt(engine.MaxN).Index; index > end {
		return nil, fmt.Errorf("cell %d is beyond the grid's last, %d", index, end)
	}
	n := w.Grid.Cell(index).Lo
	if first, last := w.Cells(); index >= first && index < last {
		c, _ := w.Cell(index)
		n = c.Lo
	}
	return &jobs.Dispute{Cell: index, N: n}, nil
}
