package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/engine"
)

// computeOptions are the flags of compute.
type computeOptions struct {
	algorithm             string
	params                []string
	json, detail, summary bool
}

func (a *app) computeCmd() *cobra.Command {
	var o computeOptions
	c := &cobra.Command{
		Use:   "compute ENGINE N…",
		Short: "Compute values at once, without a store",
		Long: `Computes values in this process and prints a line "n value" for each. N is a
number (1000000, 1_000_000, 1e6 or 10^6) or a range such as 1..1000.`,
		Example: `  nsweep compute hopping 1..20
  nsweep compute bezout 1e9 10^12
  nsweep compute hopping 905 --detail
  nsweep compute bezout 100000000..100001000 --summary
  nsweep compute hopping 20 --algorithm labels`,
		Args: cobra.MinimumNArgs(2),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return a.reg.Names(), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.compute(cmd.Context(), args[0], args[1:], o) },
	}
	f := c.Flags()
	f.StringVar(&o.algorithm, "algorithm", "", "`name` of the way to compute (default: the engine's choice)")
	f.StringArrayVar(&o.params, "param", nil, "parameter of the engine, `NAME=INTEGER` (may be repeated)")
	f.BoolVar(&o.json, "json", false, "one JSON object a line; numbers above 2^53 as strings")
	f.BoolVar(&o.detail, "detail", false, "facts about the computation of each n")
	f.BoolVar(&o.summary, "summary", false, "only count, first, last, least, greatest and sum")
	exclusive(c, "detail", "summary")
	c.RegisterFlagCompletionFunc("algorithm", func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		eng, err := a.reg.Get(args[0])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return eng.Info().AlgorithmNames(), cobra.ShellCompDirectiveNoFileComp
	})
	return c
}

func (a *app) compute(ctx context.Context, name string, ns []string, o computeOptions) error {
	eng, err := a.reg.Get(name)
	if err != nil {
		return coded(codeUsage, err)
	}
	params, err := parseParams(o.params)
	if err != nil {
		return err
	}
	var works []engine.Work
	for _, s := range ns {
		lo, hi, err := parseRange(s)
		if err != nil {
			return err
		}
		w, err := eng.Resolve(engine.Work{Algorithm: o.algorithm, Params: params, Lo: lo, Hi: hi})
		if err != nil {
			return coded(codeUsage, err)
		}
		works = append(works, w)
	}
	out := bufio.NewWriterSize(a.out, 1<<16)
	p := valuePrinter{out: out, json: o.json}
	sum := summary{total: engine.NewPowerSum(1)}
	for _, w := range works {
		bar := a.newWait(w, !o.summary)
		switch {
		case o.detail:
			err = a.detail(ctx, eng, w, out, o.json, bar.at)
		case o.summary:
			err = eng.Compute(ctx, w, engine.Sink{Emit: sum.add, Progress: bar.at, Warn: a.warn})
		default:
			err = eng.Compute(ctx, w, engine.Sink{Emit: p.print, Progress: bar.at, Warn: a.warn})
		}
		bar.close()
		if err != nil {
			out.Flush()
			return err
		}
	}
	if o.summary {
		sum.print(out, strings.TrimSuffix(eng.Info().Symbol, "(n)"), o.json)
	}
	return out.Flush()
}

func (a *app) warn(msg string) { fmt.Fprintf(a.err, "nsweep: %s\n", msg) }

// parseParams reads NAME=INTEGER.
func parseParams(list []string) (engine.Params, error) {
	p := engine.Params{}
	for _, s := range list {
		name, text, ok := strings.Cut(s, "=")
		if !ok {
			return nil, usagef("--param %s: want NAME=INTEGER", s)
		}
		v, err := config.ParseInt(text)
		if err != nil {
			return nil, usagef("--param %s: %v", s, err)
		}
		if !v.IsInt64() {
			return nil, usagef("--param %s: does not fit 64 bits", s)
		}
		p[name] = v.Int64()
	}
	return p, nil
}

// parseRange reads "n" or "from..to" as [lo, hi).
func parseRange(s string) (lo, hi int64, err error) {
	from, to, ranged := strings.Cut(s, "..")
	if !ranged {
		to = from
	}
	if ranged && (from == "" || to == "") {
		return 0, 0, usagef("%s is open at one end; want both, such as 1..1000", s)
	}
	if lo, err = parseN(from); err != nil {
		return 0, 0, err
	}
	if hi, err = parseN(to); err != nil {
		return 0, 0, err
	}
	if hi < lo {
		return 0, 0, usagef("%s runs backwards; want %s..%s", s, to, from)
	}
	return lo, hi + 1, nil
}

// parseN reads one n, 1 … engine.MaxN.
func parseN(s string) (int64, error) {
	v, err := config.ParseInt(s)
	if err != nil {
		return 0, usagef("%v; want a number such as 1000000, 1e6 or 10^6, or a range such as 1..1000", err)
	}
	if v.Sign() <= 0 || v.Cmp(big.NewInt(engine.MaxN)) > 0 {
		return 0, usagef("n = %s is not within 1…%d", s, engine.MaxN)
	}
	return v.Int64(), nil
}

