// Command maxrss runs a command and prints the most memory that it had resident,
// in KiB. A process counts its parent's memory at its birth as its own, so the
// parent must be small, as a test is not.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Printf("%v: %s\n", err, out)
		os.Exit(1)
	}
	fmt.Println(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}
