package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nsweep/nsweep/store"
)

// TestShownErrors: an interrupted command says that it was stopped; an error with
// an exit code of its own keeps its words, also when a cancellation is behind it.
func TestShownErrors(t *testing.T) {
	cancelled := fmt.Errorf("read cell 3: %w", context.Canceled)
	down := &store.UnreachableError{Store: "Redis at h:1", Err: cancelled}
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{cancelled, codeStopped, "nsweep: stopped by a signal before the end\n"},
		{down, codeUnreachable, "nsweep: Redis at h:1 cannot be reached: read cell 3: context canceled\n"},
		{usagef("--n 0: want 1"), codeUsage, "nsweep: --n 0: want 1\n"},
		{errors.New("a\nb"), codeFailed, "nsweep: a\nnsweep: b\n"},
		{&codedError{code: codeStopped, err: cancelled, quiet: true}, codeStopped, ""},
		{nil, codeDone, ""},
	} {
		var out strings.Builder
		showError(&out, c.err)
		if got := exitCode(c.err); got != c.code || out.String() != c.text {
			t.Errorf("%v: exit code %d and %q, want %d and %q", c.err, got, out.String(), c.code, c.text)
		}
	}
}
