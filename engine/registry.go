package engine

import (
	"fmt"
	"strings"
)

// Registry finds engines by name. It is fixed once built, so it needs no lock.
type Registry struct {
	order []Engine
	byKey map[string]Engine
}

// NewRegistry returns a registry of the given engines. It panics when two have
// the same name: that is a programming error, not an input.
func NewRegistry(engines ...Engine) *Registry {
	r := &Registry{byKey: map[string]Engine{}}
	for _, e := range engines {
		name := e.Info().Name
		if _, dup := r.byKey[name]; dup {
			panic("engine: two engines are named " + name)
		}
		r.byKey[name] = e
		r.order = append(r.order, e)
	}
	return r
}

// Get returns the named engine, or an error that lists the known ones.
func (r *Registry) Get(name string) (Engine, error) {
	if e, ok := r.byKey[name]; ok {
		return e, nil
	}
	return nil, fmt.Errorf("unknown engine %q, want one of %s", name, strings.Join(r.Names(), ", "))
}

// All returns the engines in the order they were registered.
func (r *Registry) All() []Engine { return r.order }

// Names returns the engines' names in the order they were registered.
func (r *Registry) Names() []string {
	names := make([]string, len(r.order))
	for i, e := range r.order {
		names[i] = e.Info().Name
	}
	return names
}
