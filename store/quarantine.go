package store

import (
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math/big"
	"sort"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/jobs"
)

var (
	//go:embed lua/unmark.lua
	luaUnmark string
	//go:embed lua/expelled.lua
	luaExpelled string
)

var (
	scriptUnmark   = redis.NewScript(luaUnmark)
	scriptExpelled = redis.NewScript(luaExpelled)
)

// Quarantines returns the workers from which the run takes nothing any more, in
// the order of time.
func (s *Store) Quarantines(ctx context.Context, m jobs.Manifest) ([]jobs.Quarantine, error) {
	key := keysOf(m.ID).quarantine()
	all, err := s.client.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("read the quarantine of run %s: %w", m.ID.Name, err)
	}
	var out []jobs.Quarantine
	for field, text := range all {
		q, err := decodeQuarantine(m, field, text)
		if err != nil {
			return nil, jobs.Lasting(fmt.Errorf("key %s, field %s: %w", key, field, err))
		}
		out = append(out, q)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].AtMs != out[j].AtMs {
			return out[i].AtMs < out[j].AtMs
		}
		return out[i].Worker < out[j].Worker
	})
	return out, nil
}

// Expelled reports whether the run takes nothing from the worker any more. A run
// that is gone has expelled nobody.
func (s *Store) Expelled(ctx context.Context, id jobs.RunID, worker string) (bool, error) {
	out, err := s.client.HExists(ctx, keysOf(id).quarantine(), strconv.Quote(worker)).Result()
	if err != nil {
		return false, fmt.Errorf("read the quarantine of run %s: %w", id.Name, err)
	}
	return out, nil
}

// decodeQuarantine reads what lua/marks.lua wrote and Expel changed: state, sweep,
// address, place of the value in the cell, its value, the one that won, time and
// judge. The state is a number of cells that were opened; before it stands "?" when
// there may be more to open, and behind that and ":" how many there will be then,
// once that is known.
func decodeQuarantine(m jobs.Manifest, field, text string) (jobs.Quarantine, error) {
	q := jobs.Quarantine{}
	bad := func() (jobs.Quarantine, error) { return q, fmt.Errorf("%q says not why", text) }
	id, _, ok := quotedWord(field)
	w := strings.SplitN(text, " ", 8)
	if !ok || len(w) != 8 {
		return bad()
	}
	q.Worker, q.Sweep = id, w[1]
	before, then, pending, err := decodeOpened(w[0])
	if err != nil {
		return bad()
	}
	q.Pending, q.Reopened = pending, max(before, then)
	place, err := strconv.ParseInt(w[3], 10, 64)
	if err != nil {
		return bad()
	}
	if q.AtMs, err = strconv.ParseInt(w[6], 10, 64); err != nil {
		return bad()
	}
	if q.By, _, ok = quotedWord(w[7]); !ok {
		return bad()
	}
	if n, ok := strings.CutPrefix(w[2], "n"); ok {
		q.Value, q.Won = w[4], w[5]
		q.N, err = strconv.ParseInt(n, 10, 64)
		return q, err
	}
	index, err := parseAddress(w[2])
	if err != nil {
		return q, err
	}
	sweep, ok := m.Sweep(q.Sweep)
	if !ok {
		return q, nil // it left the plan: where the cell lies is not known
	}
	q.N = max(sweep.Grid.Cell(index).Lo, sweep.Set.Lo) + max(place, 0)
	q.Value, q.Won = storedValue(w[4]), storedValue(w[5])
	return q, nil
}

// decodeOpened reads the state of a quarantine.
func decodeOpened(text string) (before, then int64, pending bool, err error) {
	text, pending = strings.CutPrefix(text, "?")
	first, second, planned := strings.Cut(text, ":")
	if first != "" || !pending {
		if before, err = strconv.ParseInt(first, 10, 64); err != nil {
			return 0, 0, false, err
		}
	}
	if planned {
		then, err = strconv.ParseInt(second, 10, 64)
	}
	return before, then, pending, err
}

// storedValue reads a value in hex as it is stored, or "-".
func storedValue(text string) string {
	b, err := hex.DecodeString(text)
	switch {
	case err != nil:
		return ""
	case len(b) == 4:
		return new(big.Int).SetBytes(b).String()
	case len(b) == 8:
		return fmt.Sprint(int64(new(big.Int).SetBytes(b).Uint64()))
	case len(b) == 16:
		return engine.Int128FromBytes(b).String()
	}
	return ""
}

// suspect is what is not to be believed of a worker in one sweep.
type suspect struct {
	cells, points []int64          // to be opened
	checked       map[int64]uint16 // cells, by index, and points, by −n, that it confirmed
}

// Expel opens all cells and points again that a worker in quarantine has stored
// and nobody else confirmed, and those about which it has spoken in a dispute that
// is still open; it takes back what the worker confirmed. It returns how many were
// opened by now, and notes it in the quarantine. A call that was broken off may be
// repeated; what was opened by then counts. Cells outside of the plan are left
// until Update brings them back. m is the plan as the caller has read it: when
// somebody else has changed the run since, the quarantine is pending still, because
// there may be more to open. The costs are those of reading all ledgers and marks,
// and of Reopen.
func (s *Store) Expel(ctx context.Context, m jobs.Manifest, worker string) (int64, error) {
	n, err := s.expel(ctx, m, worker)
	if err != nil {
		return n, fmt.Errorf("open what %s computed for run %s: %w", worker, m.ID.Name, err)
	}
	return n, nil
}

