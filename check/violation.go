package check

import (
	"errors"
	"fmt"
	"strings"
)

// Rule is a part of the contract.
type Rule string

// The rules that are checked.
const (
	// Overlap: calls of one handler do not overlap.
	Overlap Rule = "overlap"
	// Order: Added, then Updated, then Deleted; never Updated before Added.
	Order Rule = "order"
	// Version: the states of an object do not step back.
	Version Rule = "version"
	// Before: an event's old state is the one that was delivered before.
	Before Rule = "before"
	// StoreFirst: the store has what is delivered to a handler, or something newer.
	StoreFirst Rule = "store-first"
	// Content: an event carries the object that it names, whole.
	Content Rule = "content"
	// Stopped: no call after Stop has returned.
	Stopped Rule = "stopped"
	// Shadow: what was delivered to a subscriber adds up to what the server has.
	Shadow Rule = "shadow"
	// Store: the store equals the server.
	Store Rule = "store"
	// LateJoiner: a subscriber that joins gets each stored object once.
	LateJoiner Rule = "late-joiner"
	// Indexed: the indexes find what their functions say of the server's objects.
	Indexed Rule = "index"
)

// Violation is one breach of the contract.
type Violation struct {
	Rule Rule
	// Informer and Subscriber name who saw it; Subscriber is "" for the store.
	Informer, Subscriber string
	Key                  string
	// Want is what the contract asks for, Got what happened. They name versions and
	// fields, and never show what is in them: an object may hold secrets.
	Want, Got string
	// Recent are the last events of the object, as the subscriber got them.
	Recent []string
}

// String is for people: what happened, then the object's last events.
func (v Violation) String() string {
	var b strings.Builder
	b.WriteString(string(v.Rule) + ": " + v.Informer)
	if v.Subscriber != "" {
		b.WriteString(", " + v.Subscriber)
	}
	fmt.Fprintf(&b, ": %s: %s, want %s", v.Key, v.Got, v.Want)
	for _, line := range v.Recent {
		b.WriteString("\n\t" + line)
	}
	return b.String()
}

// record keeps a violation, while there are not too many.
func (c *Checker) record(v Violation) {
	v.Informer = c.options.Name
	c.mu.Lock()
	c.total++
	keep := len(c.violations) < c.options.Keep
	if keep {
		c.violations = append(c.violations, v)
	}
	c.mu.Unlock()
	if keep && c.options.OnViolation != nil {
		c.options.OnViolation(v)
	}
}

// Violations returns what was found wrong, the first Options.Keep of it, and how
// many there were in all.
func (c *Checker) Violations() (first []Violation, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Violation(nil), c.violations...), c.total
}

// Err returns what was found wrong as one error, nil if nothing was.
func (c *Checker) Err() error {
	first, total := c.Violations()
	if total == 0 {
		return nil
	}
	errs := []error{fmt.Errorf("%s: %d violations of the informer's contract", c.options.Name, total)}
	for _, v := range first[:min(len(first), 10)] {
		errs = append(errs, errors.New(v.String()))
	}
	return errors.Join(errs...)
}
