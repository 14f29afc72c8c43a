package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/nsweep/nsweep/aggregator"
	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/store"
	"github.com/nsweep/nsweep/worker"
)

// The exit codes. The table in docs/ARCHITECTURE.md is tested against them.
const (
	codeDone        = 0 // done and checked
	codeFailed      = 1 // something went wrong
	codeUsage       = 2 // bad usage or experiment; nothing was stored
	codeMismatch    = 3 // a checkpoint, verification or comparison does not hold
	codeStopped     = 4 // stopped before completion, resumable
	codeUnreachable = 5 // Redis out of reach or unfit
)

// codedError carries an exit code. With quiet set the message was shown already.
type codedError struct {
	code  int
	err   error
	quiet bool
}

func (e *codedError) Error() string { return e.err.Error() }
func (e *codedError) Unwrap() error { return e.err }

// usagef returns an error of bad usage.
func usagef(format string, args ...any) error {
	return &codedError{code: codeUsage, err: fmt.Errorf(format, args...)}
}

// coded returns err with an exit code.
func coded(code int, err error) error { return &codedError{code: code, err: err} }

// exitCode maps an error to the table.
func exitCode(err error) int {
	var c *codedError
	var conf *config.Error
	var miss *aggregator.MismatchError
	var rot *aggregator.CorruptError
	var down *store.UnreachableError
	var unfit *store.UnfitError
	switch {
	case err == nil:
		return codeDone
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &conf):
		return codeUsage
	case errors.As(err, &miss), errors.As(err, &rot):
		return codeMismatch
	case errors.As(err, &down), errors.As(err, &unfit), errors.Is(err, worker.ErrSkew):
		return codeUnreachable
	case errors.Is(err, context.Canceled):
		return codeStopped
	}
	return codeFailed
}

// inOrder is the end of a command that goes on until it is stopped. One that is
// told so while it is still getting ready leaves in good order as well.
func inOrder(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// cutShort is the end of a command that has an end of its own: one that was
// stopped on the way says by what, also where the store seems to be to blame.
func cutShort(ctx context.Context, err error) error {
	var c *codedError
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) || errors.As(err, &c) {
		return err
	}
	by := why(ctx)
	if by == "" {
		by = " by a signal"
	}
	return coded(codeStopped, fmt.Errorf("stopped%s before the end", by))
}

// showError prints an error, one line each.
func showError(w io.Writer, err error) {
	var c *codedError
	if err == nil || (errors.As(err, &c) && c.quiet) {
		return
	}
	text := err.Error()
	if c == nil && exitCode(err) == codeStopped {
		// What was under way when the signal came is of no use to anybody.
		text = "stopped by a signal before the end"
	}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintf(w, "nsweep: %s\n", line)
	}
}
