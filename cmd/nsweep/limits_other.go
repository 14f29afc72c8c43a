//go:build !linux

package main

import (
	"errors"
	"runtime/metrics"
	"syscall"
)

// setNice sets the scheduling priority of the process.
func setNice(n int) error {
	err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, n)
	if errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM) {
		return errors.New("this user may not raise the priority")
	}
	return err
}

// residentMemory returns what the Go runtime holds of the system's memory, the
// nearest thing to the memory in RAM that can be had everywhere.
func residentMemory() (int64, error) {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64()), nil
}

// cpuModel names the processor, where the system tells.
func cpuModel() string {
	name, err := syscall.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return name
}

// freeSpace returns the bytes that can still be written in the folder.
func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
