package config

import "fmt"

// Validate checks everything about the experiment's shape that can be known
// without an engine: names, sets of n, sums and checkpoints, and the settings.
// The error names every problem, each an *Error in a line of its own. An
// experiment that Load returned is valid.
func (e *Experiment) Validate() error {
	p := &problems{}
	e.validate(p)
	e.Settings.validate(p, e.settingsAt)
	return p.err()
}

// validate checks all but the settings. It passes over what the decoder has
// refused already.
func (e *Experiment) validate(p *problems) {
	v := validator{e: e, p: p}
	v.name("name", e.Name, e.root)
	switch e.Priority {
	case "", PriorityLow, PriorityNormal, PriorityHigh:
	default:
		v.add("priority", quote(e.Priority)+" is not a priority", "want low, normal or high")
	}
	if e.Verify < 0 || e.Verify > allShare {
		v.add("verify.sample", fmt.Sprintf("%d millionths are no share", e.Verify), "want 0 to 1000000")
	}
	if e.VerifySame && e.Verify == 0 && (e.root == nil || e.root.get("verify") == nil) {
		v.add("verify.sample", "is missing", "want the share that is to be verified")
	}
	v.notify(e.Notify, e.root.get("notify"))
	sweeps := e.root.get("sweeps")
	switch {
	case len(e.Sweeps) > MaxSweeps:
		v.add("sweeps", fmt.Sprintf("holds %d sweeps", len(e.Sweeps)), fmt.Sprintf("want at most %d", MaxSweeps))
		return
	case len(e.Sweeps) == 0 && sweeps != nil:
		v.add("sweeps", "is an empty list", "want at least one sweep")
	case len(e.Sweeps) == 0 && (e.root == nil || !e.root.dropped):
		v.add("sweeps", "is missing", "want at least one sweep")
	}
	first := map[string]int{}
	for i, key := range e.sweepKeys() {
		var n *node
		if sweeps != nil {
			if n = sweeps.items[i]; n.kind != mappingNode {
				continue
			}
		}
		s := &e.Sweeps[i]
		if k, dup := first[s.Name]; dup && s.Name != "" {
			_, line := e.At(fmt.Sprintf("sweeps[%d].name", k))
			v.add(key+".name", s.Name+" is also the name of "+fmt.Sprintf("sweeps[%d]", k)+inLine(line), "want a name for each sweep")
		} else {
			first[s.Name] = i
		}
		v.sweep(s, key, n)
	}
}

func inLine(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" in line %d", line)
}

// sweepKeys returns the path of each sweep: by name where that is unambiguous.
func (e *Experiment) sweepKeys() []string {
	count := map[string]int{}
	for _, s := range e.Sweeps {
		count[s.Name]++
	}
	keys := make([]string, len(e.Sweeps))
	for i, s := range e.Sweeps {
		if keys[i] = fmt.Sprintf("sweeps[%d]", i); count[s.Name] == 1 && namePattern.MatchString(s.Name) {
			keys[i] = "sweeps." + s.Name
		}
	}
	return keys
}

type validator struct {
	e *Experiment
	p *problems
}

func (v *validator) add(key, problem, want string) {
	v.p.list = append(v.p.list, v.e.Errorf(key, problem, want))
}

// name checks a required name. parent is the mapping that should hold it.
func (v *validator) name(key, name string, parent *node) {
	switch {
	case name == "":
		// Refused before, or misspelt and refused as unknown.
		if parent == nil || parent.get(lastKey(key)) == nil && !parent.dropped {
			v.add(key, "is missing", nameForm)
		}
	case !namePattern.MatchString(name):
		v.add(key, quote(name)+" is not a name", nameForm)
	}
}

// lastKey returns the part of a path after its last dot.
func lastKey(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' {
			return path[i+1:]
		}
	}
	return path
}

