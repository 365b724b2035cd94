package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Change is a kind of write.
type Change struct {
	Kind string // such as Pod
	Verb string // create, patch or delete
}

// Totals counts writes that the server accepted.
type Totals map[Change]int

// Sum is the number of all writes.
func (t Totals) Sum() int {
	sum := 0
	for _, n := range t {
		sum += n
	}
	return sum
}

// String gives the writes by kind, such as "Event 7 created; Pod 3 created, 12 patched".
func (t Totals) String() string {
	changes := slices.SortedFunc(maps.Keys(t), func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Verb, b.Verb))
	})
	var out strings.Builder
	last := ""
	for _, c := range changes {
		past := strings.TrimSuffix(c.Verb, "e") + "ed"
		switch {
		case c.Kind == last:
			fmt.Fprintf(&out, ", %d %s", t[c], past)
		case last == "":
			fmt.Fprintf(&out, "%s %d %s", c.Kind, t[c], past)
		default:
			fmt.Fprintf(&out, "; %s %d %s", c.Kind, t[c], past)
		}
		last = c.Kind
	}
	return out.String()
}

// counts is where the totals grow.
type counts struct {
	mu     sync.Mutex
	totals Totals // guarded by mu
}

func (c *counts) add(kind, verb string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.totals == nil {
		c.totals = Totals{}
	}
	c.totals[Change{kind, verb}] += n
}

func (c *counts) sum() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.totals.Sum()
}

// Totals returns what was written since New.
func (c *Cluster) Totals() Totals {
	c.counts.mu.Lock()
	defer c.counts.mu.Unlock()
	if c.counts.totals == nil {
		return Totals{}
	}
	return maps.Clone(c.counts.totals)
}

// wrote passes an error of a write on, and counts the write if there is none.
func (c *Cluster) wrote(kind, verb string, err error) error {
	if err == nil {
		c.counts.add(kind, verb, 1)
	}
	return err
}