// valuePrinter prints values as they come.
type valuePrinter struct {
	out  *bufio.Writer
	json bool
	buf  []byte
}

func (p *valuePrinter) print(piece engine.Piece) error {
	p.buf = p.buf[:0]
	if !p.json {
		p.buf = piece.AppendLines(p.buf, ' ')
	} else {
		for i := range piece.Len() {
			p.buf = fmt.Appendf(p.buf, `{"n":%s,"value":%s}`+"\n", jsonInt(engine.Int128From(piece.Lo+int64(i))), jsonInt(piece.At(i)))
		}
	}
	_, err := p.out.Write(p.buf)
	return err
}

// jsonInt writes an integer so that no JSON reader loses a digit: as a number
// up to 2^53, as a string beyond.
func jsonInt(v engine.Int128) string {
	if n, ok := v.Int64(); ok && n <= exactJSON && n >= -exactJSON {
		return v.String()
	}
	return `"` + v.String() + `"`
}

// jsonBig does the same for an integer of any size.
func jsonBig(v *big.Int) string {
	if v.IsInt64() {
		return jsonInt(engine.Int128From(v.Int64()))
	}
	return `"` + v.String() + `"`
}

// exactJSON bounds the integers that every JSON reader keeps: 2^53.
const exactJSON = 1 << 53

// detail prints the facts about every n of the work.
func (a *app) detail(ctx context.Context, eng engine.Engine, w engine.Work, out io.Writer, asJSON bool, progress func(float64)) error {
	d, ok := eng.(engine.Detailer)
	if !ok {
		return usagef("engine %s has no details to show", eng.Info().Name)
	}
	for n := w.Lo; n < w.Hi; n++ {
		one := w
		one.Lo, one.Hi = n, n+1
		v, facts, err := d.Detail(ctx, one, func(f float64) { progress((float64(n-w.Lo) + f) / float64(w.Len())) })
		if err != nil {
			return err
		}
		if asJSON {
			line, err := detailJSON(n, v, facts)
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s\n", line)
			continue
		}
		fmt.Fprintf(out, "%d %s", n, v)
		for _, f := range facts {
			fmt.Fprintf(out, "  %s=%s", f.Name, f.Value)
		}
		fmt.Fprintln(out)
	}
	return nil
}

// detailJSON writes a value and its facts, in their order, as a JSON object.
// Facts that are integers are written like all integers.
func detailJSON(n int64, v engine.Int128, facts []engine.Fact) ([]byte, error) {
	b := fmt.Appendf(nil, `{"n":%s,"value":%s,"detail":{`, jsonInt(engine.Int128From(n)), jsonInt(v))
	for i, f := range facts {
		name, err := json.Marshal(f.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.Value)
		if err != nil {
			return nil, err
		}
		if k, err := config.ParseInt(f.Value); err == nil && k.String() == f.Value {
			value = []byte(jsonBig(k))
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, "}}"...), nil
}

// valueAt is a value with its n.
type valueAt struct {
	n int64
	v engine.Int128
}

// summary folds values into a few numbers.
type summary struct {
	count                        int64
	first, last, least, greatest valueAt
	total                        *engine.PowerSum
}

func (s *summary) add(p engine.Piece) error {
	if p.Len() == 0 {
		return nil
	}
	least, greatest := p.Extremes()
	s.total.Add(p, engine.Size(least, greatest))
	at := func(i int) valueAt { return valueAt{p.Lo + int64(i), p.At(i)} }
	if s.count == 0 {
		s.first = at(0)
	}
	if s.count == 0 || least.Cmp(s.least.v) < 0 {
		s.least = at(p.Index(least))
	}
	if s.count == 0 || greatest.Cmp(s.greatest.v) > 0 {
		s.greatest = at(p.Index(greatest))
	}
	s.last = at(p.Len() - 1)
	s.count += int64(p.Len())
	return nil
}

func (s *summary) print(out io.Writer, f string, asJSON bool) {
	total := s.total.Value()
	rows := []struct {
		name string
		at   valueAt
	}{{"first", s.first}, {"last", s.last}, {"least", s.least}, {"greatest", s.greatest}}
	if asJSON {
		fmt.Fprintf(out, `{"count":%d`, s.count)
		for _, r := range rows {
			fmt.Fprintf(out, `,"%s":{"n":%s,"value":%s}`, r.name, jsonInt(engine.Int128From(r.at.n)), jsonInt(r.at.v))
		}
		fmt.Fprintf(out, `,"sum":%s}`+"\n", jsonBig(total))
		return
	}
	fmt.Fprintf(out, "count    %d\n", s.count)
	for _, r := range rows {
		fmt.Fprintf(out, "%-8s %s(%d) = %s\n", r.name, f, r.at.n, r.at.v)
	}
	fmt.Fprintf(out, "sum      %s\n", total)
}
