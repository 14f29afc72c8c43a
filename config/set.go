package config

import "strings"

// applySets grafts the values of --set path=value onto the tree, in order.
//
// A single value is taken as it stands; lists and mappings are YAML in one line,
// such as [4, 20] or {from: 3, to: 9}; null takes the value out again.
func applySets(root *node, sets []string, p *problems) {
	for _, set := range sets {
		path, value, ok := strings.Cut(set, "=")
		path = strings.TrimSpace(path)
		// The value stays out of errors about the path: it may be secret.
		at := origin{file: "--set " + quote(Redact(path)), set: true}
		if !ok || path == "" {
			p.add(at, "", "is not of the form PATH=VALUE", "want for example --set sweeps.hopping.n.to=5000")
			continue
		}
		steps, s, bad := resolve(path, root, fileSchema)
		if bad != nil {
			p.add(at, "", bad.problem, bad.want)
			continue
		}
		if value = strings.TrimSpace(value); value == "" {
			p.add(at, path, "is set to nothing", "want a value, or null to take it out")
			continue
		}
		if value == "null" {
			root.remove(steps)
			continue
		}
		var n *node
		if s.kind == scalarNode && value[0] != '"' && value[0] != '\'' {
			n = &node{kind: scalarNode, text: value, at: at}
		} else {
			before := len(p.list)
			if n = parse([]byte(value), at, p); n == nil {
				for _, e := range p.list[before:] {
					e.Key = path
				}
				continue
			}
			s.check(n, path, p)
			if n.bad {
				continue
			}
		}
		root.graft(steps, n)
	}
}

// graft puts value where steps lead and makes the mappings on the way.
func (n *node) graft(steps []step, value *node) {
	last := steps[len(steps)-1]
	for _, st := range steps[:len(steps)-1] {
		if st.key == "" {
			n = n.items[st.index]
			continue
		}
		next := n.get(st.key)
		if next == nil {
			next = &node{kind: mappingNode, at: value.at}
			n.put(st.key, next)
		}
		n = next
	}
	if last.key == "" {
		n.items[last.index] = value
		return
	}
	n.put(last.key, value)
}

// put sets an entry of a mapping.
func (n *node) put(key string, value *node) {
	for i := range n.fields {
		if n.fields[i].key == key {
			n.fields[i].value, n.fields[i].at = value, value.at
			return
		}
	}
	n.fields = append(n.fields, field{key: key, at: value.at, value: value})
}

// remove takes out what steps lead to, if it is there.
func (n *node) remove(steps []step) {
	last := steps[len(steps)-1]
	for _, st := range steps[:len(steps)-1] {
		if st.key == "" {
			n = n.items[st.index]
		} else if n = n.get(st.key); n == nil {
			return
		}
	}
	if last.key == "" {
		n.items = append(n.items[:last.index:last.index], n.items[last.index+1:]...)
		return
	}
	for i := range n.fields {
		if n.fields[i].key == last.key {
			n.fields = append(n.fields[:i:i], n.fields[i+1:]...)
			return
		}
	}
}
