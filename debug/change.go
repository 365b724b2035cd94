package debug

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform/internal/diff"
	"github.com/kinform/kinform/internal/engine"
	"github.com/kinform/kinform/internal/redact"
)

// How much of a change is shown: fields, bytes of a value, and how large, in bytes, two
// states may be to be compared.
const (
	mostFields    = 40
	longestValue  = 160
	longestStates = 512 << 10
)

// change is one change of one object. It is compared when somebody is to see it, once for
// all, and lets go of the states then.
type change struct {
	informer named
	at       time.Time
	kind     engine.Kind
	key      string
	version  string
	labels   engine.Labels
	missed   bool
	weight   int // in bytes

	once     sync.Once
	old, new *engine.Record
	shown    shownChange
}

func newChange(inf named, d engine.Delta) *change {
	c := &change{
		informer: inf, at: time.Now(), kind: d.Kind, key: d.New.Key(), version: d.New.Version().String(),
		labels: d.New.Labels(), missed: d.FinalStateUnknown, weight: d.New.Size(), new: d.New,
	}
	if d.Kind == engine.Updated && d.Old != nil {
		c.old = d.Old
		c.weight += d.Old.Size()
	}
	if c.weight > longestStates {
		c.old, c.new, c.weight = nil, nil, 0
	}
	c.weight += len(c.key) + entryBytes
	return c
}

// shownChange is a change as it may be shown: nothing in it is secret.
type shownChange struct {
	Time    time.Time    `json:"time"`
	Change  string       `json:"change"`
	Key     string       `json:"key"`
	Version string       `json:"resourceVersion"`
	Fields  []shownField `json:"fields,omitempty"`
	// More is how many fields changed that are not in Fields.
	More int    `json:"more,omitempty"`
	Note string `json:"note,omitempty"`
}

// shownField is a field that changed. Values are cut where they are long.
type shownField struct {
	Path string `json:"path"`
	Op   string `json:"op"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// show compares the states, if nobody has yet.
func (c *change) show() shownChange {
	c.once.Do(func() {
		c.shown = shownChange{Time: c.at, Change: c.kind.String(), Key: c.key, Version: c.version}
		switch {
		case c.missed:
			c.shown.Note = "it went while nobody watched"
		case c.kind == engine.Updated && c.old == nil:
			c.shown.Note = "the states are too large to be compared here"
		case c.kind == engine.Updated:
			c.compare()
		}
		c.old, c.new = nil, nil
	})
	return c.shown
}

func (c *change) compare() {
	was, err := c.informer.Fields(c.old)
	if err != nil {
		c.shown.Note = "the state before cannot be read"
		return
	}
	is, err := c.informer.Fields(c.new)
	if err != nil {
		c.shown.Note = "it cannot be read"
		return
	}
	if isSecret(c.informer, was) || isSecret(c.informer, is) {
		was, is = redact.Secrets(was, is)
	}
	fields := diff.Compare(was, is)
	if len(fields) == 0 {
		c.shown.Note = "nothing but bookkeeping"
	}
	slices.SortStableFunc(fields, func(a, b diff.Change) int { return minor(a) - minor(b) })
	for _, f := range fields[:min(len(fields), mostFields)] {
		c.shown.Fields = append(c.shown.Fields, shownField{
			Path: shorten(f.Path.String(), longestValue), Op: string(f.Op), Old: valueText(f.Old), New: valueText(f.New),
		})
	}
	c.shown.More = max(0, len(fields)-mostFields)
}

// isSecret reports whether the values of an object must not be shown. What does not say
// what it is may be a Secret.
func isSecret(inf named, obj map[string]any) bool {
	kind, _ := obj["kind"].(string)
	return inf.Secret || kind == "" || redact.IsSecret(obj)
}

func minor(c diff.Change) int {
	if c.Minor() {
		return 1
	}
	return 0
}

// valueText writes a value in one line.
func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return shorten(v, longestValue)
	case map[string]any, []any:
		raw, err := json.Marshal(v)
		if err != nil {
			return "?"
		}
		return shorten(string(raw), longestValue)
	}
	return fmt.Sprint(v)
}

// filter selects objects by what records know: nothing is decoded.
type filter struct {
	key    string // is a part of it
	labels labels.Selector
}

func (f filter) matches(key string, l engine.Labels) bool {
	return strings.Contains(key, f.key) && (f.labels == nil || f.labels.Matches(l))
}

// changeQueue is changes that wait, bounded in bytes and in number: the oldest go.
type changeQueue struct {
	bytes, count int
	waiting      []*change
	weight       int
	dropped      int
}

func (q *changeQueue) push(c *change) {
	q.waiting = append(q.waiting, c)
	q.weight += c.weight
	for len(q.waiting) > q.count || q.weight > q.bytes && len(q.waiting) > 1 {
		q.weight -= q.waiting[0].weight
		q.waiting[0] = nil
		q.waiting = q.waiting[1:]
		q.dropped++
	}
}

// take takes the oldest, so many at most, and how many were dropped since the last time.
func (q *changeQueue) take(most int) (taken []*change, dropped int) {
	n := min(most, len(q.waiting))
	taken = slices.Clone(q.waiting[:n])
	clear(q.waiting[:n])
	q.waiting = q.waiting[n:]
	for _, c := range taken {
		q.weight -= c.weight
	}
	dropped, q.dropped = q.dropped, 0
	return taken, dropped
}
