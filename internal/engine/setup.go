package engine

import (
	"errors"
	"slices"
)

// What an informer was made with, for descriptions of it. Nothing here is on the path
// of an event.

// ReflectorOptions returns the options of the informer's reflectors, with their
// defaults.
func (inf *Informer) ReflectorOptions() ReflectorOptions {
	inf.mu.Lock()
	defer inf.mu.Unlock()
	return inf.options.withDefaults()
}

// Namespaces returns the namespaces of the informer's reflectors, sorted; "" is
// all.
func (inf *Informer) Namespaces() []string {
	var all []string
	for _, r := range inf.all() {
		all = append(all, r.part.namespace)
	}
	slices.Sort(all)
	return all
}

// Residency says for how long objects stay decoded.
func (c *Collection) Residency() Residency { return c.resident.mode }

// Options returns the subscriber's options, with their defaults.
func (s *Subscription) Options() SubscribeOptions {
	o := s.options
	o.Limit = s.queue.limit
	return o
}

// RejectedKey returns the key of the object that an error of Rejected is about,
// or "" if it is not known.
func RejectedKey(err error) string {
	var known *rejection
	if errors.As(err, &known) {
		return known.key
	}
	return ""
}
