// Package inside is what the page in package debug sees of an informer, whoever made
// it: its engine, its description, and a way to read the fields of a record.
//
// What may live here: that seam. What may not: anything that is shown.
package inside

import (
	"iter"

	"github.com/kinform/kinform/describe"
	"github.com/kinform/kinform/internal/engine"
)

// Informer is one informer, seen from inside. It holds on to nothing that changes: each
// function answers as of now.
type Informer struct {
	// Engine is what it runs on. It may be another one after it was started.
	Engine func() *engine.Informer
	// Describe returns its configuration and state.
	Describe func() describe.Description
	// Fields returns an object as JSON has it, which may be changed. Nothing stays decoded
	// for it. For a Secret, the error quotes nothing.
	Fields func(*engine.Record) (map[string]any, error)
	// IndexValues returns every value of an index that some object has, ByIndex yields the
	// objects that have one.
	IndexValues func(index string) []string
	ByIndex     func(index, value string) iter.Seq[*engine.Record]
	// Secret: the objects are Secrets.
	Secret bool
}

// One is an informer that can be looked into.
type One interface{ Inside() Informer }

// Many is what has such informers. They are asked for each time, as more may come.
type Many interface{ Inside() []Informer }

// Of returns those of several informers that can be looked into.
func Of[T any](informers []T) []Informer {
	var all []Informer
	for _, i := range informers {
		if one, ok := any(i).(One); ok {
			all = append(all, one.Inside())
		}
	}
	return all
}
