package config

import (
	"fmt"
	"slices"
	"strings"
)

// schema describes what may stand at a place of the tree.
type schema struct {
	kind   nodeKind
	fields []schemaField // of a mapping; nil for a mapping with free keys
	item   *schema       // of a list, or of a mapping with free keys
	// form is an example for errors about the wrong kind.
	form string
	// named marks the list whose items are addressed by their name.
	named bool
	// short is the key that a scalar in place of the mapping stands for.
	short string
}

type schemaField struct {
	key string
	*schema
}

var (
	textSchema = &schema{kind: scalarNode, form: "plain text"}
	intSchema  = &schema{kind: scalarNode, form: "an integer such as 1000000, 1_000_000, 1e6 or 10^6"}
)

// fileSchema describes an experiment file.
var fileSchema = &schema{kind: mappingNode, form: "an experiment with name and sweeps", fields: []schemaField{
	{"name", textSchema},
	{"priority", textSchema},
	{"notify", &schema{kind: mappingNode, form: "{url: https://example.org/hook}", fields: []schemaField{
		{"url", textSchema}, {"on", &schema{kind: listNode, form: "[complete, failed]", item: textSchema}}, {"stall_after", textSchema},
	}}},
	{"verify", &schema{kind: mappingNode, short: "sample", form: "all, or {sample: 2%}", fields: []schemaField{{"sample", textSchema}, {"algorithm", textSchema}}}},
	{"redis", &schema{kind: mappingNode, form: "{url: embedded}", fields: []schemaField{
		{"url", textSchema}, {"username", textSchema}, {"password_file", textSchema},
		{"sentinel_username", textSchema}, {"sentinel_password_file", textSchema},
		{"ca_file", textSchema}, {"cert_file", textSchema}, {"key_file", textSchema},
	}}},
	{"data_dir", textSchema},
	{"workers", &schema{kind: mappingNode, form: "{concurrency: 4}", fields: []schemaField{{"concurrency", intSchema}}}},
	{"metrics", &schema{kind: mappingNode, form: "{listen: 127.0.0.1:8392}", fields: []schemaField{{"listen", textSchema}, {"token_file", textSchema}}}},
	{"sweeps", &schema{kind: listNode, named: true, form: "a list of sweeps, each beginning with - name:", item: &schema{
		kind: mappingNode, form: "{name: hopping, engine: hopping, n: {from: 1, to: 1000}}", fields: []schemaField{
			{"name", textSchema}, {"engine", textSchema}, {"algorithm", textSchema}, {"compare", textSchema},
			{"params", &schema{kind: mappingNode, form: "{base: 2}", item: intSchema}},
			{"keep", textSchema},
			{"n", &schema{kind: mappingNode, form: "{from: 1, to: 1000}", fields: []schemaField{
				{"from", intSchema}, {"to", intSchema}, {"step", intSchema},
				{"values", &schema{kind: listNode, form: "[4, 20]", item: intSchema}},
				{"decades", &schema{kind: mappingNode, form: "{from: 3, to: 9}", fields: []schemaField{
					{"from", intSchema}, {"to", intSchema}, {"per_decade", intSchema},
				}}},
			}}},
			{"sums", &schema{kind: listNode, form: "[{power: 3}]", item: &schema{
				kind: mappingNode, form: "{power: 3}", fields: []schemaField{{"power", intSchema}},
			}}},
			{"checkpoints", &schema{kind: listNode, form: "[{n: 20, value: 4}]", item: &schema{
				kind: mappingNode, form: "{n: 20, value: 4} or {n: 20, sum_of_power: 3, equals: 8150}",
				fields: []schemaField{{"n", intSchema}, {"value", intSchema}, {"sum_of_power", intSchema}, {"equals", intSchema}},
			}}},
		},
	}}},
}}

// field returns the schema below key, or nil.
func (s *schema) field(key string) *schema {
	if s.fields == nil && s.kind == mappingNode {
		if plainKey.MatchString(key) {
			return s.item
		}
		return nil
	}
	for _, f := range s.fields {
		if f.key == key {
			return f.schema
		}
	}
	return nil
}

// check compares a tree with the schema, reports every difference and removes
// it, so that what remains fits. It marks the nodes with a difference in or
// below them as bad.
func (s *schema) check(n *node, key string, p *problems) {
	if s.short != "" && n.kind == scalarNode {
		value := *n
		*n = node{kind: mappingNode, at: n.at, fields: []field{{key: s.short, at: n.at, value: &value}}}
	}
	if n.kind != s.kind {
		what := "is " + string(n.kind)
		if n.kind == scalarNode {
			what = "is " + quote(n.text)
		}
		p.add(n.at, key, what, "want "+s.form)
		*n = node{kind: nullNode, at: n.at, bad: true}
		return
	}
	switch s.kind {
	case listNode:
		keys := s.itemKeys(n, key)
		for i, item := range n.items {
			s.item.check(item, keys[i], p)
			n.bad = n.bad || item.bad
		}
	case mappingNode:
		n.fields = slices.DeleteFunc(n.fields, func(f field) bool {
			sub := s.field(f.key)
			if sub == nil {
				p.add(f.at, join(key, f.key), "is not a known key", s.suggest(f.key))
				n.bad, n.dropped = true, true
				return true
			}
			sub.check(f.value, join(key, f.key), p)
			n.bad = n.bad || f.value.bad
			n.dropped = n.dropped || f.value.kind == nullNode
			return f.value.kind == nullNode
		})
	}
}

// itemKeys returns the paths of a list's items: sweeps.NAME, or list[i] where
// items have no names or a name is not fit to tell them apart.
func (s *schema) itemKeys(list *node, key string) []string {
	keys := make([]string, len(list.items))
	count := map[string]int{}
	if s.named {
		for _, item := range list.items {
			if name := item.get("name"); name != nil {
				count[name.text]++
			}
		}
	}
	for i, item := range list.items {
		keys[i] = fmt.Sprintf("%s[%d]", key, i)
		if name := item.get("name"); name != nil && count[name.text] == 1 && namePattern.MatchString(name.text) {
			keys[i] = key + "." + name.text
		}
	}
	return keys
}

// suggest says which known key may have been meant.
func (s *schema) suggest(key string) string {
	if strings.Contains(strings.ToLower(key), "password") && s.field("password_file") != nil {
		return "want password_file or the variable NSWEEP_REDIS_PASSWORD; passwords are not written in experiments"
	}
	if s.fields == nil {
		return "want letters, digits, - and _"
	}
	best, dist := "", 3
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.key
		if d := distance(strings.ToLower(key), f.key); d < dist && d < len(f.key) {
			best, dist = f.key, d
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	for _, f := range s.fields {
		if f.kind == mappingNode && f.fields != nil && f.field(key) != nil {
			return "did you mean " + key + " below " + f.key + "?"
		}
	}
	return "want one of " + strings.Join(names, ", ")
}

// distance is the least number of single-character insertions, deletions and
// changes that turn a into b. It takes time len(a)·len(b); keys longer than any
// known one are cut first.
func distance(a, b string) int {
	if len(a) > 64 {
		a = a[:64]
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diag
			if a[i] != b[j] {
				d = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
