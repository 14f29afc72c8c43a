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
	"github.com/spf13/viper":        {"config"},
	"go.yaml.in/yaml":               {"config"},
	"github.com/redis/go-redis":     {"store", "store/storetest"},
	"github.com/hibiken/asynq":      {"jobs", "worker", "cmd/nsweep"},
	"github.com/alicebob/miniredis": {"internal/embedredis"},
	"go.etcd.io/bbolt":              {"internal/embedredis"},
	"github.com/spf13/cobra":        {"cmd/nsweep"},
	"github.com/spf13/pflag":        {"cmd/nsweep"},
	"github.com/vbauerster/mpb":     {"cmd/nsweep"},
	"github.com/mattn/go-isatty":    {"cmd/nsweep"},
	"github.com/parquet-go":         {"report"},
	"gonum.org/v1":                  {"report"},
	"pgregory.net/rapid":            {"store/storetest"},
	"go.uber.org/goleak":            {"internal/leaks"},
	"golang.org/x/term":             {"cmd/nsweep"},
	"github.com/prometheus":         {"web"},
}

type file struct {
	pkg     string // relative folder
	name    string
	imports []string
	doc     string // what stands above the package clause
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
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		one := file{pkg: filepath.ToSlash(filepath.Dir(rel)), name: filepath.ToSlash(rel), doc: f.Doc.Text(), test: strings.HasSuffix(path, "_test.go")}
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

// TestTablesAreReal keeps the tables free of packages that are gone and of
// rooms that nobody uses: what is not needed is not allowed.
func TestTablesAreReal(t *testing.T) {
	here, uses := map[string]bool{}, map[[2]string]bool{}
	for _, f := range source(t) {
		here[f.pkg] = true
		for _, imp := range f.imports {
			for prefix := range rooms {
				if !f.test && (imp == prefix || strings.HasPrefix(imp, prefix+"/")) {
					uses[[2]string{prefix, f.pkg}] = true
				}
			}
		}
	}
	for pkg := range arrows {
		if !here[pkg] {
			t.Errorf("arrows name package %s, which has no Go file", pkg)
		}
	}
	for prefix, list := range rooms {
		for _, pkg := range list {
			if !uses[[2]string{prefix, pkg}] {
				t.Errorf("%s may be imported in %s, which does not", prefix, pkg)
			}
		}
	}
}

// saysImports returns the packages of the module that a package's comment says
// it imports, by the last part of their names, and whether it says anything:
// "Package jobs imports engine and nothing else of this module."
func saysImports(doc string) ([]string, bool) {
	_, text, says := strings.Cut(strings.ReplaceAll(doc, "\n", " "), " imports ")
	text = text[:max(0, strings.IndexAny(text+".", ".;:("))]
	var out []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		for pkg := range arrows {
			if pkg == word || strings.HasSuffix(pkg, "/"+word) {
				out = append(out, word)
			}
		}
	}
	slices.Sort(out)
	return out, says
}

// TestCommentsSayImports: whoever reads what a package is for reads there what
// it may import, and that is what the arrows say.
func TestCommentsSayImports(t *testing.T) {
	docs := map[string]string{}
	for _, f := range source(t) {
		if f.doc != "" {
			docs[f.pkg] += f.doc
		}
	}
	for pkg, may := range arrows {
		if slices.Contains(may, "*") || pkg == "internal/arch" {
			continue
		}
		var want []string
		for _, a := range may {
			want = append(want, a[strings.LastIndexByte(a, '/')+1:])
		}
		slices.Sort(want)
		got, says := saysImports(docs[pkg])
		if !says || !slices.Equal(got, want) {
			t.Errorf("the comment of package %s says that it imports %v (%v), the arrows say %v", pkg, got, says, want)
		}
	}
	if got, says := saysImports("Package a imports engine, jobs and asynq. It knows store."); !says || !slices.Equal(got, []string{"engine", "jobs"}) {
		t.Errorf("read %v, %v", got, says)
	}
}
