// Package arch guards the plan of the house: which package may import which,
// and in which rooms the large libraries may live. It reads the import lines
// itself, so it neither needs the go command nor passes from a stale cache.
package arch

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/nsweep/nsweep"

// arrows lists, for every package of the module, the packages of the module
// that it may import. A package below a listed one has its entry's rights when
// it has no entry of its own.
var arrows = map[string][]string{
	"engine":              {},
	"engine/hopping":      {"engine"},
	"engine/bezout":       {"engine"},
	"config":              {},
	"jobs":                {"engine"},
	"scheduler":           {"engine", "jobs"},
	"worker":              {"engine", "jobs"},
	"store":               {"engine", "jobs"},
	"store/storetest":     {"engine", "jobs", "store"},
	"aggregator":          {"engine", "jobs"},
	"report":              {"engine", "jobs", "aggregator"},
	"web":                 {"engine", "jobs", "aggregator", "report"},
	"internal/embedredis": {},
	"internal/redistest":  {"internal/ownport"},
	"internal/faultproxy": {"internal/ownport"},
	"internal/ownport":    {},
	"internal/leaks":      {},
	"internal/testengine": {"engine"},
	"internal/arch":       {},
	"cmd/nsweep":          {"*"},
}

// rooms lists where a library may be imported, by the prefix of its path.
// Tests may use more: they are not part of the house.
var rooms = map[string][]string{
	"github.com/spf13/viper":           {"config"},
	"go.yaml.in/yaml":                  {"config"},
	"github.com/redis/go-redis":        {"store", "store/storetest", "internal/embedredis"},
	"github.com/hibiken/asynq":         {"jobs", "scheduler", "worker", "cmd/nsweep"},
	"github.com/alicebob/miniredis":    {"internal/embedredis"},
	"go.etcd.io/bbolt":                 {"internal/embedredis"},
	"github.com/spf13/cobra":           {"cmd/nsweep"},
	"github.com/spf13/pflag":           {"cmd/nsweep"},
	"github.com/vbauerster/mpb":        {"cmd/nsweep"},
	"github.com/mattn/go-isatty":       {"cmd/nsweep"},
	"github.com/parquet-go":            {"report"},
	"gonum.org/v1":                     {"report"},
	"golang.org/x/sys":                 {"cmd/nsweep", "internal/embedredis"},
	"golang.org/x/image":               {"report"},
	"pgregory.net/rapid":               {"store/storetest"},
	"go.uber.org/goleak":               {"internal/leaks"},
	"golang.org/x/term":                {"cmd/nsweep"},
	"github.com/prometheus":            {"web", "cmd/nsweep"},
	"github.com/klauspost/compress":    {"report"},
	"github.com/mattn/go-runewidth":    {"report", "cmd/nsweep"},
	"github.com/cespare/xxhash":        {"engine/bezout"},
	"github.com/charmbracelet":         {"cmd/nsweep"},
	"github.com/rivo/uniseg":           {"report"},
	"github.com/go-viper/mapstructure": {"config"},
}

type file struct {
	pkg     string // relative folder
	name    string
	imports []string
	test    bool
}

// source parses the import lines of every Go file of the module.
func source(t *testing.T) []file {
	t.Helper()
	root := "../.."
	var files []file
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			// A folder with a go.mod of its own is another module.
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && rel != "." {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		one := file{pkg: filepath.ToSlash(filepath.Dir(rel)), name: filepath.ToSlash(rel), test: strings.HasSuffix(path, "_test.go")}
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			one.imports = append(one.imports, p)
		}
		files = append(files, one)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found only %d Go files: looking in the wrong place", len(files))
	}
	return files
}

// entry returns the longest key of m that is pkg or a folder above it.
func entry(m map[string][]string, pkg string) ([]string, bool) {
	for p := pkg; p != "."; p = filepath.ToSlash(filepath.Dir(p)) {
		if v, ok := m[p]; ok {
			return v, true
		}
	}
	return nil, false
}

func allowed(list []string, pkg string) bool {
	return slices.ContainsFunc(list, func(a string) bool { return a == "*" || a == pkg })
}

// violations returns what the files do that the house forbids.
func violations(files []file) []string {
	var out []string
	for _, f := range files {
		if f.test {
			continue
		}
		may, known := entry(arrows, f.pkg)
		if !known {
			out = append(out, f.name+": package "+f.pkg+" has no place in the house: add it to the arrows")
			continue
		}
		for _, imp := range f.imports {
			switch rel, ours := strings.CutPrefix(imp, module+"/"); {
			case ours:
				own := rel == f.pkg
				if !own && !allowed(may, rel) {
					out = append(out, f.name+": "+f.pkg+" must not import "+rel)
				}
			case strings.Contains(strings.Split(imp, "/")[0], "."):
				room, ok := library(imp)
				if !ok {
					out = append(out, f.name+": "+imp+" has no room: add it to the rooms")
				} else if !slices.Contains(room, f.pkg) {
					out = append(out, f.name+": "+imp+" may be imported only in "+strings.Join(room, ", "))
				}
			}
		}
	}
	return out
}

func library(imp string) ([]string, bool) {
	for prefix, room := range rooms {
		if imp == prefix || strings.HasPrefix(imp, prefix+"/") {
			return room, true
		}
	}
	return nil, false
}

func TestArrows(t *testing.T) {
	for _, v := range violations(source(t)) {
		t.Error(v)
	}
}

// TestArrowsBite shows that the test can fail: each of these files breaks one
// rule.
func TestArrowsBite(t *testing.T) {
	for _, f := range []file{
		{pkg: "engine/hopping", name: "x.go", imports: []string{module + "/jobs"}},
		{pkg: "scheduler", name: "x.go", imports: []string{module + "/store"}},
		{pkg: "worker", name: "x.go", imports: []string{module + "/scheduler"}},
		{pkg: "store", name: "x.go", imports: []string{"github.com/hibiken/asynq"}},
		{pkg: "jobs", name: "x.go", imports: []string{"github.com/redis/go-redis/v9"}},
		{pkg: "engine", name: "x.go", imports: []string{"example.com/unknown"}},
		{pkg: "util", name: "x.go"},
	} {
		if got := violations([]file{f}); len(got) != 1 {
			t.Errorf("%+v: %d violations, want 1: %v", f, len(got), got)
		}
	}
}

// TestEngineIsDeaf keeps clocks, logs, networks and the environment out of the
// engines.
func TestEngineIsDeaf(t *testing.T) {
	forbidden := []string{"time", "log", "log/slog", "os", "net", "net/http", "math/rand", "math/rand/v2"}
	for _, f := range source(t) {
		if f.test || (f.pkg != "engine" && !strings.HasPrefix(f.pkg, "engine/")) {
			continue
		}
		for _, imp := range f.imports {
			if slices.Contains(forbidden, imp) {
				t.Errorf("%s imports %s", f.name, imp)
			}
		}
	}
}

// TestDaughtersAreReal keeps the tables free of packages that are gone.
func TestDaughtersAreReal(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range source(t) {
		seen[f.pkg] = true
	}
	for pkg := range arrows {
		if !seen[pkg] {
			t.Errorf("arrows name package %s, which has no Go file", pkg)
		}
	}
}
