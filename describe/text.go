package describe

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinform/kinform/internal/plain"
)

// String is the description for people: indented, a line for each thing, defaults
// spelled out.
func (d Description) String() string {
	t := &text{}
	t.line(0, d.Source.Name, "")
	t.line(1, "informer", d.Informer)
	t.line(1, "object type", d.ObjectType)
	if len(d.Views) > 0 {
		t.line(1, "read as", strings.Join(d.Views, ", "))
	}
	d.source(t)
	if d.Queue != "" {
		t.line(1, "queue", d.Queue)
	}
	t.line(1, "resync", d.resync())
	d.store(t)
	if d.Sharing != nil {
		t.line(1, "shares a watch", or(strings.Join(d.Sharing.With, ", "), "with nobody at the moment"))
	}
	d.handlers(t)
	d.status(t)
	return t.String()
}

// text is lines of names and values, indented.
type text struct{ strings.Builder }

// column is where the values of a level begin.
const column = 24

// line writes a name and its value, which may be anything: names of the program's, errors
// of the server's, keys of objects.
func (t *text) line(level int, name, value string) {
	name, value = plain.Text(name), plain.Text(value)
	indent := strings.Repeat("  ", level)
	if value == "" {
		fmt.Fprintf(t, "%s%s\n", indent, name)
		return
	}
	fmt.Fprintf(t, "%-*s %s\n", column-1, indent+name, value)
}

func (d Description) source(t *text) {
	s := d.Source
	t.line(1, "source", or(s.Via, "unknown"))
	if s.Resource != "" {
		t.line(2, "resource", s.Resource)
		t.line(2, "namespaces", or(strings.Join(s.Namespaces, ", "), "all"))
		t.line(2, "labels", or(s.LabelSelector, "any"))
		t.line(2, "fields", or(s.FieldSelector, "any"))
		t.line(2, "encoding", s.Encoding+when(s.MetadataOnly, ", metadata only"))
	}
	if s.Tweak != "" {
		t.line(2, "tweaked by", s.Tweak)
	}
	if s.List != "" {
		t.line(2, "list", s.List+when(s.FromCache, ", the first one from the server's cache"))
	}
	if s.Compression != "" {
		t.line(2, "compression", s.Compression)
	}
	t.line(2, "page size", when(s.PageSize > 0, fmt.Sprint(s.PageSize), "none"))
	if s.MaxObjectSize > 0 {
		t.line(2, "largest object", fmt.Sprintf("%d bytes", s.MaxObjectSize))
	}
	if s.DropManagedFields {
		t.line(2, "managed fields", "dropped")
	}
	if s.Silence > 0 {
		t.line(2, "silence", "at most "+s.Silence.String())
	}
	if s.Backoff != nil {
		t.line(2, "backoff", fmt.Sprintf("%v, doubled up to %v", s.Backoff.First, s.Backoff.Most))
	}
	if s.Policy != "" {
		t.line(2, "if refused", s.Policy)
	}
	t.line(2, "error handler", or(s.ErrorHandler, "default"))
}

func (d Description) resync() string {
	switch {
	case d.Resync.Default > 0 && d.Resync.Check > 0:
		return fmt.Sprintf("every %v, looked at every %v", d.Resync.Default, d.Resync.Check)
	case d.Resync.Default > 0:
		return fmt.Sprintf("every %v", d.Resync.Default)
	}
	return "never, unless a handler says otherwise"
}

func (d Description) store(t *text) {
	s := d.Store
	size := ""
	if s.Bytes > 0 {
		size = fmt.Sprintf(", %d bytes in %d", s.Bytes, s.Packed)
	}
	t.line(1, "store", fmt.Sprintf("%d objects%s", s.Objects, size))
	if s.Held != "" {
		t.line(2, "held as", s.Held)
	}
	t.line(2, "indexes", or(strings.Join(s.Indexes, ", "), "none"))
	t.line(2, "transform", or(s.Transform, "none"))
	if s.Residency != "" {
		t.line(2, "decoded objects", s.Residency)
	}
	for _, o := range s.Decoded {
		t.line(3, o.Why, fmt.Sprintf("%d, about %d bytes, since %s", o.Objects, o.Bytes, o.Since.Format(time.RFC3339)))
	}
	t.line(2, "mutation detector", or(s.MutationDetection, when(s.MutationDetector, "on", "off")))
	if s.Rejected > 0 {
		t.line(2, "rejected", fmt.Sprintf("%d", s.Rejected)+when(s.LastRejected != "", ", last "+s.LastRejected))
	}
}

func (d Description) handlers(t *text) {
	t.line(1, "handlers", when(len(d.Handlers) == 0, "none", fmt.Sprint(len(d.Handlers))))
	for _, h := range d.Handlers {
		t.line(2, h.Name, "")
		if h.Type != "" {
			t.line(3, "type", h.Type)
		}
		t.line(3, "resync", when(h.Resync > 0, "every "+h.Resync.String(), "never"))
		t.line(3, "synced", yes(h.Synced))
		if q := h.Queue; q != nil {
			t.line(3, "gets", q.Policy+when(q.Limit > 0, fmt.Sprintf(", merged per object if more than %d wait", q.Limit)))
			t.line(3, "queue", fmt.Sprintf("%d wait, %d delivered, %d merged", q.Waiting, q.Delivered, q.Merged)+
				when(q.Refused > 0, fmt.Sprintf(", %d refused", q.Refused))+
				when(q.Panics > 0, fmt.Sprintf(", %d panics", q.Panics)))
		}
	}
}

func (d Description) status(t *text) {
	s := d.Status
	t.line(1, "started", yes(s.Started)+when(s.Stopped, ", and stopped"))
	t.line(1, "synced", yes(s.Synced))
	t.line(1, "resource version", or(s.Version, "none"))
	for _, src := range s.Sources {
		t.line(1, "status of "+src.Source, "")
		t.line(2, "state", src.State+d.ago(", since ", src.Since))
		t.line(2, "last contact", or(strings.TrimPrefix(d.ago(" ", src.LastContact), " "), "never"))
		t.line(2, "resource version", or(src.Version, "none"))
		t.line(2, "last list", fmt.Sprintf("%d objects, %d bytes", src.Listed, src.Received))
		t.line(2, "requests", fmt.Sprintf("%d lists, %d watches", src.Lists, src.Watches)+
			when(src.Expired > 0, fmt.Sprintf(", version forgotten %d times", src.Expired))+
			when(src.Epochs > 0, fmt.Sprintf(", history went back %d times", src.Epochs))+
			when(src.Stale > 0, fmt.Sprintf(", %d stale events left out", src.Stale)))
		if src.Snapshot != "" {
			t.line(2, "snapshot", oneLine(src.Snapshot))
		}
		if src.Cause != "" {
			t.line(2, "failing", fmt.Sprintf("%s, %d times: %s", src.Reason, src.Attempts, oneLine(src.Cause)))
		}
		if !src.NextTry.IsZero() {
			t.line(2, "next try", "in "+src.NextTry.Sub(d.At).Round(100*time.Millisecond).String())
		}
	}
}

// ago says how long before the description something was; "" if it was not.
func (d Description) ago(before string, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return before + max(d.At.Sub(at), 0).Round(100*time.Millisecond).String() + " ago"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func when(condition bool, s string, otherwise ...string) string {
	switch {
	case condition:
		return s
	case len(otherwise) > 0:
		return otherwise[0]
	}
	return ""
}

func yes(b bool) string { return when(b, "yes", "no") }
