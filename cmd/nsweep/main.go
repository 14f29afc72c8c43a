// Command nsweep evaluates a function of n over large ranges on many machines,
// resumably, with proof that nothing was lost or counted twice.
//
// This is the only package that knows all the others: it reads the experiment,
// opens the store, and wires scheduler, workers, aggregator and reports.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signals()
	code := execute(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// signals returns a context that ends with the first SIGINT, SIGTERM or SIGHUP
// (the terminal was closed), which asks for an orderly stop. A second one ends
// the process at once: everything that was committed is safe.
func signals() (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ch := make(chan os.Signal, 2)
	stops := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup stays what it is
		stops = append(stops, syscall.SIGHUP)
	}
	signal.Notify(ch, stops...)
	go func() {
		if _, ok := <-ch; !ok {
			return
		}
		cancel()
		if _, ok := <-ch; ok {
			fmt.Fprintln(os.Stderr, "nsweep: stopped at once; what was committed is kept")
			os.Exit(codeStopped)
		}
	}()
	return ctx, func() { signal.Stop(ch); close(ch); cancel() }
}
