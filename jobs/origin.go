package jobs

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Origin says who computed what a task has committed, when and how. The store
// keeps the newest one of each task.
type Origin struct {
	// Worker is the worker as it introduced itself. The store keeps one
	// description of each and refers to it by [Worker.Short].
	Worker Worker
	// Seq counts the tasks of this worker for the sweep from 0. With the worker
	// it names the task's note, so that a repeated commit changes nothing.
	Seq int64
	// Lo and Hi are the range of n that the task has committed so far. When
	// Points is not 0, it is that many single points of which Lo is the first
	// and Hi − 1 the last.
	Lo, Hi, Points int64
	// Attempt is the task's.
	Attempt int
	// Second says that the task confirmed what was stored before.
	Second bool
	// Algorithm is the one that the engine has used, never empty.
	Algorithm string
	// Began is when the worker began to compute, by its own clock. Only the time
	// that has passed since is used.
	Began time.Time
	// Took is the time from the beginning until the last value was there, in
	// whole milliseconds.
	Took time.Duration
	// StartedMs is the beginning by the store's clock in Unix milliseconds. The
	// store fills it in.
	StartedMs int64
}

// Check reports what is impossible about an origin.
func (o Origin) Check() error {
	switch {
	case o.Worker.ID == "":
		return fmt.Errorf("origin without a worker")
	case o.Seq < 0 || o.Lo < 1 || o.Hi <= o.Lo || o.Points < 0 || o.Points > o.Hi-o.Lo || o.Attempt < 0 || o.Took < 0:
		return fmt.Errorf("origin number %d of %d points in %d…%d, attempt %d, took %s", o.Seq, o.Points, o.Lo, o.Hi-1, o.Attempt, o.Took)
	case !NamePattern.MatchString(o.Algorithm):
		return fmt.Errorf("origin with algorithm %q", o.Algorithm)
	}
	return nil
}

// Count returns the number of n.
func (o Origin) Count() int64 {
	if o.Points > 0 {
		return o.Points
	}
	return o.Hi - o.Lo
}

// N writes the n for people: "1…1000", "3 points 10…1000".
func (o Origin) N() string {
	switch {
	case o.Hi-o.Lo == 1:
		return fmt.Sprint(o.Lo)
	case o.Points > 0:
		return fmt.Sprintf("%d points %d…%d", o.Points, o.Lo, o.Hi-1)
	}
	return fmt.Sprintf("%d…%d", o.Lo, o.Hi-1)
}

// Among reports whether the worker is one of those, by its ID or by its short
// name.
func (w Worker) Among(ids []string) bool {
	return slices.Contains(ids, w.ID) || slices.Contains(ids, w.Short())
}

var shortPattern = regexp.MustCompile(`^[a-z0-9]{4,16}$`)

// Short returns a name of at most 16 letters and digits for the worker: the
// last part of its ID, behind a colon, when that is one, else a hash. IDs are
// drawn so that the last part is random.
func (w Worker) Short() string {
	last := w.ID[strings.LastIndexByte(w.ID, ':')+1:]
	if shortPattern.MatchString(last) {
		return last
	}
	h := fnv.New64a()
	h.Write([]byte(w.ID))
	return fmt.Sprintf("%016x", h.Sum64())
}
