// Package predicate has conditions on updates: did the spec change, or the labels, did a
// condition become true? They are asked of the bytes of both states, so that an update
// that nobody wants is not decoded, and of objects where there are no bytes, with the
// same answers.
//
// Package kinform takes them in Informer.Filter, the drop-in package cache in
// FilteringUpdateHandler:
//
//	filter, err := pods.Filter(predicate.SpecChanged(), predicate.LabelsChanged())
//	…
//	pods.Subscribe(handle, kinform.SubscribeOptions{Filter: filter})
//
//	informer.AddEventHandler(cache.FilteringUpdateHandler{
//		Predicate: predicate.Any(predicate.GenerationChanged(), predicate.LabelsChanged()),
//		Handler:   handler,
//	})
//
// What may live here: questions about two states of one object. What may not: events,
// handlers, and questions that need more than both states.
package predicate

import (
	"cmp"
	"slices"

	"github.com/kinform/kinform/wire"
)

// Predicate is a condition on an update. The zero value accepts every update.
type Predicate struct{ of *condition }

// condition is a condition whose paths are not bound to a type yet, or are.
type condition struct {
	op    op
	text  string
	path  wire.Path
	err   error  // what is wrong with the path
	value string // that a text has become
	parts []*condition
}

type op uint8

const (
	changed op = iota
	became
	anyOf
	allOf
)

// Changed accepts an update that changes what an object has at a path, as kubectl's
// JSONPath writes it: "spec.replicas", "metadata.annotations['example.com/owner']",
// "status.conditions[?(@.type=='Ready')]".
func Changed(path string) Predicate {
	p, err := wire.ParsePart(path, nil)
	return Predicate{&condition{op: changed, text: path, path: p, err: err}}
}

// GenerationChanged accepts an update that changes metadata.generation. For most kinds,
// servers increment it when the spec changes; updates of kinds that have none
// (ConfigMap, Secret, Event, Pod before Kubernetes 1.33) are never accepted.
func GenerationChanged() Predicate { return Changed("metadata.generation") }

// LabelsChanged accepts an update that changes the labels.
func LabelsChanged() Predicate { return Changed("metadata.labels") }

// AnnotationsChanged accepts an update that changes the annotations.
func AnnotationsChanged() Predicate { return Changed("metadata.annotations") }

// SpecChanged accepts an update that changes the spec.
func SpecChanged() Predicate { return Changed("spec") }

// StatusChanged accepts an update that changes the status.
func StatusChanged() Predicate { return Changed("status") }

// ConditionChanged accepts an update that changes the status ("True", "False",
// "Unknown") of the condition of a type ("Ready"), or adds or removes that condition. A
// new reason, message or time does not count.
func ConditionChanged(conditionType string) Predicate { return Changed(statusOf(conditionType)) }

// ConditionBecame accepts an update after which the condition of a type has the given
// status, such as "Ready" and "True", and before which it had another status or was
// missing. With the status "" it accepts the removal of the condition.
//
// Informers that merge waiting updates compare the first state with the last: a
// condition that became true and then false again in between is not reported.
func ConditionBecame(conditionType, status string) Predicate {
	p := Changed(statusOf(conditionType))
	p.of.op, p.of.value = became, status
	return p
}

func statusOf(conditionType string) string {
	return `status.conditions[?(@.type=="` + conditionType + `")].status`
}

// Any accepts an update if at least one of the predicates does. Without predicates, it
// accepts everything.
func Any(predicates ...Predicate) Predicate { return group(anyOf, predicates) }

// All accepts an update if all of the predicates do.
func All(predicates ...Predicate) Predicate { return group(allOf, predicates) }

func group(op op, predicates []Predicate) Predicate {
	g := &condition{op: op}
	for _, p := range predicates {
		if p.of != nil {
			g.parts = append(g.parts, p.of)
		}
	}
	if len(g.parts) == 0 || op == anyOf && len(g.parts) < len(predicates) {
		return Predicate{} // one of them accepts everything
	}
	return Predicate{g}
}

// String says what is accepted, for people.
func (p Predicate) String() string { return p.of.String() }

func (c *condition) String() string {
	if c == nil {
		return "every update"
	}
	switch c.op {
	case changed:
		return c.text + " changed"
	case became:
		return c.text + " became " + cmp.Or(c.value, "none")
	}
	word, text := " or ", ""
	if c.op == allOf {
		word = " and "
	}
	for i, part := range c.parts {
		if i > 0 {
			text += word
		}
		if len(part.parts) > 1 {
			text += "(" + part.String() + ")"
		} else {
			text += part.String()
		}
	}
	return text
}

// holds asks the condition, with answers for each path.
func (c *condition) holds(ask func(*condition) bool) bool {
	switch c.op {
	case anyOf:
		return slices.ContainsFunc(c.parts, func(part *condition) bool { return part.holds(ask) })
	case allOf:
		return !slices.ContainsFunc(c.parts, func(part *condition) bool { return !part.holds(ask) })
	}
	return ask(c)
}
