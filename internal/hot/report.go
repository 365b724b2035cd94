package hot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Report is what has changed most.
type Report struct {
	Seconds    float64 `json:"seconds"`
	Changes    uint64  `json:"changes"`
	Kinds      []Row   `json:"kinds"`
	Namespaces []Row   `json:"namespaces"`
	Objects    []Row   `json:"objects"`
	Managers   []Row   `json:"managers"`
	// Findings are what needs somebody's attention.
	Findings []Finding `json:"findings"`
}

// Row is one thing that changes.
type Row struct {
	Name string `json:"name"`
	// Resource is that of an object.
	Resource string `json:"resource,omitempty"`
	Changes  uint64 `json:"changes"`
	// Over is by how much Changes may be too high.
	Over    uint64 `json:"over,omitempty"`
	Added   uint64 `json:"added"`
	Updated uint64 `json:"updated"`
	Deleted uint64 `json:"deleted"`
	// Rate is the number of changes a second lately, Mean that of all the time.
	Rate float64 `json:"rate"`
	Mean float64 `json:"mean"`
	// Managers are who changes an object, and Fields what they change, most often first.
	Managers []string `json:"managers,omitempty"`
	Fields   []string `json:"fields,omitempty"`
}

// The kinds of findings.
const (
	Fight = "fight" // managers change the same field in turn
	Loop  = "loop"  // one manager changes an object again and again
)

// Finding is something that looks wrong. Text says it in a sentence.
type Finding struct {
	Kind     string    `json:"kind"`
	Text     string    `json:"text"`
	Resource string    `json:"resource"`
	Key      string    `json:"key"`
	Managers []string  `json:"managers"`
	Field    string    `json:"field,omitempty"`
	Times    uint64    `json:"times"`
	Seconds  float64   `json:"seconds"`
	Last     time.Time `json:"last"`
}

func (f Finding) sentence() string {
	often := fmt.Sprintf("%d times in %.0f s", f.Times, max(1, f.Seconds))
	if f.Kind == Fight {
		return fmt.Sprintf("%s %s: %s change %s in turn, %s", f.Resource, f.Key, both(f.Managers), f.Field, often)
	}
	who := "somebody changes"
	if len(f.Managers) > 0 {
		who = "manager " + f.Managers[0] + " changes"
	}
	what := f.Field
	if what == "" {
		what = "nothing but bookkeeping"
	}
	return fmt.Sprintf("%s %s: %s %s again and again, %s", f.Resource, f.Key, who, what, often)
}

func both(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return "managers " + strings.Join(names, "")
	}
	return "managers " + strings.Join(names[:last], ", ") + " and " + names[last]
}

// When changes are a finding.
const (
	leastTurns    = 4   // of a fight: A, B, A, B, A
	leastUpdates  = 20  // of a loop
	leastRate     = 1   // of a loop, a second, all the time that was looked at
	leastOfLooper = 0.8 // of a loop, what one manager wrote of what is known
)

// Report returns the things that have changed most, so many of each kind, and all
// findings.
func (t *Tracker) Report(now time.Time, rows int) Report {
	return t.report(now, rows, func(a, b *entry) int { return cmp.Compare(b.count, a.count) })
}

// Lately is Report with the things that change most at the moment.
func (t *Tracker) Lately(now time.Time, rows int) Report {
	return t.report(now, rows, func(a, b *entry) int { return cmp.Compare(b.rateAt(now), a.rateAt(now)) })
}

func (t *Tracker) report(now time.Time, rows int, order func(a, b *entry) int) Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	lasted := max(now.Sub(t.began).Seconds(), 0.001)
	of := func(c *counter) []Row {
		all := slices.SortedFunc(slices.Values(c.least), func(a, b *entry) int { return cmp.Or(order(a, b), cmp.Compare(a.name, b.name)) })
		out := []Row{}
		for _, e := range all[:min(len(all), rows)] {
			out = append(out, e.row(now, lasted))
		}
		return out
	}
	return Report{
		Seconds: lasted, Changes: t.changes, Kinds: of(t.kinds), Namespaces: of(t.namespaces), Objects: of(t.objects),
		Managers: of(t.managers), Findings: t.findings(lasted),
	}
}

// row is what is reported of an entry. A rate of less time than the window is of that
// time.
func (e *entry) row(now time.Time, lasted float64) Row {
	r := Row{
		Name: e.name, Changes: e.count, Over: e.over, Added: e.added, Updated: e.updated, Deleted: e.deleted,
		Rate: e.rateAt(now) / (1 - math.Exp(-lasted/window.Seconds())), Mean: float64(e.count) / lasted,
	}
	if o := e.object; o != nil {
		r.Resource, r.Name = o.kind, o.key
		r.Managers = names(o.writers)
		for _, f := range o.often() {
			r.Fields = append(r.Fields, f.path)
		}
	}
	return r
}

// names are managers, who changed most first.
func names(all []writer) []string {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b writer) int { return cmp.Compare(b.count, a.count) })
	var out []string
	for _, w := range all {
		out = append(out, w.name)
	}
	return out
}

// often are the fields, those that changed most first.
func (o *object) often() []*field {
	fields := slices.Clone(o.fields)
	slices.SortStableFunc(fields, func(a, b *field) int { return cmp.Compare(b.count, a.count) })
	return fields
}

// findings returns the fights, then the loops.
func (t *Tracker) findings(lasted float64) []Finding {
	found := []Finding{}
	for _, e := range t.objects.least {
		fights := e.object.fights()
		found = append(found, fights...)
		if len(fights) > 0 {
			continue
		}
		if f, ok := e.loop(lasted); ok {
			found = append(found, f)
		}
	}
	for i := range found {
		found[i].Text = found[i].sentence()
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.Times, a.Times), cmp.Compare(a.Key, b.Key))
	})
	return found
}

// fights are the fields of an object that managers change in turn.
func (o *object) fights() []Finding {
	var found []Finding
	for _, f := range o.fields {
		if f.turns >= leastTurns {
			found = append(found, Finding{
				Kind: Fight, Resource: o.kind, Key: o.key, Managers: slices.Sorted(slices.Values(names(f.rivals))), Field: f.path,
				Times: f.turns, Seconds: f.until.Sub(f.since).Seconds(), Last: f.until,
			})
		}
	}
	return found
}

// loop finds out whether one manager changes the object all the time.
func (e *entry) loop(lasted float64) (Finding, bool) {
	if e.updated < leastUpdates || max(float64(e.updated)/lasted, e.rate) < leastRate {
		return Finding{}, false
	}
	f := Finding{
		Kind: Loop, Resource: e.object.kind, Key: e.object.key, Times: e.updated, Seconds: e.last.Sub(e.since).Seconds(), Last: e.last,
	}
	if who := names(e.object.writers); len(who) > 0 {
		var known, most uint64
		for _, w := range e.object.writers {
			known, most = known+w.count, max(most, w.count)
		}
		if float64(most) < leastOfLooper*float64(known) {
			return Finding{}, false
		}
		f.Managers = who[:1]
	}
	if fields := e.object.often(); len(fields) > 0 {
		f.Field = fields[0].path
	}
	return f, true
}