func (s *Store) expel(ctx context.Context, m jobs.Manifest, worker string) (int64, error) {
	k, field := keysOf(m.ID), strconv.Quote(worker)
	text, err := s.client.HGet(ctx, k.quarantine(), field).Result()
	if err != nil {
		return 0, err
	}
	state, rest, _ := strings.Cut(text, " ")
	before, then, _, err := decodeOpened(state)
	if err != nil {
		return 0, jobs.Lasting(fmt.Errorf("key %s, field %s: %q says not why", k.quarantine(), field, text))
	}
	note := func(state string) error { return s.note(ctx, m.ID, k.quarantine(), field, state+" "+rest) }
	found := map[string]*suspect{}
	open := before
	for _, w := range m.Sweeps {
		x, err := s.suspect(ctx, m.ID, w, worker)
		if err != nil {
			return 0, err
		}
		found[w.Name] = x
		open += int64(len(x.cells) + len(x.points))
	}
	// Noted before, so that it is not forgotten should this be broken off.
	open = max(open, then)
	if err := note(fmt.Sprintf("?%d:%d", before, open)); err != nil {
		return 0, err
	}
	rev := m.Rev // as it is if nobody else changes it
	for _, w := range m.Sweeps {
		x := found[w.Name]
		if err := s.unmark(ctx, m.ID, w.Name, x.checked); err != nil {
			return 0, err
		}
		if len(x.cells)+len(x.points)+len(x.checked) == 0 {
			continue
		}
		raised, err := s.reopen(ctx, m.ID, w.Name, x.cells, x.points)
		if err != nil {
			return 0, err
		}
		rev += raised
	}
	_, err = s.run(ctx, scriptExpelled, m.ID, []string{k.manifest(), k.quarantine()}, rev, field, fmt.Sprintf("%d %s", open, rest))
	return open, err
}

// suspect finds what a worker has to do with in a sweep.
func (s *Store) suspect(ctx context.Context, id jobs.RunID, w jobs.Sweep, worker string) (*suspect, error) {
	l, err := s.Ledger(ctx, id, w)
	if err != nil {
		return nil, err
	}
	marks, err := s.Marks(ctx, id, w)
	if err != nil {
		return nil, err
	}
	disputes, err := s.Disputes(ctx, id, w)
	if err != nil {
		return nil, err
	}
	spoke := map[int64]bool{} // as in suspect.checked
	for _, d := range disputes {
		for _, c := range d.Claims {
			if by, _, ok := quotedWord(c.By); ok && by == worker {
				if d.Cell < 0 {
					spoke[-d.N] = true
				} else {
					spoke[d.Cell] = true
				}
			}
		}
	}
	x := &suspect{checked: map[int64]uint16{}}
	judge := func(key int64, by, chk uint16, list *[]int64, entry int64) {
		author, _ := marks.Hand(by)
		checker, checked := marks.Hand(chk)
		switch {
		case spoke[key], author.Worker == worker && (!checked || checker.Worker == worker):
			*list = append(*list, entry)
		case checked && checker.Worker == worker:
			x.checked[key] = chk
		}
	}
	first, last := w.Cells()
	for i := l.NextDone(first); i < last; i = l.NextDone(i + 1) {
		by, chk := marks.Cell(i)
		judge(i, by, chk, &x.cells, i)
	}
	for _, n := range w.Set.Points {
		if l.PointDone(n) {
			by, chk := marks.Point(n)
			judge(-n, by, chk, &x.points, n)
		}
	}
	return x, nil
}

// unmark takes back confirmations of cells, by index, and points, by −n.
func (s *Store) unmark(ctx context.Context, id jobs.RunID, sweep string, checked map[int64]uint16) error {
	k := keysOf(id)
	byChunk := map[int64][]any{}
	var points []any
	for key, hand := range checked {
		if key < 0 {
			points = append(points, -key, hand)
			continue
		}
		byChunk[key/ChunkCells] = append(byChunk[key/ChunkCells], key%ChunkCells, hand)
	}
	call := func(chunk int64, args ...any) error {
		_, err := s.run(ctx, scriptUnmark, id, []string{k.manifest(), k.chk(sweep, chunk), k.pointCRCs(sweep)}, args...)
		return err
	}
	for chunk, args := range byChunk {
		for len(args) > 0 {
			some := args[:min(len(args), 2*reopenBatch)]
			args = args[len(some):]
			if err := call(chunk, append([]any{len(some) / 2}, some...)...); err != nil {
				return err
			}
		}
	}
	for len(points) > 0 {
		some := points[:min(len(points), 2*reopenBatch)]
		points = points[len(some):]
		if err := call(0, append([]any{0}, some...)...); err != nil {
			return err
		}
	}
	return nil
}
