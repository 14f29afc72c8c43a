package jobs

import (
	"errors"
	"strings"
)

// LastingError marks an error of the store that trying again cannot mend: data
// that are not what they claim to be, a key that holds something else.
type LastingError struct{ Err error }

func (e *LastingError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *LastingError) Unwrap() error { return e.Err }

// Lasting marks an error as lasting; nil stays nil.
func Lasting(err error) error {
	if err == nil {
		return nil
	}
	return &LastingError{err}
}

// IsLasting reports whether trying again cannot mend err: it is marked as a
// [LastingError], or it is the store's own answer, of WRONGTYPE or a script that
// does not run. Answers that pass with time, such as those of a store that is
// full, loading or a replica, and everything that may be the network's fault
// are not.
func IsLasting(err error) bool {
	var marked *LastingError
	if errors.As(err, &marked) {
		return true
	}
	// How the Redis client marks what the server said.
	var answer interface {
		error
		RedisError()
	}
	if !errors.As(err, &answer) {
		return false
	}
	text := answer.Error()
	switch word, _, _ := strings.Cut(text, " "); word {
	case "WRONGTYPE":
		return true
	case "ERR":
		// Before version 7 an error inside a script is wrapped into ERR.
		for _, passing := range []string{"OOM ", "MISCONF ", "LOADING ", "READONLY ", "MASTERDOWN ", "NOREPLICAS ", "max number of clients"} {
			if strings.Contains(text, passing) {
				return false
			}
		}
		return true
	}
	return false
}
