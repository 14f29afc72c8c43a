package config

import (
	"embed"
	"slices"
)

// DefaultBuiltin is the experiment that runs when none is named.
const DefaultBuiltin = "euler"

//go:embed builtin/*.yaml
var builtinFiles embed.FS

var builtins = []string{"euler", "overnight", "cluster"}

// Builtins returns the names of the built-in experiments, the default first.
func Builtins() []string { return slices.Clone(builtins) }

// BuiltinSource returns the text of a built-in experiment.
func BuiltinSource(name string) ([]byte, bool) {
	if !slices.Contains(builtins, name) {
		return nil, false
	}
	data, err := builtinFiles.ReadFile("builtin/" + name + ".yaml")
	return data, err == nil
}
