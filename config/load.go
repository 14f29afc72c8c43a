package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Source says what an experiment is made of.
type Source struct {
	// File is the path of a file or, where there is no such file, the name of
	// a built-in experiment.
	File string
	// Builtin is the name of a built-in experiment. With neither File nor
	// Builtin the experiment is DefaultBuiltin.
	Builtin string
	// Data is the text of the experiment when it is not to be read from File;
	// File then only names it in errors.
	Data []byte
	// Flags holds the settings given on the command line: the keys of Options
	// and the texts of the flags.
	Flags map[string]string
	// Sets are the arguments of --set: path=value.
	Sets []string
	// Env looks up a variable, as os.LookupEnv does; nil for none. Only the
	// variables of Options and those of passwords are asked for. An empty one
	// counts as not set.
	Env func(string) (string, bool)
}

// Load reads an experiment. What is given on the command line (Flags and Sets)
// wins over variables, these over the file, and the file over defaults. The
// result has passed Validate. The error names everything that is wrong, each an
// *Error in a line of its own.
func Load(src Source) (*Experiment, error) {
	file, data, err := src.read()
	if err != nil {
		return nil, err
	}
	p := &problems{}
	root := parse(data, origin{file: file, line: 1}, p)
	if root == nil {
		return nil, p.err()
	}
	if fileSchema.check(root, "", p); root.kind != mappingNode {
		return nil, p.err()
	}
	applySets(root, src.Sets, p)

	e := &Experiment{file: file, root: root, Priority: PriorityNormal}
	d := decoder{p}
	d.text(root.get("name"), "name", &e.Name)
	d.text(root.get("priority"), "priority", &e.Priority)
	e.Verify, e.VerifySame = d.verify(root.get("verify"))
	e.Notify = d.notify(root.get("notify"))
	if sweeps := root.get("sweeps"); sweeps != nil {
		for i, key := range fileSchema.field("sweeps").itemKeys(sweeps, "sweeps") {
			e.Sweeps = append(e.Sweeps, d.sweep(sweeps.items[i], key))
		}
	}
	e.Settings, e.settingsAt = settings(root, src.Flags, src.Env, p)
	if url := root.get("redis").get("url"); url != nil {
		url.text = Redact(url.text) // the tree is kept, a password is not
	}
	e.validate(p)
	if err := p.err(); err != nil {
		return nil, err
	}
	return e, nil
}

// LoadSettings returns the settings for a command that takes no experiment, by
// the same precedence as Load, without a file. When variables name both a Redis
// and a folder, the Redis wins.
func LoadSettings(flags map[string]string, env func(string) (string, bool)) (Settings, error) {
	p := &problems{}
	s, _ := settings(nil, flags, env, p)
	return s, p.err()
}

// read returns the experiment's text and what errors call it.
func (src Source) read() (file string, data []byte, err error) {
	switch {
	case src.Data != nil:
		return label(src.File), src.Data, nil
	case src.File == "" || src.Builtin != "":
		name := src.Builtin
		if name == "" {
			name = DefaultBuiltin
		}
		if src.File != "" {
			return "", nil, &Error{File: label(src.File), Problem: "stands beside the built-in experiment " + quote(name), Want: "want one of them"}
		}
		data, ok := BuiltinSource(name)
		if !ok {
			return "", nil, &Error{File: label(name), Problem: "is not a built-in experiment", Want: "want " + strings.Join(Builtins(), ", ")}
		}
		return "built-in " + name, data, nil
	}
	data, err = readSmall(src.File, MaxFileSize)
	if err == nil {
		return label(src.File), data, nil
	}
	if data, ok := BuiltinSource(src.File); ok {
		if st, statErr := os.Stat(src.File); statErr != nil || st.IsDir() {
			return "built-in " + src.File, data, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil, &Error{File: label(src.File), Problem: "is neither a file nor a built-in experiment", Want: "want a file, or one of " + strings.Join(Builtins(), ", ")}
	}
	return "", nil, &Error{File: label(src.File), Problem: err.Error(), Want: fmt.Sprintf("want a YAML file of at most %d bytes", MaxFileSize)}
}
