// Package leaks ends a package's tests with an error when goroutines are left.
//
// Package leaks imports nothing else of this module.
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end once the tests are done. They
// need an instant of processor time, for which a machine with other work may let
// them wait.
const patience = time.Minute

// Main runs the tests and ends the process, with an error when they failed or
// left goroutines behind. A package's TestMain calls it.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := settle(patience); err != nil {
			fmt.Fprintln(os.Stderr, "the tests passed and left goroutines behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// settle waits until no goroutine is left, for at most d or a little longer, and
// returns which are.
func settle(d time.Duration) error {
	for end := time.Now().Add(d); ; {
		// It looks several times itself, within half a second.
		err := goleak.Find()
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
