package debug

import (
	"container/heap"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kinform/kinform/internal/engine"
)

// What a view may cost: rows of a page, rows of a ranking, records that are looked at,
// and bytes of what is searched for.
const (
	mostRows     = 100
	mostRanked   = 15
	mostRecords  = 1_000_000
	longestQuery = 512
)

// listing is a page of an informer's objects, in the order of their keys.
type listing struct {
	Informer string       `json:"informer"`
	Key      string       `json:"q,omitempty"`
	Labels   string       `json:"l,omitempty"`
	Index    string       `json:"index,omitempty"`
	Value    string       `json:"value,omitempty"`
	Objects  []objectLine `json:"objects"`
	// Matches is how many match in all, Looked how many were looked at. If that is not
	// everything, All is false.
	Matches int  `json:"matches"`
	Looked  int  `json:"looked"`
	All     bool `json:"all"`
	// Next is where the next page begins, "" if there is none.
	Next string `json:"next,omitempty"`
}

// objectLine is an object as its record has it.
type objectLine struct {
	Key      string            `json:"key"`
	Version  string            `json:"resourceVersion"`
	Size     int               `json:"bytes"`
	Labels   map[string]string `json:"labels,omitempty"`
	Deleting bool              `json:"deleting,omitempty"`
}

func lineOf(r *engine.Record) objectLine {
	return objectLine{Key: r.Key(), Version: r.Version().String(), Size: r.Size(), Labels: r.Labels().Map(), Deleting: r.Deleting()}
}

// query returns a value of the address, if it is not too long.
func query(values url.Values, name string) (string, *refusal) {
	v := values.Get(name)
	if len(v) > longestQuery {
		return "", refuse(http.StatusBadRequest, fmt.Sprintf("What is asked for (%s) is longer than %d characters.", name, longestQuery))
	}
	return v, nil
}

// queries returns several of them.
func queries(values url.Values, names ...string) ([]string, *refusal) {
	var all []string
	for _, name := range names {
		v, p := query(values, name)
		if p != nil {
			return nil, p
		}
		all = append(all, strings.TrimSpace(v))
	}
	return all, nil
}

// filterOf returns what a request selects.
func filterOf(key, selector string) (filter, *refusal) {
	f := filter{key: key}
	if selector == "" {
		return f, nil
	}
	s, err := labels.Parse(selector)
	if err != nil {
		return f, refuse(http.StatusBadRequest, "That is no label selector, such as app=web,tier!=cache: "+shorten(err.Error(), longestValue))
	}
	f.labels = s
	return f, nil
}

// page collects the first records of an order that come after a key.
type page struct {
	records byKey
	most    int
	after   string
	matches int
}

// byKey is a heap with the last key on top.
type byKey []*engine.Record

func (h byKey) Len() int           { return len(h) }
func (h byKey) Less(i, j int) bool { return h[i].Key() > h[j].Key() }
func (h byKey) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byKey) Push(x any)        { *h = append(*h, x.(*engine.Record)) }
func (h *byKey) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}

func (p *page) add(r *engine.Record) {
	p.matches++
	switch {
	case r.Key() <= p.after:
	case len(p.records) < p.most:
		heap.Push(&p.records, r)
	case r.Key() < p.records[0].Key():
		p.records[0] = r
		heap.Fix(&p.records, 0)
	}
}

// find fills a listing from records, of which it looks at so many at most.
func (l *listing) find(records iter.Seq[*engine.Record], f filter, after string, most int) {
	p := page{most: mostRows + 1, after: after}
	l.All = true
	for r := range records {
		if l.Looked == most {
			l.All = false
			break
		}
		l.Looked++
		if f.matches(r.Key(), r.Labels()) {
			p.add(r)
		}
	}
	slices.SortFunc(p.records, func(a, b *engine.Record) int { return strings.Compare(a.Key(), b.Key()) })
	if len(p.records) > mostRows {
		p.records = p.records[:mostRows]
		l.Next = p.records[mostRows-1].Key()
	}
	l.Matches, l.Objects = p.matches, make([]objectLine, 0, len(p.records))
	for _, r := range p.records {
		l.Objects = append(l.Objects, lineOf(r))
	}
}

// biggest returns the largest objects, of which it looks at so many at most.
func biggest(records iter.Seq[*engine.Record], most int) []objectLine {
	var top []*engine.Record
	looked := 0
	for r := range records {
		if looked++; looked > most {
			break
		}
		if len(top) == mostRanked && r.Size() <= top[mostRanked-1].Size() {
			continue
		}
		i, _ := slices.BinarySearchFunc(top, r.Size(), func(o *engine.Record, size int) int { return size - o.Size() })
		top = slices.Insert(top, i, r)
		top = top[:min(len(top), mostRanked)]
	}
	lines := make([]objectLine, 0, len(top))
	for _, r := range top {
		lines = append(lines, lineOf(r))
	}
	return lines
}
