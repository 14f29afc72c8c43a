package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// setNice sets the scheduling priority of the whole process. On Linux each
// thread has its own, and a new one takes that of the thread that made it, so
// all are set until none is found that still has another.
func setNice(n int) error {
	for {
		changed := false
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			// The system call answers 20 − nice.
			have, err := syscall.Getpriority(syscall.PRIO_PROCESS, tid)
			if err == nil && have == 20-n {
				continue
			}
			err = syscall.Setpriority(syscall.PRIO_PROCESS, tid, n)
			switch {
			case errors.Is(err, syscall.ESRCH): // the thread has ended
			case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
				return errors.New("this user may not raise the priority")
			case err != nil:
				return err
			default:
				changed = true
			}
		}
		if !changed {
			return nil
		}
	}
}

// residentMemory returns the memory of this process that is in RAM, in bytes.
func residentMemory() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	f := bytes.Fields(text)
	if len(f) < 2 {
		return 0, fmt.Errorf("/proc/self/statm says %q", text)
	}
	pages, err := strconv.ParseInt(string(f[1]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// cpuModel names the processor.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	// "Model" is what single-board computers have.
	for _, name := range []string{"model name", "Model", "cpu model", "Processor"} {
		for line := range bytes.Lines(text) {
			key, value, ok := bytes.Cut(line, []byte(":"))
			if ok && string(bytes.TrimSpace(key)) == name {
				return string(bytes.TrimSpace(value))
			}
		}
	}
	return ""
}

// freeSpace returns the bytes that this user may still write in the folder.
func freeSpace(dir string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * s.Bsize, nil
}