// sweep checks one sweep. n is its node, or nil.
func (v *validator) sweep(s *Sweep, key string, n *node) {
	v.name(key+".name", s.Name, n)
	v.name(key+".engine", s.Engine, n)
	if s.Algorithm != "" && !namePattern.MatchString(s.Algorithm) {
		v.add(key+".algorithm", quote(s.Algorithm)+" is not a name", nameForm)
	}
	if s.Keep != KeepValues && s.Keep != KeepSums {
		v.add(key+".keep", quote(s.Keep)+" is not a way to keep values", "want values or sums")
	}
	var contains func(int64) bool
	set := n.get("n")
	switch {
	case set != nil && set.bad:
	case n != nil && set == nil && n.dropped:
	case n != nil && set == nil:
		v.add(key+".n", "is missing", "want {from: 1, to: 1000}, values: [4, 20] or decades: {from: 3, to: 9}")
	default:
		faults := s.N.check()
		for _, f := range faults {
			k := key + ".n"
			if f.key != "" {
				k += "." + f.key
			}
			v.add(k, f.problem, f.want)
		}
		if len(faults) == 0 {
			contains = s.N.members()
		}
	}
	v.sums(s, key, n.get("sums"))
	v.checkpoints(s, key, n.get("checkpoints"), contains)
}

func (v *validator) sums(s *Sweep, key string, n *node) {
	first := map[int]int{}
	for i, power := range s.Sums {
		k := fmt.Sprintf("%s.sums[%d]", key, i)
		if n != nil && n.items[i].bad {
			continue
		}
		switch j, dup := first[power]; {
		case power == 0:
			v.add(k+".power", "is missing", "want {power: 3}")
		case power < 1 || power > MaxPower:
			v.add(k+".power", fmt.Sprintf("%d is out of range", power), fmt.Sprintf("want a whole number from 1 to %d", MaxPower))
		case dup:
			v.add(k+".power", fmt.Sprintf("%d is given twice, first in sums[%d]", power, j), "want it once")
		default:
			first[power] = i
		}
	}
}

// checkpoints checks a sweep's checkpoints. contains is nil when the set of n is
// not sound.
func (v *validator) checkpoints(s *Sweep, key string, n *node, contains func(int64) bool) {
	type about struct {
		n     int64
		power int
	}
	first := map[about]int{}
	for i, c := range s.Checkpoints {
		k := fmt.Sprintf("%s.checkpoints[%d]", key, i)
		if n != nil && n.items[i].bad {
			continue
		}
		const forms = "want {n: 20, value: 4} or {n: 20, sum_of_power: 3, equals: 8150}"
		ok := true
		fail := func(key, problem, want string) {
			v.add(key, problem, want)
			ok = false
		}
		switch {
		case c.N == 0:
			fail(k+".n", "is missing", forms)
		case contains != nil && !contains(c.N):
			fail(k+".n", fmt.Sprintf("%d is not an n of the sweep", c.N), "want one of its n ("+s.N.String()+"), or no such checkpoint")
		}
		switch {
		case c.Value != nil && c.Power != 0:
			fail(k, "has both value and sum_of_power", "want two checkpoints")
		case c.Value != nil && c.Equals != nil:
			fail(k+".equals", "stands beside value", forms)
		case c.Value != nil:
		case c.Power < 0 || c.Power > MaxPower:
			fail(k+".sum_of_power", fmt.Sprintf("%d is out of range", c.Power), fmt.Sprintf("want a whole number from 1 to %d", MaxPower))
		case c.Power != 0 && c.Equals == nil:
			fail(k+".equals", "is missing", forms)
		case c.Power == 0 && c.Equals != nil:
			fail(k+".sum_of_power", "is missing", forms)
		case c.Power == 0:
			fail(k, "has neither value nor sum_of_power", forms)
		}
		if !ok {
			continue
		}
		a := about{c.N, c.Power}
		if j, dup := first[a]; !dup {
			first[a] = i
		} else if w := s.Checkpoints[j].Want(); w.Cmp(c.Want()) != 0 {
			v.add(k, fmt.Sprintf("contradicts checkpoints[%d]: %s and %s cannot both be right", j, quote(w.String()), quote(c.Want().String())), "want one of them")
		}
	}
}
