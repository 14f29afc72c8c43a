package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is one thing that is wrong with an experiment. Its text is one line:
//
//	FILE:LINE: KEY: what is wrong; what would be right
//
// A key that stands in "--set PATH" already is not said again.
type Error struct {
	// File is the experiment's file as the user named it, or where else the
	// value came from: a variable (NSWEEP_REDIS_URL), a flag (--redis) or
	// "--set PATH".
	File string
	// Line counts from 1; 0 means that there is no line.
	Line int
	// Key is the path of the value, such as sweeps.hopping.n.to, or empty when
	// the file as a whole is meant.
	Key string
	// Problem says what is wrong, Want what would be right. Want may be empty.
	Problem, Want string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			b.WriteByte(':')
			b.WriteString(strconv.Itoa(e.Line))
		}
		b.WriteString(": ")
	}
	if e.Key != "" && e.File != "--set "+e.Key {
		b.WriteString(e.Key)
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	if e.Want != "" {
		b.WriteString("; ")
		b.WriteString(e.Want)
	}
	return b.String()
}

// maxErrors is how many problems one error names; the rest is counted.
const maxErrors = 50

// problems collects what is wrong with one experiment.
type problems struct {
	list []*Error
}

func (p *problems) add(at origin, key, problem, want string) {
	p.list = append(p.list, &Error{File: at.file, Line: at.line, Key: key, Problem: problem, Want: want})
}

// err returns all problems, each once, those without a line first and the
// others by line; nil when there are none.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	var errs []error
	seen := make(map[Error]bool, len(p.list))
	more := 0
	for _, e := range p.list {
		switch {
		case seen[*e]:
		case len(errs) < maxErrors:
			errs = append(errs, e)
		default:
			more++
		}
		seen[*e] = true
	}
	if more > 0 {
		errs = append(errs, &Error{File: p.list[len(p.list)-1].File, Problem: fmt.Sprintf("and %d more problems", more)})
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// quote returns s as it may stand in an error: as written when it is plain,
// quoted otherwise, and cut when it is long.
func quote(s string) string {
	const limit = 60
	if len(s) > limit {
		cut := limit
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == utf8.RuneError || !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// label returns the name of a file as it may stand in an error: whole, and
// quoted only where it would break the line.
func label(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r == utf8.RuneError || !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
