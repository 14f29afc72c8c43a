package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// limits are how a computing process spares the machine it runs on, and when
// it stops by itself.
type limits struct {
	curfew
	nice      int
	memory    string
	drain     time.Duration
	niceGiven func() bool
}

// register adds the flags of run and worker.
func (l *limits) register(c *cobra.Command) {
	l.curfew.register(c)
	f := c.Flags()
	f.IntVar(&l.nice, "nice", 0, "scheduling `priority` of this process, -20 (first) to 19 (last)")
	f.StringVar(&l.memory, "max-memory", "", "keep within a `size` such as 2GiB, and stop in good order when that fails")
	f.DurationVar(&l.drain, "drain-timeout", 30*time.Second, "`time` such as 30s that running tasks may take to end after the signal to stop")
	l.niceGiven = func() bool { return f.Changed("nice") }
}

// minMemory is the least that --max-memory takes: the process itself needs
// some tens of MiB.
const minMemory = 64 << 20

// parsed is what the flags say.
type parsed struct {
	end    time.Time // zero for never
	flag   string    // that gave end
	memory int64     // bytes, 0 for no limit
}

// check reads the flags; its errors are usage errors. It touches nothing.
func (l *limits) check(now time.Time) (parsed, error) {
	var p parsed
	var err error
	if p.end, p.flag, err = l.end(now); err != nil {
		return p, err
	}
	if l.nice < -20 || l.nice > 19 {
		return p, usagef("--nice %d: want -20 to 19", l.nice)
	}
	if l.drain <= 0 {
		return p, usagef("--drain-timeout %s: want a time such as 30s", l.drain)
	}
	if l.memory != "" {
		n, err := parseSize(l.memory)
		if err != nil {
			return p, usagef("--max-memory %s: %v", l.memory, err)
		}
		if n < minMemory {
			return p, usagef("--max-memory %s: want at least %s", l.memory, bytesText(minMemory))
		}
		p.memory = n
	}
	return p, nil
}

// apply puts the limits into force. The context it returns ends with ctx, when
// the time is up, or when the memory stays above its limit; why tells. stop
// ends the watching and waits for it.
func (l *limits) apply(ctx context.Context, p parsed) (_ context.Context, stop func(), err error) {
	if l.niceGiven() {
		if err := setNice(l.nice); err != nil {
			return ctx, nil, fmt.Errorf("--nice %d: %w", l.nice, err)
		}
	}
	ctx, stopTime := watch(ctx, p.end, p.flag)
	if p.memory == 0 {
		return ctx, stopTime, nil
	}
	debug.SetMemoryLimit(p.memory)
	ctx, stopMemory := guardMemory(ctx, p.memory, time.Second/time.Duration(speedup()), residentMemory)
	return ctx, func() { stopMemory(); stopTime() }, nil
}

// errTooFat is the cause of a context that ended because the process holds
// more memory than it may.
type errTooFat struct{ have, limit int64 }

func (e errTooFat) Error() string {
	return fmt.Sprintf("memory stayed above --max-memory: %s of %s", bytesText(e.have), bytesText(e.limit))
}

// patience is for how many looks in a row the memory may be above its limit:
// the collector, which the limit makes work harder, needs a moment.
const patience = 10

// guardMemory returns a context that ends with cause errTooFat when resident
// has been above the limit for patience looks in a row. After half of them it
// has the collector give back all it can.
func guardMemory(ctx context.Context, limit int64, every time.Duration, resident func() (int64, error)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		over := 0
		for {
			wait(ctx, every)
			if ctx.Err() != nil {
				return
			}
			have, err := resident()
			if err != nil || have <= limit {
				over = 0
				continue
			}
			switch over++; over {
			case patience / 2:
				debug.FreeOSMemory()
			case patience:
				cancel(errTooFat{have, limit})
				return
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

var errSize = errors.New("want a size such as 512MiB, 2GiB or 1.5GB")

// units of sizes. A bare letter counts as systemd and Docker count it, in
// powers of 1024.
var units = map[string]int64{
	"B": 1, "": 1,
	"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
	"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
	"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}

// parseSize reads a number of bytes with an optional unit, rounding down to
// whole bytes.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "BKMGTibkmgtI ")
	unit, ok := units[strings.ToUpper(strings.TrimSpace(text[len(digits):]))]
	if !ok || digits == "" || strings.Trim(digits, "0123456789.") != "" || len(digits) > 20 {
		return 0, errSize
	}
	v, ok := new(big.Rat).SetString(digits)
	if !ok {
		return 0, errSize
	}
	v.Mul(v, new(big.Rat).SetInt64(unit))
	n := new(big.Int).Quo(v.Num(), v.Denom())
	if !n.IsInt64() || n.Int64() > math.MaxInt64/2 {
		return 0, errSize
	}
	return n.Int64(), nil
}
