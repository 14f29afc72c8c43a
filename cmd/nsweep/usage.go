package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageErrors has a command say what is wrong with its arguments and flags, and
// what would be right, in one line and with its exit code.
func usageErrors(c *cobra.Command) {
	c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s: %s (see %s --help)", cmd.Name(), flagError(err), cmd.CommandPath())
	})
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		var coded *codedError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &coded):
			return err
		case !cmd.HasParent() && len(args) > 0:
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return usagef("there is no command %s; did you mean %s?", args[0], strings.Join(near, " or "))
			}
			return usagef("there is no command %s (see nsweep --help)", args[0])
		}
		given := "1 argument"
		if n := len(args); n != 1 {
			given = fmt.Sprintf("%d arguments", n)
		}
		_, names, _ := strings.Cut(cmd.Use, " ")
		return usagef("%s: %s given; want %s (see %s --help)", cmd.Name(), given, strings.TrimSpace(cmd.CommandPath()+" "+names), cmd.CommandPath())
	}
}

// flagError says what is wrong with a flag.
func flagError(err error) string {
	var value *pflag.InvalidValueError
	var lacks *pflag.ValueRequiredError
	switch {
	case errors.As(err, &lacks):
		return fmt.Sprintf("--%s: a value is missing", lacks.GetFlag().Name)
	case !errors.As(err, &value):
		return err.Error()
	}
	want := "another value"
	switch value.GetFlag().Value.Type() {
	case "int":
		want = "a whole number"
	case "uint64":
		want = "a whole number from 0 on"
	case "duration":
		want = "a time such as 30s"
	case "bool":
		want = "true or false"
	}
	return fmt.Sprintf("--%s %s: want %s", value.GetFlag().Name, value.GetValue(), want)
}

// exclusive refuses two flags together, as bad usage.
func exclusive(c *cobra.Command, one, other string) {
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
			return usagef("--%s and --%s exclude each other", one, other)
		}
		return run(cmd, args)
	}
}

// needs refuses a flag that means nothing without another, as bad usage.
func needs(c *cobra.Command, one, other string) {
	run := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed(one) && !cmd.Flags().Changed(other) {
			return usagef("--%s is for --%s, which is not given", one, other)
		}
		return run(cmd, args)
	}
}
