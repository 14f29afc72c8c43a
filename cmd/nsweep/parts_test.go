package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDeadHere: only a process of this very machine and container that is gone
// is dead. Others may have the same host name and numbers.
func TestDeadHere(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	table := processTable()
	if table == "" {
		t.Skip("this system does not name its process tables")
	}
	id := func(pid int, table string) string { return fmt.Sprintf("host:%d:%s00000000", pid, table) }
	for worker, want := range map[string]bool{
		id(gone.Process.Pid, table):      true,
		id(gone.Process.Pid, "deadbeef"): false,
		id(gone.Process.Pid, ""):         false,
		id(os.Getpid(), table):           false,
		self(1).ID:                       false,
		id(0, table):                     false,
		id(-1, table):                    false,
		"":                               false,
		"host":                           false,
		"host:x:" + table:                false,
	} {
		if got := deadHere(worker); got != want {
			t.Errorf("deadHere(%q) is %t", worker, got)
		}
	}
	if me := self(2); strings.Count(me.ID, ":") != 2 || me.ID == self(2).ID {
		t.Errorf("worker ID %q, then %q", me.ID, self(2).ID)
	}
}
