package jobs

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// answer is an error as the Redis client makes it of a server's reply.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestIsLasting(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{io.EOF, false},
		{errors.New("WRONGTYPE said by nobody"), false},
		{answer("WRONGTYPE Operation against a key holding the wrong kind of value"), true},
		{answer("ERR wrong number of arguments for 'get' command"), true},
		{answer("ERR user_script:1: Script attempted to access nonexistent global variable 'x'"), true},
		{answer("OOM command not allowed when used memory > 'maxmemory'."), false},
		{answer("ERR Error running script: @user_script:3: OOM command not allowed when used memory > 'maxmemory'."), false},
		{answer("ERR max number of clients reached"), false},
		{answer("MISCONF Errors writing to the AOF file: No space left on device"), false},
		{answer("LOADING Redis is loading the dataset in memory"), false},
		{answer("READONLY You can't write against a read only replica."), false},
		{answer("MASTERDOWN Link with MASTER is down"), false},
		{answer("BUSY Redis is busy running a script."), false},
		{answer("NOAUTH Authentication required."), false},
		{answer("redis: nil"), false},
		{Lasting(io.EOF), true},
		{ErrFenced, false},
	} {
		if got := IsLasting(c.err); got != c.want {
			t.Errorf("IsLasting(%v) is %t", c.err, got)
		}
		if c.err == nil {
			continue
		}
		if got := IsLasting(fmt.Errorf("commit: %w", c.err)); got != c.want {
			t.Errorf("IsLasting(wrapped %v) is %t", c.err, got)
		}
	}
	if Lasting(nil) != nil {
		t.Error("nil became an error")
	}
	if err := Lasting(io.EOF); !errors.Is(err, io.EOF) || err.Error() != io.EOF.Error() {
		t.Errorf("the marked error is %v", err)
	}
}
