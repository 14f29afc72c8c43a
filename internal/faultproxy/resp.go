package faultproxy

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxBulk bounds one argument or reply, far above what a test sends.
const maxBulk = 16 << 20

// Command is a command with its arguments.
type Command []string

// Name returns the command in upper case.
func (c Command) Name() string {
	if len(c) == 0 {
		return ""
	}
	return strings.ToUpper(c[0])
}

// Keys returns the keys of a script call and the first argument of any other
// command.
func (c Command) Keys() []string {
	switch c.Name() {
	case "EVAL", "EVALSHA":
		if len(c) < 3 {
			return nil
		}
		n, err := strconv.Atoi(c[2])
		if err != nil || n < 0 || n > len(c)-3 {
			return nil
		}
		return c[3 : 3+n]
	}
	return c[min(1, len(c)):min(2, len(c))]
}

// readCommand reads one command, an array of bulk strings or a line of words,
// and returns it with the bytes it came in.
func readCommand(r *bufio.Reader) (Command, []byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, nil, err
	}
	raw := line
	if line[0] != '*' {
		return strings.Fields(string(line)), raw, nil
	}
	n, err := length(line)
	if err != nil {
		return nil, nil, err
	}
	cmd := make(Command, 0, min(max(n, 0), 1024))
	for range n {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil, nil, err
		}
		raw = append(raw, line...)
		if line[0] != '$' {
			return nil, nil, fmt.Errorf("argument begins with %q", line[0])
		}
		size, err := length(line)
		if err != nil || size < 0 {
			return nil, nil, fmt.Errorf("argument of length %q", line)
		}
		at := len(raw)
		raw = append(raw, make([]byte, size+2)...)
		if _, err := io.ReadFull(r, raw[at:]); err != nil {
			return nil, nil, err
		}
		cmd = append(cmd, string(raw[at:at+size]))
	}
	return cmd, raw, nil
}

// readReply reads one reply, with all that is nested in it, and returns its
// bytes.
func readReply(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	raw := line
	switch line[0] {
	case '+', '-', ':':
		return raw, nil
	case '$':
		size, err := length(line)
		if err != nil {
			return nil, err
		}
		if size < 0 {
			return raw, nil
		}
		at := len(raw)
		raw = append(raw, make([]byte, size+2)...)
		_, err = io.ReadFull(r, raw[at:])
		return raw, err
	case '*':
		n, err := length(line)
		if err != nil {
			return nil, err
		}
		for range n {
			part, err := readReply(r)
			if err != nil {
				return nil, err
			}
			raw = append(raw, part...)
		}
		return raw, nil
	}
	return nil, fmt.Errorf("reply begins with %q", line[0])
}

// length reads the number after the first byte of a line; −1 stands for
// nothing.
func length(line []byte) (int, error) {
	n, err := strconv.Atoi(strings.TrimRight(string(line[1:]), "\r\n"))
	if err != nil || n < -1 || n > maxBulk {
		return 0, fmt.Errorf("length %q", line)
	}
	return n, nil
}
