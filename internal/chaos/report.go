package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinform/kinform"
	"github.com/kinform/kinform/check"
)

// Report is what a run did and found.
type Report struct {
	Server string
	Seed   uint64
	Time   time.Duration
	// Writes counts changes that the server took.
	Writes uint64
	// Delivered counts the events that were delivered to subscribers.
	Delivered check.Delivered
	// Faults counts what was injected, by kind.
	Faults map[string]uint64
	// Reads counts objects that readers got while others wrote.
	Reads uint64
	// Comparisons counts views of informers that were compared with the server,
	// Quiet the points in time when all were; Slowest is how long it took at most
	// until everything was equal after one began.
	Comparisons, Quiet int
	// Verified counts how often informers have compared themselves.
	Verified int
	Slowest  time.Duration
	// Informers counts those that ran; Lists, Watches, Expired and Epochs are what
	// the native ones did.
	Informers                       int
	Lists, Watches, Expired, Epochs uint64
	// Panics counts those of handlers, Joined the subscribers that came and went.
	Panics, Joined uint64
	// Resumed counts the informers that came back and went on from their disk, Listed
	// those whose disk was set aside, as the server had gone back, or much had changed.
	Resumed, Listed uint64
	// Rescoped counts how often the scope of an informer was changed.
	Rescoped uint64
	// Violated counts violations of the contract; Violations are the first of them.
	Violated   int
	Violations []check.Violation
	// Memory is what the whole process took: informers, checkers and proxies, and the
	// embedded server if that is the one.
	Memory Memory

	left tally // of informers that have gone
}

// tally is what an informer has done.
type tally struct {
	delivered                       check.Delivered
	lists, watches, expired, epochs uint64
	violated                        int
	violations                      []check.Violation
}

func newReport(server string, seed uint64) *Report {
	return &Report{Server: server, Seed: seed, Faults: map[string]uint64{}}
}

func (r *Report) compared(took time.Duration, views int) {
	r.Quiet++
	r.Comparisons += views
	r.Slowest = max(r.Slowest, took)
}

// returned counts an informer that came with what was on its disk.
func (r *Report) returned(s kinform.SnapshotStatus) {
	switch {
	case s.Restored == 0: // it was the first
	case s.SetAside == nil:
		r.Resumed++
	default:
		r.Listed++
	}
}

func (r *Report) faults() (n uint64) {
	for _, k := range r.Faults {
		n += k
	}
	return n
}

// kinds are those of the faults, the most frequent first.
func (r *Report) kinds() []string {
	return slices.SortedFunc(maps.Keys(r.Faults), func(a, b string) int {
		if c := int(r.Faults[b]) - int(r.Faults[a]); c != 0 {
			return c
		}
		return strings.Compare(a, b)
	})
}

// String is a table for people.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "chaos on %s, seed %d, %s\n", r.Server, r.Seed, r.Time.Round(time.Second))
	row := func(name string, value any) { fmt.Fprintf(&b, "  %-34s %10v\n", name, value) }
	row("writes", r.Writes)
	row("events delivered", r.Delivered.Total())
	row("  changes", r.Delivered.Changes)
	row("  what was there, to who joined", r.Delivered.Initial)
	row("  reminders", r.Delivered.Reminders)
	row("objects read meanwhile", r.Reads)
	row("faults injected", r.faults())
	for _, kind := range r.kinds() {
		row("  "+kind, r.Faults[kind])
	}
	row("informers", r.Informers)
	row("  came back with what is on disk", r.Resumed+r.Listed)
	row("  of those, set aside", r.Listed)
	row("changes of a scope", r.Rescoped)
	row("subscribers that came and went", r.Joined)
	row("handlers' panics", r.Panics)
	row("lists", r.Lists)
	row("watches", r.Watches)
	row("versions forgotten (410)", r.Expired)
	row("new epochs", r.Epochs)
	row("quiet points", r.Quiet)
	row("comparisons with the server", r.Comparisons)
	row("verified by the informers", r.Verified)
	row("slowest to be equal", r.Slowest.Round(time.Millisecond))
	row("of one core", fmt.Sprintf("%.0f%%", 100*r.Memory.CPU()))
	for _, g := range r.Memory.Growth() {
		row(g.Name, fmt.Sprintf("%s after %s, %s at the end; quarters %s, %s (%s)", g.amount(g.AtWarmup), r.Memory.Warmup.Round(time.Second),
			g.amount(g.AtEnd), g.amount(g.First), g.amount(g.Last), g.verdict()))
	}
	row("divergences", r.Violated)
	for _, v := range r.Violations[:min(len(r.Violations), 20)] {
		fmt.Fprintf(&b, "%s\n", v)
	}
	return b.String()
}

func (t *tally) add(o tally) {
	t.delivered.Initial += o.delivered.Initial
	t.delivered.Changes += o.delivered.Changes
	t.delivered.Reminders += o.delivered.Reminders
	t.lists += o.lists
	t.watches += o.watches
	t.expired += o.expired
	t.epochs += o.epochs
	t.violated += o.violated
	t.violations = append(t.violations, o.violations...)
}

// collect brings the report up to date.
func (r *run) collect() {
	t := r.report.left
	t.violations = slices.Clone(t.violations)
	r.wrongMu.Lock()
	t.add(r.wrong)
	r.wrongMu.Unlock()
	for _, m := range r.members {
		t.add(m.tally())
	}
	rep := r.report
	rep.Writes = r.writers.written.Load()
	rep.Delivered, rep.Lists, rep.Watches, rep.Expired, rep.Epochs = t.delivered, t.lists, t.watches, t.expired, t.epochs
	rep.Panics, rep.Violated, rep.Violations = r.panicked.Load(), t.violated, t.violations
	rep.Reads, rep.Rescoped = r.reads.Load(), r.rescoped.Load()
	if n := r.jumped.Load(); n > 0 {
		rep.Faults[clockFault] = n
	}
	mild := r.mild.Counts()
	for kind, n := range r.proxy.Counts() {
		rep.Faults[string(kind)] = n + mild[kind]
	}
}
