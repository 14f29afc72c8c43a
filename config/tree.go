package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxFileSize is the largest experiment file, in bytes.
const MaxFileSize = 1 << 20

// origin is where a value was written.
type origin struct {
	file string
	line int
	// set marks a value from --set, which outranks NSWEEP_ variables.
	set bool
}

type nodeKind string

const (
	scalarNode  nodeKind = "a single value"
	mappingNode nodeKind = "a mapping"
	listNode    nodeKind = "a list"
	nullNode    nodeKind = "empty"
)

// node is a YAML value whose scalars are still the text that the user wrote.
type node struct {
	kind   nodeKind
	text   string
	fields []field
	items  []*node
	at     origin
	// bad says that something in or below the node has been refused, dropped
	// that a field of the mapping was taken out because of it. They keep one
	// mistake from being reported a second time as its own consequence.
	bad, dropped bool
}

// field is an entry of a mapping; its keys are unique.
type field struct {
	key   string
	at    origin
	value *node
}

// get returns the value below key, or nil; also for a nil node.
func (n *node) get(key string) *node {
	if n != nil {
		for _, f := range n.fields {
			if f.key == key {
				return f.value
			}
		}
	}
	return nil
}

// parse reads data as one YAML document without aliases, anchors, merge keys
// and tags. It never expands anything, so the tree is no larger than the text.
// at names the file, with line 1, or another place that has no lines, with 0.
// After adding to p it returns nil when there is no tree to go on with.
func parse(data []byte, at origin, p *problems) *node {
	// The library puts what is missing at the end into the line behind it.
	last := 1 + bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n"))
	line := func(n int) origin { return origin{file: at.file, line: min(n, last) * min(at.line, 1), set: at.set} }
	fail := func(n int, problem, want string) *node {
		p.add(line(n), "", problem, want)
		return nil
	}
	if len(data) > MaxFileSize {
		return fail(0, fmt.Sprintf("is larger than %d bytes", MaxFileSize), "want ranges instead of long lists of values")
	}
	if bad := invalidUTF8(data); bad >= 0 {
		return fail(1+bytes.Count(data[:bad], []byte("\n")), "is not valid UTF-8", "want a plain text file")
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return fail(0, "is empty", "want an experiment with name and sweeps")
	}
	if err == nil {
		var second yaml.Node
		switch err2 := dec.Decode(&second); {
		case err2 == nil:
			return fail(second.Line, "holds a second YAML document", "want one experiment in a file")
		case !errors.Is(err2, io.EOF):
			err = err2
		}
	}
	if err != nil {
		n, msg := syntaxError(err)
		return fail(n, "is not valid YAML: "+msg, "")
	}
	c := converter{p: p, line: line}
	root := c.convert(doc.Content[0], "")
	if c.fatal {
		return nil
	}
	return root
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or −1.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxError splits an error of the YAML library into a line and a message. The
// library counts the lines of errors by its parser, but not by its scanner,
// from 0, and leaves line 0 out.
func syntaxError(err error) (int, string) {
	msg := err.Error()
	m := yamlLine.FindStringSubmatch(msg)
	if m == nil {
		return 1, oneLine(msg)
	}
	msg = oneLine(msg[len(m[0]):])
	if m[1] == "" {
		return 1, msg
	}
	n, _ := strconv.Atoi(m[1]) // digits by the expression; a huge one stays at the maximum
	for _, s := range []string{"did not find expected key", "did not find expected node content", "did not find expected '", "did not find expected <"} {
		if strings.HasPrefix(msg, s) {
			n++
			break
		}
	}
	return n, msg
}

// oneLine replaces control characters, so that an error stays one line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == utf8.RuneError || !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}

// converter turns YAML nodes into ours and reports what experiments may not use.
type converter struct {
	p    *problems
	line func(int) origin
	// fatal is set when a part of the tree is missing, so that the rest cannot
	// be judged.
	fatal bool
}

func (c *converter) refuse(n *yaml.Node, key, problem, want string) *node {
	c.fatal = true
	c.p.add(c.line(n.Line), key, problem, want)
	return &node{kind: nullNode, at: c.line(n.Line)}
}

// convert is recursive; the YAML library bounds the depth at 10000.
func (c *converter) convert(y *yaml.Node, key string) *node {
	n := &node{at: c.line(y.Line)}
	switch {
	case y.Kind == yaml.AliasNode:
		return c.refuse(y, key, "is an alias (*"+quote(y.Value)+")", "want the value written out")
	case y.Anchor != "":
		return c.refuse(y, key, "carries an anchor (&"+quote(y.Anchor)+")", "want plain values; anchors and aliases are not supported")
	case y.Style&yaml.TaggedStyle != 0:
		return c.refuse(y, key, "carries the tag "+quote(y.Tag), "want plain values; tags are not supported")
	}
	switch y.Kind {
	case yaml.ScalarNode:
		n.kind, n.text = scalarNode, y.Value
		if y.Style == 0 && y.ShortTag() == "!!null" {
			n.kind = nullNode
		}
	case yaml.SequenceNode:
		n.kind = listNode
		for i, item := range y.Content {
			n.items = append(n.items, c.convert(item, key+"["+strconv.Itoa(i)+"]"))
		}
	case yaml.MappingNode:
		n.kind = mappingNode
		c.fields(n, y, key)
	default:
		return c.refuse(y, key, "is no YAML value", "")
	}
	return n
}

// fields converts the entries of a mapping.
func (c *converter) fields(n *node, y *yaml.Node, key string) {
	first := make(map[string]int, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind != yaml.ScalarNode || k.Anchor != "" || k.Style&yaml.TaggedStyle != 0 {
			c.refuse(k, key, "has a key that is not plain text", "want KEY: VALUE")
			continue
		}
		name := join(key, k.Value)
		if k.Style == 0 && k.Value == "<<" {
			c.refuse(k, key, "uses a merge key (<<)", "want the keys written out")
			continue
		}
		if at, dup := first[k.Value]; dup {
			c.p.add(c.line(k.Line), name, fmt.Sprintf("is given twice, first in line %d", at), "want it once")
			continue
		}
		first[k.Value] = k.Line
		n.fields = append(n.fields, field{key: k.Value, at: c.line(k.Line), value: c.convert(v, name)})
	}
}

// plainKey is a key that may stand in a path as it is.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// join appends a key to a path.
func join(path, key string) string {
	if !plainKey.MatchString(key) {
		if key = quote(key); key[0] != '"' {
			key = `"` + key + `"`
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
