package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/nsweep/nsweep/jobs"
)

// Update gives a run new sweeps within its epoch: a longer or shorter range,
// other sums or checkpoints. m.Rev is the revision that the caller read; the
// new one is one more. The run is running afterwards and has no result.
//
// Finished cells stay finished, with two exceptions. A cell that the old plan
// or the new one clips, with different ends, is opened again. Under
// jobs.KeepSums a cell is opened when its record lacks a sum or a checkpoint
// that the new plan asks for: one cell for each new checkpoint, all of them
// for a new power.
//
// Errors: jobs.ErrChanged when the revision is another one, jobs.ErrFenced when
// the run is gone, another when a sweep is not computed as before; nothing is
// changed then.
func (s *Store) Update(ctx context.Context, m jobs.Manifest) (jobs.Run, error) {
	fail := func(err error) (jobs.Run, error) { return jobs.Run{}, fmt.Errorf("change run %s: %w", m.ID.Name, err) }
	k := keysOf(m.ID)
	fields, err := s.client.HMGet(ctx, k.manifest(), manifestFields...).Result()
	if err != nil {
		return fail(err)
	}
	old, ok, err := decodeRun(m.ID, fields)
	if err != nil {
		return fail(err)
	}
	if !ok {
		return fail(jobs.ErrFenced)
	}
	rev := m.Rev
	m.Format, m.Rev, m.Number, m.CreatedMs = jobs.ManifestFormat, rev+1, old.Number, old.CreatedMs
	text, err := encodeManifest(m)
	if err != nil {
		return fail(err)
	}
	args := []any{rev, m.Rev, text, k.prefix, len(m.Sweeps)}
	for _, w := range m.Sweeps {
		before, err := s.client.HMGet(ctx, k.manifest(), "chunks:"+w.Name, "identity:"+w.Name).Result()
		if err != nil {
			return fail(err)
		}
		chunks, _ := before[0].(string)
		known := before[1] != nil
		all, open := reopened(old.Manifest, w, known)
		args = append(args, w.Name, identityOf(w), planOf(w), chunksOf(w, chunks))
		if all {
			args = append(args, "all")
		} else {
			args = append(args, "")
		}
		args = append(args, len(open))
		for _, i := range open {
			args = append(args, address(i))
		}
		clips := clippedOf(w)
		args = append(args, len(clips))
		for _, c := range clips {
			args = append(args, address(c.index), c.extent())
		}
	}
	r, err := s.run(ctx, scriptUpdate, m.ID, []string{k.manifest(), k.quarantine()}, args...)
	if err != nil {
		return fail(err)
	}
	if r.word == "identity" {
		return fail(fmt.Errorf("sweep %s was stored as %s", r.text(0), r.text(1)))
	}
	if err := s.recount(ctx, m); err != nil {
		return fail(err)
	}
	return jobs.Run{Manifest: m, State: jobs.Running}, nil
}

// reopened says which finished cells of a sweep under jobs.KeepSums lack what
// the new plan asks for. known tells that the sweep was in the epoch before;
// one that was there but is not in the old plan has records of unknown form.
func reopened(old jobs.Manifest, w jobs.Sweep, known bool) (all bool, cells []int64) {
	if w.Keep != jobs.KeepSums || !known {
		return false, nil
	}
	was, ok := old.Sweep(w.Name)
	if !ok {
		return true, nil
	}
	had := was.Powers()
	for _, p := range w.Powers() {
		if !slices.Contains(had, p) {
			return true, nil
		}
	}
	checks := was.CheckNs()
	for _, n := range w.CheckNs() {
		if !slices.Contains(checks, n) {
			cells = append(cells, w.Grid.CellAt(n).Index)
		}
	}
	return false, slices.Compact(cells)
}

// recount sets the counters from the ledger and the disputes. They are for
// display: a commit between reading and writing is missed in them, and only in
// them.
func (s *Store) recount(ctx context.Context, m jobs.Manifest) error {
	var fields []any
	for _, w := range m.Sweeps {
		l, err := s.Ledger(ctx, m.ID, w)
		if err != nil {
			return err
		}
		cells, values := l.DonePoints(), l.DonePoints()
		first, last := w.Cells()
		for i := l.NextDone(first); i < last; i = l.NextDone(i + 1) {
			c, _ := w.Cell(i)
			cells++
			values += c.Len()
		}
		disputes, err := s.Disputes(ctx, m.ID, w)
		if err != nil {
			return err
		}
		m, err := s.Marks(ctx, m.ID, w)
		if err != nil {
			return err
		}
		confirmed, sure := int64(0), m.Confirmed()
		for i := l.NextDone(first); i < last; i = l.NextDone(i + 1) {
			if sure.Done(i) {
				confirmed++
			}
		}
		for _, n := range w.Set.Points {
			if l.PointDone(n) && sure.PointDone(n) {
				confirmed++
			}
		}
		fields = append(fields, w.Name+":confirmed", confirmed, w.Name+":cells", cells, w.Name+":values", values, w.Name+":disputed", len(disputes))
	}
	return s.note(ctx, m.ID, keysOf(m.ID).counts(), fields...)
}
