package embedredis

import (
	"fmt"
	"runtime/debug"
)

// DamagedError says that the data file cannot be read. Nothing was changed.
type DamagedError struct {
	Path string
	Why  string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("data file %s is damaged (%s): move it away to begin anew, or put a copy in its place", e.Path, e.Why)
}

// guarded calls f, which reads a file that may be damaged. bbolt panics where a
// page is not what it should be, and the memory it maps faults where the file
// ends too early; both become an error here, since the file is an input like
// any other.
func guarded(path string, f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = &DamagedError{Path: path, Why: fmt.Sprint(p)}
		}
	}()
	return f()
}
