package jobs

import (
	"errors"
	"strings"
)

// DamagedRun is a run that is in the store and cannot be read.
type DamagedRun struct {
	ID  RunID
	Err error
}

// Error says it in one line.
func (d DamagedRun) Error() string { return "run " + d.ID.Name + " cannot be read: " + d.Err.Error() }

// DamagedError names runs that cannot be read. A call that lists runs returns it
// beside the others. It lasts: somebody has to mend or delete these runs.
type DamagedError struct{ Runs []DamagedRun }

func (e *DamagedError) Error() string {
	texts := make([]string, len(e.Runs))
	for i, d := range e.Runs {
		texts[i] = d.Error()
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the reasons, marked as lasting.
func (e *DamagedError) Unwrap() []error {
	errs := make([]error, len(e.Runs))
	for i, d := range e.Runs {
		errs[i] = Lasting(d.Err)
	}
	return errs
}

// Damaged takes a [DamagedError] out of an error: it returns the runs, and nil,
// or no runs and the error itself when it is another one.
func Damaged(err error) ([]DamagedRun, error) {
	var d *DamagedError
	if errors.As(err, &d) {
		return d.Runs, nil
	}
	return nil, err
}
