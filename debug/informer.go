package debug

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kinform/kinform/describe"
	"github.com/kinform/kinform/internal/humane"
)

// detail is one informer.
type detail struct {
	row
	Key    string `json:"q,omitempty"`
	Labels string `json:"l,omitempty"`

	Description describe.Description `json:"description"`
	Settings    []setting            `json:"-"`
	Holds       []setting            `json:"-"`
	History     []moment             `json:"history"`
	Indexes     []indexLine          `json:"indexes"`
	Hottest     []hotObject          `json:"hottest"`
	Biggest     []objectLine         `json:"biggest"`
	Changes     []shownChange        `json:"changes"`
	Secret      bool                 `json:"redacted,omitempty"`
}

// setting is something with its name.
type setting struct{ Name, Value string }

// moment is a state that the informer went through.
type moment struct {
	Source string    `json:"source,omitempty"`
	At     time.Time `json:"at"`
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
	Cause  string    `json:"cause,omitempty"`
	Times  int       `json:"times"`
	Last   time.Time `json:"last"`
}

// indexLine is an index at a glance.
type indexLine struct {
	Name   string `json:"name"`
	Values int    `json:"values"`
}

func (h *Handler) informer(r *http.Request) (detail, *refusal) {
	w, p := h.chosen(r)
	if p != nil {
		return detail{}, p
	}
	asked, p := queries(r.URL.Query(), "q", "l")
	if p != nil {
		return detail{}, p
	}
	f, p := filterOf(asked[0], asked[1])
	if p != nil {
		return detail{}, p
	}
	d := detail{row: w.row(time.Now()), Key: asked[0], Labels: asked[1], Secret: w.informer.Secret, Indexes: []indexLine{}}
	d.Description = d.row.description
	d.Description.Handlers = slices.DeleteFunc(d.Description.Handlers, func(h describe.Handler) bool { return h.Name == subscriberName })
	d.Settings, d.Holds = settings(d.Description), w.holds(d.Description)
	d.History, d.Hottest, d.Changes = w.history(), w.hottest(), w.changes(f)
	d.Biggest = biggest(w.engine.All(), mostRecords)
	for _, name := range d.Description.Store.Indexes {
		d.Indexes = append(d.Indexes, indexLine{name, len(w.informer.IndexValues(name))})
	}
	return d, nil
}

func (h *Handler) informerPage(w http.ResponseWriter, r *http.Request) *refusal {
	d, p := h.informer(r)
	if p != nil {
		return p
	}
	return h.html(w, sheet{
		Heading: d.Name, View: "informer", JSON: address("informer.json", "i", d.Name),
		Live: address("live", "i", d.Name, "q", d.Key, "l", d.Labels), Body: d,
	})
}

func (h *Handler) informerJSON(w http.ResponseWriter, r *http.Request) *refusal {
	d, p := h.informer(r)
	if p != nil {
		return p
	}
	return asJSON(w, d)
}

func (h *Handler) changesJSON(w http.ResponseWriter, r *http.Request) *refusal {
	d, p := h.informer(r)
	if p != nil {
		return p
	}
	return asJSON(w, map[string]any{"informer": d.Name, "since": d.Counted, "changes": d.Changes})
}

// history returns what the informer went through, the newest first.
func (w *watcher) history() []moment {
	all := []moment{}
	sources := w.engine.Status()
	for i, moments := range w.engine.History() {
		source := ""
		if len(sources) > 1 && i < len(sources) { // the scope may have changed in between
			source = sources[i].Source
		}
		for _, m := range moments {
			all = append(all, moment{source, m.At, m.State.String(), string(m.Reason), m.Cause, m.Times, m.Last})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return b.At.Compare(a.At) })
	return all[:min(len(all), mostRows)]
}

// holds says what the informer holds, and where.
func (w *watcher) holds(d describe.Description) []setting {
	m := w.engine.Memory()
	all := []setting{
		{"as the server sent it", humane.Size(d.Store.Bytes)},
		{"held in", humane.Size(d.Store.Packed)},
		{"changed lately, in the heap", humane.Size(m.Young)},
		{"outside the heap", fmt.Sprintf("%s, of which %s live", humane.Size(m.Mapped), humane.Size(m.Live))},
		{"decoded for readers", humane.Size(m.Kept)},
		{"decoded in passing", humane.Size(m.Passing)},
		{"common parts", humane.Size(m.Shared)},
	}
	for _, e := range d.Store.Decoded {
		all = append(all, setting{"decoded: " + e.Why, fmt.Sprintf("%s objects, %s", humane.Thousands(e.Objects), humane.Size(e.Bytes))})
	}
	if d.Store.Rejected > 0 {
		all = append(all, setting{"rejected", fmt.Sprintf("%s objects, last %s", humane.Thousands(d.Store.Rejected), d.Store.LastRejected)})
	}
	return all
}

// settings lists how the informer is set up. What is not set is left out, unless that
// means something.
func settings(d describe.Description) []setting {
	s := d.Source
	all := []setting{
		{"informer", d.Informer},
		{"object type", d.ObjectType},
		{"read as", strings.Join(d.Views, ", ")},
		{"resource", s.Resource},
		{"asks", s.Via},
		{"namespaces", cmp.Or(strings.Join(s.Namespaces, ", "), "all")},
		{"label selector", s.LabelSelector},
		{"field selector", s.FieldSelector},
		{"tweak", s.Tweak},
		{"encoding", s.Encoding},
		{"metadata only", yes(s.MetadataOnly)},
		{"held as", d.Store.Held},
		{"compression", s.Compression},
		{"list", s.List},
		{"first list is from the server's cache", yes(s.FromCache)},
		{"largest object", limit(s.MaxObjectSize)},
		{"drops managedFields", yes(s.DropManagedFields)},
		{"silence before it asks", duration(s.Silence)},
		{"backoff", backoff(s.Backoff)},
		{"when refused", s.Policy},
		{"error handler", s.ErrorHandler},
		{"queue", d.Queue},
		{"resync", cmp.Or(duration(d.Resync.Default), "never")},
		{"transform", d.Store.Transform},
		{"decoded objects", d.Store.Residency},
		{"mutation detector", d.Store.MutationDetection},
	}
	if d.Sharing != nil {
		all = append(all, setting{"shares its watch with", cmp.Or(strings.Join(d.Sharing.With, ", "), "nobody at the moment")})
	}
	for _, src := range d.Status.Sources {
		counts := fmt.Sprintf("version %s, %s lists, %s watches, %s forgotten versions, %s stale events",
			src.Version, humane.Thousands(src.Lists), humane.Thousands(src.Watches), humane.Thousands(src.Expired), humane.Thousands(src.Stale))
		all = append(all, setting{src.Source, counts}, setting{"snapshot", src.Snapshot})
	}
	return slices.DeleteFunc(all, func(s setting) bool { return s.Value == "" })
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

func limit(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return humane.Size(bytes)
}

func duration(d describe.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func backoff(b *describe.Backoff) string {
	if b == nil {
		return ""
	}
	return fmt.Sprintf("%s, doubled up to %s", b.First, b.Most)
}
