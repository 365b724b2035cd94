package debug

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinform/kinform/describe"
	"github.com/kinform/kinform/internal/humane"
)

// row is an informer at a glance.
type row struct {
	Name     string `json:"name"`
	Resource string `json:"resource"`
	State    string `json:"state"`
	// Health is "good", "busy" while it lists, "bad" while something fails, and "off".
	Health string    `json:"health"`
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason,omitempty"`
	Cause  string    `json:"cause,omitempty"`
	Next   time.Time `json:"nextTry,omitzero"`
	Tries  int       `json:"attempts,omitempty"`
	Synced bool      `json:"synced"`

	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Memory is all that the informer holds, in bytes.
	Memory   int64  `json:"memory"`
	Rejected uint64 `json:"rejected,omitempty"`
	// EventsPerSecond is that of the last second, -1 before there was one. Events are
	// counted since Counted.
	EventsPerSecond float64   `json:"eventsPerSecond"`
	Events          uint64    `json:"events"`
	Counted         time.Time `json:"countedSince"`
	Rates           []float64 `json:"rates"`
	// Staleness is how many seconds ago the server confirmed the state, -1 if it never
	// did.
	Staleness float64       `json:"staleness"`
	Backlog   int           `json:"backlog"`
	Handlers  []handlerLine `json:"handlers"`

	now         time.Time
	description describe.Description
}

// handlerLine is one handler of an informer.
type handlerLine struct {
	Name      string `json:"name"`
	Type      string `json:"type,omitempty"`
	Policy    string `json:"policy,omitempty"`
	Synced    bool   `json:"synced"`
	Backlog   int    `json:"backlog"`
	Delivered uint64 `json:"delivered"`
	Merged    uint64 `json:"merged"`
	Refused   uint64 `json:"refused,omitempty"`
	Panics    uint64 `json:"panics,omitempty"`
}

func (w *watcher) row(now time.Time) row {
	d := w.informer.Describe()
	memory := w.engine.Memory()
	r := row{
		Name: w.informer.name, Resource: d.Source.Name,
		State: "idle", Health: "off", Synced: d.Status.Synced,
		Objects: d.Store.Objects, Bytes: d.Store.Bytes, Rejected: d.Store.Rejected,
		Memory:          memory.Young + memory.Mapped + memory.Kept + memory.Passing + memory.Shared,
		EventsPerSecond: -1, Counted: w.began, Rates: w.chart(), Staleness: -1,
		Handlers: handlers(d), now: now, description: d,
	}
	w.mu.Lock()
	r.Events = w.events
	w.mu.Unlock()
	if n := len(r.Rates); n > 0 {
		r.EventsPerSecond = r.Rates[n-1]
	}
	for _, h := range r.Handlers {
		r.Backlog += h.Backlog
	}
	r.health(d.Status.Sources)
	return r
}

// health takes what the least healthy source says.
func (r *row) health(sources []describe.SourceStatus) {
	var oldest time.Time
	for i, s := range sources {
		if i == 0 || s.LastContact.Before(oldest) {
			oldest = s.LastContact
		}
		if i > 0 && (r.Cause != "" || s.Cause == "" && s.State == "watching") {
			continue
		}
		r.State, r.Since, r.Reason, r.Cause, r.Tries, r.Next = s.State, s.Since, s.Reason, s.Cause, s.Attempts, s.NextTry
	}
	if !oldest.IsZero() {
		r.Staleness = max(0, r.now.Sub(oldest).Seconds())
	}
	switch {
	case r.Cause != "":
		r.Health = "bad"
	case r.State == "watching" || r.State == "polling":
		r.Health = "good"
	case r.State == "listing" || r.State == "waiting":
		r.Health = "busy"
	}
}

// handlers returns those of the program. The page's own is left out.
func handlers(d describe.Description) []handlerLine {
	all := []handlerLine{}
	for _, h := range d.Handlers {
		if h.Name == subscriberName {
			continue
		}
		line := handlerLine{Name: h.Name, Type: h.Type, Synced: h.Synced}
		if q := h.Queue; q != nil {
			line.Policy, line.Backlog = q.Policy, q.Waiting
			line.Delivered, line.Merged, line.Refused, line.Panics = q.Delivered, q.Merged, q.Refused, q.Panics
		}
		all = append(all, line)
	}
	return all
}

// Text returns what stands in a cell of the page.
func (r row) Text(cell string) string {
	switch cell {
	case "state":
		return r.State
	case "cause":
		return r.cause()
	case "objects":
		return humane.Thousands(r.Objects)
	case "bytes":
		return humane.Size(r.Bytes)
	case "memory":
		return humane.Size(r.Memory)
	case "rate":
		return rate(r.EventsPerSecond)
	case "peak":
		return rate(peak(r.Rates))
	case "events":
		return humane.Thousands(r.Events)
	case "stale":
		return ago(time.Duration(r.Staleness * float64(time.Second)))
	case "backlog":
		return humane.Thousands(r.Backlog)
	case "behind":
		return r.behind()
	case "since":
		return age(r.now.Sub(r.Since))
	}
	return ""
}

// ID is what the ids of the row's elements end with.
func (r row) ID() string { return "-" + strings.ReplaceAll(r.Name, " ", "_") }

// cells are those that change.
var cells = []string{"state", "cause", "objects", "bytes", "memory", "rate", "peak", "events", "stale", "backlog", "behind", "since"}

// cause says why something fails, and when it is tried again.
func (r row) cause() string {
	if r.Cause == "" {
		return ""
	}
	text := r.Cause
	if r.Reason != "" {
		text = r.Reason + ": " + text
	}
	if r.Tries > 1 {
		text += fmt.Sprintf(" (%d times)", r.Tries)
	}
	return text
}

// behind names the handlers that have a backlog, the first few.
func (r row) behind() string {
	var parts []string
	for _, h := range r.Handlers {
		if h.Backlog > 0 && len(parts) < 3 {
			parts = append(parts, fmt.Sprintf("%s %s", h.Name, humane.Thousands(h.Backlog)))
		}
	}
	return strings.Join(parts, ", ")
}

// Chart is the line of the rates, as the path of an SVG that is 120 wide and 30 high.
func (r row) Chart() string { return chartPath(r.Rates, false) }

// Area is what is below that line.
func (r row) Area() string { return chartPath(r.Rates, true) }

func chartPath(rates []float64, filled bool) string {
	if len(rates) < 2 {
		return ""
	}
	top := max(peak(rates), 1)
	var b strings.Builder
	first := longestChart - len(rates)
	for i, v := range rates {
		letter := "L"
		if i == 0 {
			letter = "M"
		}
		fmt.Fprintf(&b, "%s%d %.1f", letter, first+i, 29-28*v/top)
	}
	if filled {
		fmt.Fprintf(&b, "V30H%dZ", first)
	}
	return b.String()
}

func peak(rates []float64) float64 {
	top := 0.0
	for _, v := range rates {
		top = max(top, v)
	}
	return top
}
