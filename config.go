package kinform

import (
	"reflect"
	"slices"
	"strings"

	"github.com/kinform/kinform/describe"
)

// Describe returns the informer's whole running configuration and state, defaults
// filled in, as of now: what is requested and how, the handlers, the health. Print
// it, or marshal it to JSON. It contains no object data.
func (inf *Informer[T]) Describe() describe.Description {
	d := inf.core.describe()
	d.ObjectType = inf.view.Name
	return d
}

// Describe returns the configuration and state of each informer, as of now.
func (f *Factory) Describe() []describe.Description {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []describe.Description
	for _, s := range f.cores {
		all = append(all, s.describe())
	}
	return all
}

func (c *core) describe() describe.Description {
	d := describe.Engine(c.Informer, c.Subscriptions())
	d.Informer = "kinform.Informer"
	d.Source.Name = c.current().String()
	d.Source.Query(c.current())
	namespaces := c.Namespaces()
	switch {
	case len(namespaces) == 0:
		d.Source.Name += ", nothing of it"
	case namespaces[0] != "":
		d.Source.Namespaces = namespaces
	}
	d.Source.Compression = c.options.Compression.String()
	d.Source.ErrorHandler = c.hooks.names()
	d.Store.MutationDetector = c.options.MutationDetector != MutationDetectorOff
	d.Store.MutationDetection = c.options.MutationDetector.String()
	d.Store.Mutated, _ = c.hooks.mutationsFound()
	types := c.views.names()
	d.ObjectType = strings.Join(types, ", ")
	if len(types) > 1 {
		d.Views = types
	}
	return d
}

// Measure describes the informer for package metrics, and has it measure its handlers and
// reads from the first call on. It is nil once Run has returned.
func (inf *Informer[T]) Measure() []describe.Description { return measured(inf.core) }

// Measure describes the informers that have not ended for package metrics, and has them
// measure their handlers and reads from the first call on.
func (f *Factory) Measure() []describe.Description {
	f.mu.Lock()
	var cores []*core
	for _, s := range f.cores {
		if !s.over {
			cores = append(cores, s.core)
		}
	}
	f.mu.Unlock()
	return measured(cores...)
}

var _, _ describe.Measurer = (*Factory)(nil), (*Informer[any])(nil)

func measured(cores ...*core) (all []describe.Description) {
	for _, c := range cores {
		d := describe.Measured(c.Informer, c.Subscriptions())
		if d.Status.Stopped {
			continue
		}
		d.Informer = "kinform.Informer"
		d.Source.Query(c.current())
		if namespaces := c.Namespaces(); len(namespaces) > 0 && namespaces[0] != "" {
			d.Source.Namespaces = namespaces
		}
		d.Store.Mutated, _ = c.hooks.mutationsFound()
		all = append(all, d)
	}
	return all
}

// names returns the types that the objects are read as.
func (v *views) names() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names []string
	for t := range v.known {
		names = append(names, reflect.PointerTo(t).String())
	}
	slices.Sort(names)
	return names
}
