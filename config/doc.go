// Package config reads experiments: YAML files that name a store, workers and
// sweeps. It is strict. Whatever it returns has a sound shape, and whatever it
// refuses is named by file, line and key, with what is wrong and what would be
// right.
//
// A file goes through four steps. The YAML text becomes a tree of raw scalars
// ([Source], parse), in which no digit has been interpreted yet. The tree is
// compared with the schema: unknown keys, doubled keys and wrong shapes end
// here. Command-line settings (--set path=value) are grafted onto the tree. Then
// the tree is decoded with an exact integer parser ([ParseInt]) and the result
// is validated as a whole ([Experiment.Validate]).
//
// The few settings that may also come from flags and NSWEEP_ variables (see
// [Options]) are layered by viper. Sweeps are not: viper folds keys to lower
// case, cannot reach into lists, and would turn 1e9 into a float.
//
// The package knows no engine. Whoever resolves engines reports what an engine
// refuses with [Experiment.Errorf], which adds the file and line of a key.
// Package config imports nothing else of this module.
package config
