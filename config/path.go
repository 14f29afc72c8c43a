package config

import (
	"fmt"
	"strconv"
	"strings"
)

// step is one part of a path: a key of a mapping or an index of a list.
type step struct {
	key   string
	index int // where key is empty
}

// pathError says why a path leads nowhere.
type pathError struct {
	problem, want string
}

// resolve reads a path such as sweeps.hopping.n.to or
// sweeps[0].checkpoints[2].value below n, which fits s, and returns its steps
// and the schema of its end. Keys that the tree does not hold yet may occur,
// list items may not. The names of sweeps can hold dots: of several readings
// the one that leads somewhere is meant.
func resolve(path string, n *node, s *schema) ([]step, *schema, *pathError) {
	if path == "" {
		return nil, s, nil
	}
	switch s.kind {
	case mappingNode:
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		key := path[:end]
		sub := s.field(key)
		if sub == nil {
			return nil, nil, &pathError{quote(key) + " is not a known key", s.suggest(key)}
		}
		rest, err := tail(path[end:])
		if err != nil {
			return nil, nil, err
		}
		return prepend(step{key: key}, rest, n.get(key), sub)
	case listNode:
		if strings.HasPrefix(path, "[") {
			return resolveIndex(path, n, s)
		}
		if s.named {
			return resolveName(path, n, s)
		}
		return nil, nil, &pathError{quote(path) + " is not an index of a list", "want [0], [1] and so on"}
	default:
		return nil, nil, &pathError{"there is nothing below a single value", "want a path that ends before " + quote(path)}
	}
}

// tail returns what follows a key or index: nothing, [i]… or, after a dot, a key.
func tail(path string) (string, *pathError) {
	if path == "" || path[0] == '[' {
		return path, nil
	}
	if path[0] != '.' || path == "." {
		return "", &pathError{"ends in an incomplete key", "want KEY.KEY"}
	}
	return path[1:], nil
}

func prepend(first step, rest string, n *node, s *schema) ([]step, *schema, *pathError) {
	steps, end, err := resolve(rest, n, s)
	if err != nil {
		return nil, nil, err
	}
	return append([]step{first}, steps...), end, nil
}

func resolveIndex(path string, n *node, s *schema) ([]step, *schema, *pathError) {
	text, rest, ok := strings.Cut(path[1:], "]")
	i, err := strconv.ParseUint(text, 10, 31)
	if !ok || err != nil {
		return nil, nil, &pathError{quote(path) + " is not an index of a list", "want [0], [1] and so on"}
	}
	count := 0
	if n != nil {
		count = len(n.items)
	}
	if i >= uint64(count) {
		return nil, nil, &pathError{fmt.Sprintf("the list has %d items and none numbered %d", count, i), "want an index from 0, or the whole list anew"}
	}
	below, bad := tail(rest)
	if bad != nil {
		return nil, nil, bad
	}
	return prepend(step{index: int(i)}, below, n.items[i], s.item)
}

func resolveName(path string, n *node, s *schema) ([]step, *schema, *pathError) {
	var names []string
	var steps []step
	var end *schema
	var failed *pathError
	hits, longest := 0, -1
	if n == nil {
		n = &node{}
	}
	for i, item := range n.items {
		name := item.get("name")
		if name == nil || name.text == "" {
			continue
		}
		names = append(names, quote(name.text))
		rest, ok := strings.CutPrefix(path, name.text)
		if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
			continue
		}
		below, err := tail(rest)
		if err == nil {
			var st []step
			var e *schema
			if st, e, err = prepend(step{index: i}, below, item, s.item); err == nil {
				hits++
				steps, end = st, e
			}
		}
		if err != nil && len(name.text) > longest {
			longest, failed = len(name.text), err
		}
	}
	switch {
	case hits == 1:
		return steps, end, nil
	case hits > 1:
		return nil, nil, &pathError{quote(path) + " can be read as more than one sweep", "want sweeps[0], sweeps[1] and so on"}
	case failed != nil:
		return nil, nil, failed
	}
	const most = 10
	want := "the experiment has no sweep with a name"
	if len(names) > 0 {
		want = "want " + strings.Join(names[:min(len(names), most)], " or ")
		if len(names) > most {
			want += fmt.Sprintf(" or one of %d more", len(names)-most)
		}
	}
	name, _, _ := strings.Cut(path, ".")
	return nil, nil, &pathError{"there is no sweep " + quote(name), want}
}

// At returns where the value at key was written: the file and line, or, with
// line 0, the variable or flag that set it. Keys are those of errors, such as
// sweeps.hopping.n.to, sweeps[0].n.to or redis.url. What was not written itself
// is found at the nearest thing around it that was.
func (e *Experiment) At(key string) (file string, line int) {
	at := e.at(key)
	return at.file, at.line
}

func (e *Experiment) at(key string) origin {
	if at, ok := e.settingsAt[key]; ok {
		return at
	}
	if e.root == nil {
		return origin{file: e.file}
	}
	// A path that ends in unknown territory is cut until it leads somewhere.
	for ; key != ""; key = parentKey(key) {
		if steps, _, err := resolve(key, e.root, fileSchema); err == nil {
			return e.root.walk(steps)
		}
	}
	return e.root.at
}

func parentKey(key string) string { return key[:max(strings.LastIndexAny(key, ".["), 0)] }

// walk follows steps as far as the tree goes and returns where the last node was
// written: a mapping's entry where its key stands.
func (n *node) walk(steps []step) origin {
	at := n.at
	for _, st := range steps {
		var next *node
		if st.key == "" {
			next = n.items[st.index]
			at = next.at
		} else {
			for _, f := range n.fields {
				if f.key == st.key {
					next, at = f.value, f.at
				}
			}
		}
		if next == nil {
			break
		}
		n = next
	}
	return at
}

// Errorf returns an error about the value at key with the place where it was
// written. It is for checks that only the caller can make, such as what an
// engine accepts.
func (e *Experiment) Errorf(key, problem, want string) *Error {
	at := e.at(key)
	return &Error{File: at.file, Line: at.line, Key: key, Problem: problem, Want: want}
}
