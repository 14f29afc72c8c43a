package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/nsweep/nsweep/config"
	"github.com/nsweep/nsweep/engine"
	"github.com/nsweep/nsweep/engine/bezout"
	"github.com/nsweep/nsweep/engine/hopping"
	"github.com/nsweep/nsweep/store"
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// output is standard output. It remembers the first failure to write, so that
// no command ends with code 0 when what it printed was lost.
type output struct {
	io.Writer
	mu  sync.Mutex
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// failed returns the first failure to write.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// file returns the file that w writes to, or nil.
func file(w io.Writer) *os.File {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	f, _ := w.(*os.File)
	return f
}

// terminal reports whether w is an interactive terminal.
func terminal(w io.Writer) bool {
	f := file(w)
	ok := f != nil
	return ok && isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
}

// app is what all commands share: the streams, the global flags, the engines.
type app struct {
	streams
	reg     *engine.Registry
	flags   map[string]*pflag.Flag // of config's options, by key
	verbose int
	said    said // by the loggers
}

// engines returns the registry of a release build; a build for tests adds its
// own engine.
func engines() *engine.Registry {
	return engine.NewRegistry(append([]engine.Engine{hopping.New(), bezout.New()}, extraEngines()...)...)
}

// log returns the logger that the verbosity asks for: warnings, each line at most
// once a minute, then info, then everything.
func (a *app) log() *slog.Logger {
	level := slog.LevelWarn
	switch {
	case a.verbose == 1:
		level = slog.LevelInfo
	case a.verbose > 1:
		level = slog.LevelDebug
	}
	var h slog.Handler = slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level})
	if a.verbose == 0 {
		h = sparing{Handler: h, said: &a.said}
	}
	return slog.New(h)
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, s streams) int {
	out := &output{Writer: s.out}
	s.out = out
	a := &app{streams: s, reg: engines()}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	err := store.Explain(root.ExecuteContext(ctx))
	if err == nil {
		err = out.failed() // for what was printed without looking
	}
	showError(s.err, err)
	return exitCode(err)
}

// Help lists the commands as they were added.
func init() { cobra.EnableCommandSorting = false }

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "nsweep",
		Short: "Evaluate a function of n over large ranges, resumably, with proof",
		Long: `nsweep evaluates a function of n over large ranges on many machines, overnight,
resumably, with proof that nothing was lost or counted twice.

Built in: M(n) of the hopping game and W(n) of Bézout's game.`,
		Example: `  nsweep run                          the built-in experiment "euler", in this process
  nsweep run overnight                a longer built-in experiment
  nsweep run my.yaml --set sweeps.hopping.n.to=5000
  nsweep compute hopping 20           one value, at once
  nsweep status euler                 how a run stands, from another terminal`,
		Version:       version(),
		SilenceErrors: true,
		// As far as a slip of the finger, such as "stauts".
		SuggestionsMinimumDistance: 2,
		SilenceUsage:               true,
		Args:                       cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	f := root.PersistentFlags()
	a.flags = map[string]*pflag.Flag{}
	lasting := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, o := range config.Options() {
		set := f
		if o.Lasting {
			set = lasting
		}
		set.String(o.Flag, "", fmt.Sprintf("%s (%s)", o.Doc, o.Env))
		a.flags[o.Key] = set.Lookup(o.Flag)
	}
	f.CountVarP(&a.verbose, "verbose", "v", "say more on standard error; twice for everything")
	// Each group in the order in which one comes to need them.
	run, scheduler, worker := a.runCmd(), a.schedulerCmd(), a.workerCmd()
	for _, c := range []*cobra.Command{run, scheduler, worker} {
		c.Flags().AddFlagSet(lasting)
	}
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Compute:", []*cobra.Command{a.planCmd(), run, a.computeCmd(), a.benchCmd()}},
		{"Many machines:", []*cobra.Command{a.submitCmd(), scheduler, worker, a.doctorCmd()}},
		{"Look:", []*cobra.Command{a.runsCmd(), a.statusCmd(), a.reportCmd(), a.getCmd(), a.serveCmd()}},
		{"Steer:", []*cobra.Command{a.pauseCmd(), a.resumeCmd(), a.cancelCmd(), a.retryCmd(), a.deleteCmd()}},
		{"Prove and take away:", []*cobra.Command{a.verifyCmd(), a.exportCmd(), a.plotCmd(), a.diffCmd()}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
			root.AddCommand(c)
		}
	}
	for _, c := range append(root.Commands(), root) {
		usageErrors(c)
	}
	return root
}

// given returns the texts of config's options that are on the command line.
func (a *app) given() map[string]string {
	m := map[string]string{}
	for key, f := range a.flags {
		if f.Changed {
			m[key] = f.Value.String()
		}
	}
	return m
}

// firstLine leaves out what an error says on further lines, such as a stack.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// version names the build by the module's version or its commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 && (v == "" || v == "(devel)") {
			v = "commit " + s.Value[:12]
		}
	}
	if v == "" {
		v = "development build"
	}
	return fmt.Sprintf("%s %s", v, info.GoVersion)
}
