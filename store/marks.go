package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/nsweep/nsweep/jobs"
)

// Marks returns who stored each cell and point of a sweep and who confirmed it.
// Read the ledger before: a cell that is opened again in between keeps its marks
// until it is stored anew. It costs one round trip for each million cells and
// 4 bytes a cell.
func (s *Store) Marks(ctx context.Context, id jobs.RunID, w jobs.Sweep) (*jobs.Marks, error) {
	m, err := s.marks(ctx, id, w)
	if err != nil {
		return nil, fmt.Errorf("read who computed %s of run %s: %w", w.Name, id.Name, err)
	}
	return m, nil
}

func (s *Store) marks(ctx context.Context, id jobs.RunID, w jobs.Sweep) (*jobs.Marks, error) {
	k := keysOf(id)
	first, last := w.Cells()
	by, err := s.readHands(ctx, first, last, func(chunk int64) string { return k.by(w.Name, chunk) })
	if err != nil {
		return nil, err
	}
	chk, err := s.readHands(ctx, first, last, func(chunk int64) string { return k.chk(w.Name, chunk) })
	if err != nil {
		return nil, err
	}
	points, err := s.readPointMarks(ctx, k.pointCRCs(w.Name), w.Set.Points)
	if err != nil {
		return nil, err
	}
	// Asked last, so that every number that was read has its name.
	hands, err := s.readNames(ctx, k.hands())
	if err != nil {
		return nil, err
	}
	m := jobs.NewMarks(first, last, hands)
	for i := range by {
		m.Set(first+int64(i), by[i], chk[i])
	}
	for n, p := range points {
		m.SetPoint(n, p[0], p[1])
	}
	return m, nil
}

// readHands reads the numbers of the cells [first, last), 0 where there is none.
func (s *Store) readHands(ctx context.Context, first, last int64, key func(chunk int64) string) ([]uint16, error) {
	const batch = 256
	out := make([]uint16, last-first)
	for from := first; from < last; {
		lo := from / ChunkCells
		hi := min(lo+batch, (last-1)/ChunkCells+1)
		pipe := s.client.Pipeline()
		cmds := make([]*redis.StringCmd, hi-lo)
		for i := range cmds {
			cmds[i] = pipe.Get(ctx, key(lo+int64(i)))
		}
		_, _ = pipe.Exec(ctx) // each command's own error tells
		for i, cmd := range cmds {
			text, err := cmd.Bytes()
			if errors.Is(err, redis.Nil) {
				continue
			}
			chunk := lo + int64(i)
			if err != nil {
				return nil, fmt.Errorf("key %s: %w", key(chunk), err)
			}
			if len(text)%2 != 0 || len(text) > 2*ChunkCells {
				return nil, jobs.Lasting(fmt.Errorf("key %s holds %d bytes, want 2 for each of at most %d cells", key(chunk), len(text), ChunkCells))
			}
			for c := max(first, chunk*ChunkCells); c < min(last, chunk*ChunkCells+int64(len(text))/2); c++ {
				out[c-first] = binary.BigEndian.Uint16(text[2*(c%ChunkCells):])
			}
		}
		from = hi * ChunkCells
	}
	return out, nil
}

// readPointMarks reads what stands behind the CRCs of points.
func (s *Store) readPointMarks(ctx context.Context, key string, ns []int64) (map[int64][2]uint16, error) {
	out := map[int64][2]uint16{}
	for len(ns) > 0 {
		some := ns[:min(len(ns), 10*pipelined)]
		ns = ns[len(some):]
		fields := make([]string, len(some))
		for i, n := range some {
			fields[i] = strconv.FormatInt(n, 10)
		}
		texts, err := s.client.HMGet(ctx, key, fields...).Result()
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", key, err)
		}
		for i, v := range texts {
			text, _ := v.(string)
			words := strings.Fields(text)
			var p [2]uint16
			for j, word := range words[min(len(words), 1):min(len(words), 3)] {
				v, err := strconv.ParseUint(word, 10, 16)
				if err != nil {
					return nil, jobs.Lasting(fmt.Errorf("key %s, n = %d: %q names nobody", key, some[i], text))
				}
				p[j] = uint16(v)
			}
			if p != [2]uint16{} {
				out[some[i]] = p
			}
		}
	}
	return out, nil
}

// readNames returns the hands in the order of their numbers.
func (s *Store) readNames(ctx context.Context, key string) ([]jobs.Hand, error) {
	all, err := s.client.HGetAll(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", key, err)
	}
	hands := make([]jobs.Hand, len(all))
	for field, text := range all {
		id, algorithm, ok := quotedWord(field)
		number, err := strconv.Atoi(text)
		if !ok || err != nil || number < 1 || number > len(all) {
			return nil, jobs.Lasting(fmt.Errorf("key %s: field %q holds %q", key, field, text))
		}
		hands[number-1] = jobs.Hand{Worker: id, Algorithm: algorithm}
	}
	return hands, nil
}

// quotedWord splits a quoted ID from what follows it after a space.
func quotedWord(text string) (id, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(text)
	if err != nil {
		return "", "", false
	}
	id, err = strconv.Unquote(quoted)
	return id, strings.TrimPrefix(text[len(quoted):], " "), err == nil
}
